"""Evidence: what the readers hand to the reconciler. Only data, nothing decided.

Rows are numbered densely from 0 within one Evidence value: ``image``,
``epoch``, ``file`` and ``touch`` are such numbers, not wire references. Times
are CLOCK_MONOTONIC ns of one boot (``Image.boot``); across boots only
realtime-corrected order exists and derivation is `possible` at best.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from provio.model.events import Event
    from provio.model.gaps import Gap
    from provio.model.ids import AttemptId, RunId

Raw = bytes
"""The type under another name, for a class that has a field ``bytes``."""


@dataclass(frozen=True, slots=True)
class Image:
    """One process image: a program from its exec, or a copy of memory from its fork.

    Attributes:
        image: dense number.
        parent: number of the image that forked or executed it, -1 unknown.
        forked: memory came from the parent (else: exec).
        since, until: CLOCK_MONOTONIC ns; until 0: the end was not seen.
        carried: attempt that PROVIO_TASK named at exec ("" none, ENGINE for the engine).
        ancestors: (pid, start_ticks) upward, where the parent has no record.
        rchar, wchar: bytes by the kernel's count during this image, -1 not measured.
        channel_bytes: bytes that we recorded on pipes and sockets.
        file_bytes: bytes that we recorded on anything else, noise included.
    """

    image: int
    pid: int
    ppid: int
    nspid: int
    start_ticks: int
    execs: int
    boot: str
    host: str
    parent: int
    forked: bool
    since: int
    until: int
    carried: AttemptId | str
    carried_run: RunId | str
    argv: tuple[bytes, ...] = ()
    exe: bytes = b""
    cwd: bytes = b""
    cgroup_path: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    ancestors: tuple[tuple[int, int], ...] = ()
    user: int = -1
    rank: int = -1
    rchar: int = -1
    wchar: int = -1
    channel_bytes: int = 0
    file_bytes: int = 0
    cpu_user_ns: int = -1
    cpu_system_ns: int = -1
    max_rss_bytes: int = -1
    io_time_ns: int = -1
    ended: str = ""
    """exit, exec, "" (not seen: killed or running)."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """A stretch of an image, or of one thread of it, under one identity.

    Attributes:
        live: the attempt given by ``provio_task_set()`` ("" if only carried).
        tid: thread, 0 for the whole image.
        operations: how many records it holds (for coverage).
    """

    epoch: int
    image: int
    tid: int
    since: int
    until: int
    live: AttemptId | str
    live_run: RunId | str = ""
    operations: int = 0


@dataclass(frozen=True, slots=True)
class FileSeen:
    """A file as the tracers named it: (device, inode) with every absolute path seen, in order of time.

    A file that was only looked for and absent has inode 0 and one path.
    """

    file: int
    dev: int
    ino: int
    paths: tuple[bytes, ...]
    kind: str
    """file, directory, pipe, fifo, socket, device, absent, other."""
    category: str
    """data, or the class of noise (``provio.pipeline.categories``): loader, library, locale, ..."""


class Touch(NamedTuple):
    """One open file (handle) or one path operation, as one epoch did it.

    ``op``: read, write, open, create, truncate, mapped-read, mapped-write, stat, access, readlink,
    list, rename, link, symlink, unlink, mkdir, ... (wire.Op names in lower case). One handle
    yields a read touch, a write touch, both, or only open/create.
    Bytes count what the call moved; first and last are begin of the first and end of the last call.
    ``size``/``mtime``/``ctime`` (ns) with ``_open``/``_close`` are -1 where not known.
    """

    touch: int
    epoch: int
    file: int
    op: str
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    bytes: int
    first: int
    last: int
    opened: int
    closed: int
    size_open: int
    mtime_open: int
    ctime_open: int
    size_close: int
    mtime_close: int
    ctime_close: int
    path: Raw
    """The name used this time."""
    path2: Raw
    """The second name of rename, link, symlink."""
    other: int
    """The other file: replaced by a rename, target of a copy; -1 none."""
    err: int
    flags: int
    """wire.HandleFlags or wire.OpFlags."""


class ChannelUse(NamedTuple):
    """One image's use of one end of a pipe, FIFO or socket pair. ``channel`` numbers channels densely."""

    channel: int
    kind: str
    epoch: int
    writes: bool
    first: int
    last: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything about one run."""

    run: RunId
    events: Sequence[Event]
    images: Sequence[Image]
    epochs: Sequence[Epoch]
    files: Sequence[FileSeen]
    touches: Sequence[Touch]
    channels: Sequence[ChannelUse]
    gaps: Sequence[Gap] = field(default=())
    over: bool = True
    """The run is known to be over (else attempts without an end are running, not lost)."""
