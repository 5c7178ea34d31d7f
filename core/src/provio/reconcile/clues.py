"""Indexes over the events: each answers one question about a process, or "" where it cannot.

A clue counts only if exactly one attempt owns it: shared directories, control
groups and command texts prove nothing.
"""

from __future__ import annotations

import os.path
from bisect import bisect_left, bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from provio.model.events import (
    IdentityChanged,
    ProcessRef,
    ProcessStarted,
    RunStarted,
    TaskStarted,
)
from provio.model.ids import ENGINE, AttemptId
from provio.reconcile.commands import CommandLines, CommandTexts
from provio.reconcile.piece import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from provio.model.events import Event
    from provio.model.evidence import Epoch, Evidence, Image
    from provio.model.facts import AttemptFact

_FOREVER: Final = 1 << 63
_WRITES: Final = frozenset({"write", "create", "truncate", "mapped-write"})

Process = tuple[str, int, int]
"""Boot id, pid, start ticks."""


class Clues:
    """What the events say about processes, directories, commands and outputs."""

    def __init__(
        self,
        evidence: Evidence,
        events: Sequence[Event],
        images: Mapping[int, Image],
        attempts: Mapping[AttemptId, AttemptFact],
    ) -> None:
        starts = [e for e in events if isinstance(e, TaskStarted)]
        self.run = evidence.run
        self._engine = _engine_processes(events)
        self._roots = _roots(events, starts, self._engine)
        self._told = _told(events)
        self._threads: dict[tuple[Process, int], tuple[list[int], list[str]]] = {}
        self._marked = {key for key, row in self._told.items() if any(who == ENGINE for _, _, who in row)}
        self._cgroups = _cgroups(events, starts)
        engine_homes = {os.fsdecode(i.cwd) for i in images.values() if self.is_engine_runtime(i)}
        self._directories = _directories(events, starts, engine_homes)
        self._votes = _votes(evidence, starts)
        self.command_line = CommandLines(attempts).attempt_of
        self.command_text = CommandTexts(events, starts).attempt_of

    def root(self, image: Image) -> str:
        """Return the attempt for which the engine started exactly this process."""
        return self.of_process(image.boot, image.pid, image.start_ticks)

    def of_process(self, boot: str, pid: int, ticks: int) -> str:
        """Return the attempt for which the engine started a process; ENGINE for its own."""
        if not ticks:
            return ""
        return ENGINE if (boot, pid, ticks) in self._engine else self._roots.get((boot, pid, ticks), "")

    def told(self, image: Image, epoch: Epoch) -> str:
        """Return the identity that events gave to a process or thread for an epoch.

        What was in force at its begin decides; else what alone began within it.
        """
        moments, names = self._identities((image.boot, image.pid, image.start_ticks), epoch.tid)
        since = bisect_right(moments, epoch.since)
        if since and names[since - 1] != ENGINE:
            return names[since - 1]
        within = set(names[since : bisect_left(moments, epoch.until or _FOREVER)]) - {ENGINE}
        return within.pop() if len(within) == 1 else ""

    def _identities(self, process: Process, tid: int) -> tuple[list[int], list[str]]:
        """Return when a thread was given which identity, its own or that of the whole process."""
        if process not in self._told:
            return [], []
        if (process, tid) not in self._threads:
            rows = [(at, who) for at, thread, who in self._told[process] if thread in {0, tid}]
            self._threads[process, tid] = [at for at, _ in rows], [who for _, who in rows]
        return self._threads[process, tid]

    def is_engine_runtime(self, image: Image) -> bool:
        """Tell whether the engine marked the process as its own, or is it."""
        key = (image.boot, image.pid, image.start_ticks)
        return key in self._engine or key in self._marked

    def cgroup(self, image: Image) -> str:
        """Return the only attempt in the process's control group, or in the nearest one around it."""
        return _nearest(self._cgroups, _cgroup_path(image.cgroup_path))

    def directory(self, image: Image) -> str:
        """Return the only attempt that works in the process's directory, or in the nearest one around it."""
        return _nearest(self._directories, os.fsdecode(image.cwd))

    def declared_output(self, epoch: int) -> tuple[str, str]:
        """Return the attempt for whose declared outputs an epoch votes by writing them, and one path."""
        votes = self._votes.get(epoch, {})
        if len(votes) != 1:
            return "", ""
        ((attempt, path),) = votes.items()
        return attempt, path


