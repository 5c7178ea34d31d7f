"""Is a run over, and which of its processes still live: asked of this host's kernel.

A run is over when ``run.end`` exists, or, on its own host, when the boot id
differs or no process of its evidence lives; on another host it is ``open``
(design, section 5). A process is (boot, pid, start time), never a pid alone.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from provio.engines.host import boot_id, start_ticks
from provio.model.events import Event, ProcessStarted, RunEnded, TaskStarted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from provio.model.evidence import Image
    from provio.model.runs import RunRecord


class Liveness(StrEnum):
    """What is known of a run's end."""

    OVER = "over"
    RUNNING = "running"
    OPEN = "open"
    """It began on another host: nobody here can tell."""


def liveness(run: RunRecord, events: Iterable[Event], images: Sequence[Image] = ()) -> Liveness:
    """Tell whether a run is over."""
    events = list(events)
    if any(isinstance(e, RunEnded) and e.run == run.run_id for e in events):
        return Liveness.OVER
    here = boot_id()
    if run.boot_id != here:
        return Liveness.OVER if _same_machine(run) else Liveness.OPEN
    told = (e for e in events if isinstance(e, (TaskStarted, ProcessStarted)) and e.stamp.boot_id == here)
    processes = [(run.pid, run.start_ticks)]
    processes += [(e.process.pid, e.process.start_ticks) for e in told if e.process]
    processes += [(i.pid, i.start_ticks) for i in images if i.boot == here and not i.until]
    alive = any(is_alive(pid, start) for pid, start in set(processes))
    return Liveness.RUNNING if alive else Liveness.OVER


def _same_machine(run: RunRecord) -> bool:
    """Tell whether a run of another boot was on this machine (which has restarted since)."""
    from provio.engines.host import machine_id

    return bool(run.machine_id) and run.machine_id == machine_id()


def is_alive(pid: int, start: int) -> bool:
    """Tell whether a process of this boot lives: same pid and start time, and no zombie."""
    if pid <= 0:
        return False
    now = start_ticks(pid)
    if not now or (start and now != start):
        return False
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return True
    return text.rpartition(b")")[2].split()[:1] in ([b"Z"], [b"X"])


def still_alive(images: Sequence[Image]) -> list[Image]:
    """Return the images without an end whose process lives on this host now."""
    here = boot_id()
    return [i for i in images if not i.until and i.boot == here and is_alive(i.pid, i.start_ticks)]
