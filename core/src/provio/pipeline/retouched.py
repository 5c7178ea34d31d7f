"""When files got other times without other content: what makes a digest valid all the same.

A traced rename, link, unlink of another name, chmod, chown, utime or xattr
changes ctime at a known moment; an engine says by ``engine.file`` that it
touched or protected a file (Snakemake does so after nearly every job). A ctime
within such a moment is explained; any other means that something unseen
happened, and then there is no digest.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import numpy as np

from provio.model.events import EngineFile
from provio.model.wire import Op
from provio.pipeline.clock import Clock
from provio.pipeline.digests import Span

if TYPE_CHECKING:
    from provio.pipeline.assemble import Assembled

_OPERATIONS: Final = (
    Op.RENAME, Op.LINK, Op.UNLINK, Op.CHMOD, Op.CHOWN, Op.UTIME, Op.SETXATTR, Op.REMOVEXATTR, Op.EXCHANGE,
)  # fmt: skip
_ACTIONS: Final = frozenset({"touch", "protect"})
_TICK: Final = 20_000_000
"""ns; the kernel takes ctime from a clock that moves every 1 to 10 ms."""
_SAID_WITHIN: Final = 2_000_000_000
"""ns between an engine's act and its word of it."""


def explained_times(found: Assembled) -> dict[int, list[Span]]:
    """Return per data file the moments at which its times were changed without its content."""
    spans: dict[int, list[Span]] = {}
    frame, clock = found.frame, Clock(found)
    rows = np.flatnonzero(np.isin(frame.op, _OPERATIONS) & (frame.err == 0))
    columns = (frame.file[rows], frame.epoch[rows], frame.op[rows], frame.first[rows], frame.last[rows])
    for file, epoch, op, first, last in zip(*(c.tolist() for c in columns), strict=True):
        span = Span(clock.real(epoch, first) - _TICK, clock.real(epoch, last) + _TICK, op == Op.UTIME)
        spans.setdefault(file, []).append(span)
    by_name: dict[bytes, list[int]] = {}
    for seen in found.files.seen:
        for name in seen.paths:
            by_name.setdefault(name, []).append(seen.file)
    for event in found.evidence.events:
        if isinstance(event, EngineFile) and event.action in _ACTIONS:
            span = Span(event.stamp.real - _SAID_WITHIN, event.stamp.real + _TICK, event.action == "touch")
            for file in by_name.get(os.fsencode(event.path), ()):
                spans.setdefault(file, []).append(span)
    return spans
