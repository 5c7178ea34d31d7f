"""Touches as columns: one numpy array per field, so that a million of them take seconds, not minutes.

Here: the columns, their operations' names, joining and picking rows. The same
fields as ``provio.model.evidence.Touch``, with numbers of strings for paths.
How they come from records is in ``touches``; which file they concern, in ``files``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

import numpy as np

from provio.model.wire import Op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from provio.tracers.records import Ints

_RENAMED: Final = {Op.LISTDIR: "list"}

CREATE: Final = 64
MAPPED_READ: Final = 65
MAPPED_WRITE: Final = 66

OP_NAMES: Final[dict[int, str]] = {
    **{int(op): _RENAMED.get(op, op.name.lower()) for op in Op},
    CREATE: "create",
    MAPPED_READ: "mapped-read",
    MAPPED_WRITE: "mapped-write",
}
"""What ``Touch.op`` says for each code: wire operations under their own numbers, ours from 64 on."""

NO_FILE: Final = -1


@dataclass(slots=True)
class Frame:
    """Touches, one row each.

    ``boot`` and ``dev``, ``ino`` say which file it is where known (ino 0: only
    the path is); ``kind`` is a wire.Kind; ``file``, ``other`` are filled in by
    ``files``. ``path``, ``path2`` are numbers of strings. ``counted`` tells
    whether the row is an operation (loaded objects are not).
    """

    addr: Ints
    image: Ints
    epoch: Ints
    boot: Ints
    dev: Ints
    ino: Ints
    ino2: Ints
    kind: Ints
    op: Ints
    count: Ints
    bytes: Ints
    first: Ints
    last: Ints
    opened: Ints
    closed: Ints
    size_open: Ints
    mtime_open: Ints
    ctime_open: Ints
    size_close: Ints
    mtime_close: Ints
    ctime_close: Ints
    path: Ints
    path2: Ints
    given: Ints
    target: Ints
    err: Ints
    flags: Ints
    handle: Ints
    file: Ints
    other: Ints

    def __len__(self) -> int:
        return len(self.addr)

    def take(self, rows: Ints) -> Frame:
        """Return the given rows (indices or a mask)."""
        return Frame(*(getattr(self, f.name)[rows] for f in fields(self)))

    def head(self, count: int) -> Frame:
        """Return the first rows, without copying them."""
        return Frame(*(getattr(self, f.name)[:count] for f in fields(self)))


COLUMNS: Final = tuple(f.name for f in fields(Frame))
_DEFAULTS: Final = dict.fromkeys(COLUMNS, 0) | dict.fromkeys(
    (
        "size_open", "mtime_open", "ctime_open", "size_close", "mtime_close", "ctime_close",
        "target", "handle", "file", "other",
    ),
    -1,
)  # fmt: skip


def make_frame(length: int, **columns: Ints) -> Frame:
    """Build a frame; columns that are not given have their value for "not known"."""
    if unknown := columns.keys() - _DEFAULTS.keys():
        raise TypeError(f"a frame has no columns {sorted(unknown)}")
    return Frame(
        *(
            columns[name].astype(np.int64, copy=False)
            if name in columns
            else np.full(length, _DEFAULTS[name], dtype=np.int64)
            for name in COLUMNS
        )
    )


def join_frames(frames: Sequence[Frame]) -> Frame:
    """Append frames."""
    return Frame(*(np.concatenate([getattr(f, name) for f in frames]) for name in COLUMNS))
