"""Indexes over the events: each answers one question about a process, or "" where it cannot.

A clue counts only if exactly one attempt owns it: shared directories, control
groups and command texts prove nothing.
"""

from __future__ import annotations

import os.path
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from provio.model.events import (
    IdentityChanged,
    ProcessRef,
    ProcessStarted,
    RunStarted,
    TaskEnded,
    TaskStarted,
)
from provio.model.ids import ENGINE, AttemptId

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from provio.model.events import Event
    from provio.model.evidence import Evidence, Image
    from provio.model.facts import AttemptFact

_FOREVER: Final = 1 << 63
_SHELL_PREFIX: Final = "set -euo pipefail;"
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
        self._engine = _engine_processes(events)
        self._roots = _roots(events, starts, self._engine)
        self._told = _told(events)
        self._cgroups = _cgroups(events, starts)
        self._directories = _directories(events, starts)
        self._commands = _commands(events, starts)
        self._targets = {(a.physical, a.ordinal): a.attempt for a in attempts.values() if a.parent is None}
        self._attempts = attempts
        self._votes = _votes(evidence, starts)
        del images

    def root(self, image: Image) -> str:
        """Return the attempt for which the engine started exactly this process."""
        return self.of_process(image.boot, image.pid, image.start_ticks)

    def of_process(self, boot: str, pid: int, ticks: int) -> str:
        """Return the attempt for which the engine started a process."""
        return self._roots.get((boot, pid, ticks), "") if ticks else ""

    def told(self, image: Image, tid: int, until: int) -> str:
        """Return the identity that events gave to a thread of a process before ``until``."""
        rows = self._told.get((image.boot, image.pid, image.start_ticks), ())
        given = [
            a for at, thread, a in rows if a != ENGINE and thread in {0, tid} and at <= (until or _FOREVER)
        ]
        return given[-1] if given else ""

    def is_engine_runtime(self, image: Image) -> bool:
        """Tell whether the engine marked the process as its own, or is it."""
        key = (image.boot, image.pid, image.start_ticks)
        marked = any(a == ENGINE for _, _, a in self._told.get(key, ()))
        return key in self._engine or marked

    def cgroup(self, image: Image) -> str:
        """Return the only attempt in the process's control group."""
        return self._cgroups.get(_cgroup_path(image.cgroup_path), "") if image.cgroup_path else ""

    def command_line(self, image: Image) -> str:
        """Return the attempt whose target a sub-snakemake was started for."""
        options = [os.fsdecode(a) for a in image.argv]
        if "--target-jobs" not in options or "--mode" not in options:
            return ""
        targets = _values(options, "--target-jobs")
        ordinal = _values(options, "--attempt") or ["1"]
        if len(targets) != 1 or not ordinal[0].isdigit():
            return ""
        return self._targets.get((targets[0].rstrip(":"), int(ordinal[0])), "")

    def directory(self, image: Image) -> str:
        """Return the only attempt that works in the process's directory."""
        return self._directories.get(os.fsdecode(image.cwd), "") if image.cwd else ""

    def command_text(self, image: Image) -> str:
        """Return the only attempt active at the process's begin that has its command text."""
        if len(image.argv) != 3 or image.argv[1] != b"-c":
            return ""
        text = os.fsdecode(image.argv[2]).removeprefix(_SHELL_PREFIX).strip()
        active = {a for since, until, a in self._commands.get(text, ()) if since <= image.since <= until}
        return active.pop() if len(active) == 1 else ""

    def declared_output(self, epoch: int) -> tuple[str, str]:
        """Return the attempt for whose declared outputs an epoch votes by writing them, and one path."""
        votes = self._votes.get(epoch, {})
        if len(votes) != 1:
            return "", ""
        ((attempt, path),) = votes.items()
        return attempt, path


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
    return {
        path: next(iter(who)) for path, who in owners.items() if path and path not in shared and len(who) == 1
    }


def _directories(events: Sequence[Event], starts: Sequence[TaskStarted]) -> dict[str, str]:
    shared = {e.cwd for e in events if isinstance(e, RunStarted)}
    owners: dict[str, set[str]] = defaultdict(set)
    for start in starts:
        owners[start.cwd].add(start.attempt)
    return {
        cwd: next(iter(who)) for cwd, who in owners.items() if cwd and cwd not in shared and len(who) == 1
    }


def _commands(
    events: Sequence[Event], starts: Sequence[TaskStarted]
) -> dict[str, list[tuple[int, int, str]]]:
    ends = {e.attempt: e.stamp.mono for e in events if isinstance(e, TaskEnded)}
    rows: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for s in starts:
        if s.command:
            rows[s.command.strip()].append((s.stamp.mono, ends.get(s.attempt, _FOREVER), s.attempt))
    return rows


def _values(options: Sequence[str], name: str) -> list[str]:
    """Return what follows an option up to the next one."""
    if name not in options:
        return []
    found = []
    for text in options[options.index(name) + 1 :]:
        if text.startswith("--"):
            break
        found.append(text)
    return found


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
            votes[touch.epoch].setdefault(next(iter(who)), os.fsdecode(touch.path))
    return votes
