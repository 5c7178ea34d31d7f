"""Attempts and the run's state, from what the engine said.

An attempt that began and never ended is ``lost`` where the run is over, else
``running``. An attempt that only a process names (its event was lost) is kept
under the logical name ``UNKNOWN_TASK``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from provio.model.events import (
    Event,
    ProcessRef,
    ProcessStarted,
    RunEnded,
    RunStarted,
    TaskEnded,
    TaskStarted,
)
from provio.model.facts import AttemptFact
from provio.model.ids import ENGINE, AttemptId

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from provio.model.evidence import Image

UNKNOWN_TASK: Final = "(unknown task)"
_NOBODY: Final = ProcessRef(0)


def run_state(events: Sequence[Event], *, over: bool) -> str:
    """Return succeeded, failed, cancelled, crashed or running."""
    ended = [e for e in events if isinstance(e, RunEnded)]
    if ended:
        return ended[-1].state
    return "crashed" if over else "running"


def find_attempts(
    events: Sequence[Event], images: Iterable[Image], *, over: bool
) -> dict[AttemptId, AttemptFact]:
    """Return the attempts by id, in order of their start.

    Args:
        events: in order of time.
        images: processes may name attempts that no event does.
        over: the run is over.
    """
    ends = _ends(events)
    roots: dict[AttemptId, ProcessRef] = {}
    for event in events:
        if isinstance(event, ProcessStarted):
            roots.setdefault(event.attempt, event.process)
    found: dict[AttemptId, AttemptFact] = {}
    tries: dict[tuple[str, str, str | None], AttemptId] = {}
    for event in events:
        if isinstance(event, TaskStarted) and event.attempt in found:
            found[event.attempt] = replace(
                found[event.attempt], cwd=event.cwd
            )  # an inner engine knows better
        elif isinstance(event, TaskStarted):
            key = (event.logical, event.physical, event.parent)
            process = roots.get(event.attempt) or event.process or _NOBODY
            found[event.attempt] = _fact(event, ends.get(event.attempt), process, tries.get(key), over=over)
            tries[key] = event.attempt
    for attempt in sorted(_carried_only(events, images, found)):
        found[attempt] = _unannounced(attempt, ends.get(attempt), over=over)
    return found


def _ends(events: Sequence[Event]) -> dict[AttemptId, TaskEnded]:
    """Return how each attempt ended: by the last word, with what earlier ones measured."""
    ends: dict[AttemptId, TaskEnded] = {}
    for e in events:
        if not isinstance(e, TaskEnded):
            continue
        first = ends.get(e.attempt)
        ends[e.attempt] = e if first is None else _corrected(first, e)
    return ends


def _corrected(first: TaskEnded, last: TaskEnded) -> TaskEnded:
    return replace(first, state=last.state, message=last.message or first.message)


def _fact(
    start: TaskStarted, end: TaskEnded | None, process: ProcessRef, before: AttemptId | None, *, over: bool
) -> AttemptFact:
    return AttemptFact(
        attempt=start.attempt,
        logical=start.logical,
        physical=start.physical,
        ordinal=start.ordinal,
        kind=start.kind,
        state=end.state if end else _open_state(over=over),
        exit_code=end.exit_code if end else None,
        signal=end.signal if end else None,
        started_ns=start.stamp.real,
        ended_ns=end.stamp.real if end else 0,
        cwd=start.cwd,
        pid=process.pid,
        start_ticks=process.start_ticks,
        cgroup_id=process.cgroup_id,
        cgroup_path=process.cgroup_path,
        host=start.stamp.host,
        job=start.job,
        command=start.command,
        message=end.message if end else "",
        declared=start.declared,
        attributes=start.attributes,
        parent=start.parent,
        retry_of=before,
        cpu_user_ns=end.cpu_user_ns if end else -1,
        cpu_system_ns=end.cpu_system_ns if end else -1,
        max_rss_bytes=end.max_rss_bytes if end else -1,
    )


def _open_state(*, over: bool) -> str:
    return "lost" if over else "running"


def _carried_only(
    events: Sequence[Event], images: Iterable[Image], found: dict[AttemptId, AttemptFact]
) -> set[AttemptId]:
    runs = {e.run for e in events if isinstance(e, (RunStarted, TaskStarted))}
    return {
        AttemptId(i.carried)
        for i in images
        if i.carried and i.carried != ENGINE and i.carried_run in runs and i.carried not in found
    }


def _unannounced(attempt: AttemptId, end: TaskEnded | None, *, over: bool) -> AttemptFact:
    return AttemptFact(
        attempt=attempt,
        logical=UNKNOWN_TASK,
        physical=attempt,
        ordinal=1,
        kind="unknown",
        state=end.state if end else _open_state(over=over),
        exit_code=end.exit_code if end else None,
        signal=end.signal if end else None,
        started_ns=0,
        ended_ns=end.stamp.real if end else 0,
        cwd="",
        pid=0,
        start_ticks=0,
        cgroup_id=0,
        cgroup_path="",
        host="",
        job="",
        command="",
        message=end.message if end else "",
    )
