"""CLOCK_MONOTONIC of a host's boot to CLOCK_REALTIME, by the pairs that headers and the run record hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from provio.pipeline.assemble import Assembled


class Clock:
    """The offsets of the boots that a run's evidence comes from.

    The pair of a boot's first I/O file is taken; clock adjustments during a run
    move real times by as much, never their order.
    """

    def __init__(self, found: Assembled) -> None:
        self._offset: dict[str, int] = {found.run.boot_id: found.run.started_real - found.run.started_mono}
        for file in found.records.files:
            header = file.header
            self._offset.setdefault(header.boot, header.realtime - header.monotonic)
        images = found.evidence.images
        self._boot = [images[e.image].boot for e in found.evidence.epochs]

    def real(self, epoch: int, mono: int) -> int:
        """Return the real time of a moment in an epoch, 0 where not known."""
        if epoch < 0 or not mono:
            return 0
        return mono + self._offset.get(self._boot[epoch], 0)