def _nearest(owners: Mapping[str, str], path: str) -> str:
    """Return who owns a path, or the nearest one above it that anybody is known to use ("": shared)."""
    while path not in {"", "/"}:
        if path in owners:
            return owners[path]
        path = path.rpartition("/")[0]
    return ""


def _sole(owners: Mapping[str, set[str]], shared: set[str]) -> dict[str, str]:
    """Return the owner of each path; "" where there are several, or the engine uses it."""
    found = {path: next(iter(who)) if len(who) == 1 else "" for path, who in owners.items()}
    return found | dict.fromkeys(shared, "")


def _key(boot: str, process: ProcessRef) -> Process:
    return boot, process.pid, process.start_ticks


def _engine_processes(events: Sequence[Event]) -> set[Process]:
    return {
        _key(e.stamp.boot_id, e.process)
        for e in events
        if isinstance(e, RunStarted) and e.process and e.process.start_ticks
    }


def _roots(
    events: Sequence[Event], starts: Iterable[TaskStarted], engine: set[Process]
) -> dict[Process, str]:
    owners: dict[Process, set[str]] = defaultdict(set)
    for event in events:
        if isinstance(event, ProcessStarted) and event.attempt != ENGINE:
            owners[_key(event.stamp.boot_id, event.process)].add(event.attempt)
    for start in starts:
        if start.process:
            owners[_key(start.stamp.boot_id, start.process)].add(start.attempt)
    return {key: next(iter(who)) for key, who in owners.items() if len(who) == 1 and key not in engine}


def _told(events: Sequence[Event]) -> dict[Process, list[tuple[int, int, str]]]:
    rows: dict[Process, list[tuple[int, int, str]]] = defaultdict(list)
    for e in events:
        if isinstance(e, IdentityChanged):
            rows[_key(e.stamp.boot_id, e.process)].append((e.stamp.mono, e.thread, e.attempt))
    return {key: sorted(row) for key, row in rows.items()}


def _cgroup_path(text: str) -> str:
    """Return the version 2 path in /proc/<pid>/cgroup, or the text if it is a path already."""
    for line in text.splitlines():
        if line.startswith("0::"):
            return line[3:]
    return text if text.startswith("/") and "\n" not in text else ""


def _cgroups(events: Sequence[Event], starts: Sequence[TaskStarted]) -> dict[str, str]:
    owners: dict[str, set[str]] = defaultdict(set)
    shared: set[str] = set()
    for e in events:
        if isinstance(e, RunStarted) and e.process:
            shared.add(e.process.cgroup_path)
        if isinstance(e, ProcessStarted):
            owners[e.process.cgroup_path].add(e.attempt)
    for start in starts:
        if start.process:
            owners[start.process.cgroup_path].add(start.attempt)
    return _sole(owners, shared)


def _directories(
    events: Sequence[Event], starts: Sequence[TaskStarted], engine_homes: set[str]
) -> dict[str, str]:
    shared = engine_homes | {e.cwd for e in events if isinstance(e, RunStarted)}
    owners: dict[str, set[str]] = defaultdict(set)
    for start in starts:
        owners[start.cwd].add(start.attempt)
    return _sole(owners, shared)


def _absolute(cwd: str, path: str) -> bytes:
    return os.fsencode(os.path.normpath(f"{cwd}/{path}" if not path.startswith("/") else path))


def _votes(evidence: Evidence, starts: Sequence[TaskStarted]) -> dict[int, dict[str, str]]:
    """Return per epoch the attempts whose declared outputs it wrote, with a path."""
    owners: dict[bytes, set[str]] = defaultdict(set)
    for start in starts:
        for item in start.declared:
            if item.role == "output":
                owners[_absolute(start.cwd, item.value)].add(start.attempt)
    if not owners:
        return {}
    votes: dict[int, dict[str, str]] = defaultdict(dict)
    for touch in sorted(t for t in evidence.touches if t.path in owners and t.op in _WRITES and not t.err):
        who = owners[touch.path]
        if len(who) == 1:
            votes[touch.epoch].setdefault(next(iter(who)), shown(touch.path))
    return votes
