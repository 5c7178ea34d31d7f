"""Attempts and the run's state, from what the engine said.

An attempt that began and never ended is ``lost`` where the run is over, else
``running``. An attempt that only a process names (its event was lost) is kept
under the logical name ``UNKNOWN_TASK``.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from provio.model.events import (
    Event,
    IdentityChanged,
    ProcessRef,
    ProcessStarted,
    RunEnded,
    TaskEnded,
    TaskStarted,
)
from provio.model.facts import AttemptFact
from provio.model.gaps import Gap, GapKind
from provio.model.ids import ENGINE, AttemptId, RunId

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from provio.model.evidence import Epoch, Image

UNKNOWN_TASK: Final = "(unknown task)"
_NOBODY: Final = ProcessRef(0)


def run_state(events: Sequence[Event], *, over: bool) -> str:
    """Return succeeded, failed, cancelled, crashed or running."""
    ended = [e for e in events if isinstance(e, RunEnded)]
    if ended:
        return ended[-1].state
    return "crashed" if over else "running"


def find_attempts(
    events: Sequence[Event], images: Iterable[Image], epochs: Iterable[Epoch], run: RunId, *, over: bool
) -> dict[AttemptId, AttemptFact]:
    """Return the attempts by id, in order of their start.

    Args:
        events: in order of time.
        images: processes may name attempts that no event does.
        epochs: and so may their live identities.
        run: whose attempts; a process may work for another run.
        over: the run is over.
    """
    ends = _ends(events)
    roots: dict[AttemptId, ProcessRef] = {}
    starts: dict[AttemptId, TaskStarted] = {}
    for event in events:
        if isinstance(event, ProcessStarted):
            roots.setdefault(event.attempt, event.process)
        elif isinstance(event, TaskStarted):
            first = starts.setdefault(event.attempt, event)
            # An inner engine may say more about the attempt that it runs: where it works.
            starts[event.attempt] = replace(first, cwd=event.cwd)
    before = _tries_before(starts.values())
    found: dict[AttemptId, AttemptFact] = {}
    for attempt, start in starts.items():
        process = roots.get(attempt) or start.process or _NOBODY
        found[attempt] = _fact(start, ends.get(attempt), process, before.get(attempt), over=over)
    for attempt in sorted(_named_only(events, images, epochs, run) - starts.keys()):
        found[attempt] = _unannounced(attempt, ends.get(attempt), over=over)
    return found


def _tries_before(starts: Iterable[TaskStarted]) -> dict[AttemptId, AttemptId]:
    """Return for each further try of a task the one with the ordinal below, in the same attempt around."""
    tries: dict[tuple[str, str, str], list[tuple[int, int, AttemptId]]] = defaultdict(list)
    for s in starts:
        key = (s.logical, s.physical, s.parent or "")
        tries[key].append((s.ordinal, s.stamp.real, s.attempt))
    before: dict[AttemptId, AttemptId] = {}
    for row in tries.values():
        row.sort()
        before |= {new[2]: old[2] for old, new in pairwise(row) if old[0] < new[0]}
    return before


def contradictory(events: Sequence[Event]) -> list[Gap]:
    """Return Gaps for attempts that events describe in ways that cannot both be true.

    A second start may correct the directory, a later failure a success: those
    are more knowledge, not contradictions.
    """
    tasks: dict[AttemptId, set[tuple[str, str, int]]] = defaultdict(set)
    states: dict[AttemptId, list[str]] = defaultdict(list)
    for e in events:
        if isinstance(e, TaskStarted):
            tasks[e.attempt].add((e.logical, e.physical, e.ordinal))
        elif isinstance(e, TaskEnded):
            states[e.attempt].append(e.state)
    said = {a: " / ".join(f"{p} (try {n})" for _, p, n in sorted(t)) for a, t in tasks.items() if len(t) > 1}
    for attempt, row in states.items():
        if row[-1] == "succeeded" and set(row) != {"succeeded"}:
            said[attempt] = "ended as " + ", then as ".join(row)
    return [
        Gap(GapKind.CONTRADICTION, f"attempt:{attempt}", count=1, detail=f"the engine said: {text}")
        for attempt, text in said.items()
    ]


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


def _named_only(
    events: Sequence[Event], images: Iterable[Image], epochs: Iterable[Epoch], run: RunId
) -> set[AttemptId]:
    """Return every attempt that a process or any event names as one of this run."""
    named = {i.carried for i in images if i.carried_run == run}
    named |= {e.live for e in epochs if e.live_run == run}
    named |= {e.attempt for e in events if isinstance(e, (ProcessStarted, IdentityChanged, TaskEnded))}
    return {AttemptId(a) for a in named if a not in {"", ENGINE}}


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
