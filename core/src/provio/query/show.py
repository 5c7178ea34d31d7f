"""What a run did: its tasks with every try, the engine, what nobody owns, coverage and gaps.

Sums per attempt come from the ``attempts`` table (made at seal), so the answer
costs one pass over attempts and attributions and none over accesses. Files of
one attempt are in ``files``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from provio.errors import UsageError
from provio.query.coverage import CoverageAnswer, GapSeen, coverage, gaps_of
from provio.query.source import Row, Source, known, moment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

VERSION: Final = 1


def _text(value: Any) -> str:
    return value or ""


def _count(value: Any) -> int:
    return int(value or 0)


def _same(value: Any) -> Any:
    return value


_COLUMNS: Final[tuple[tuple[str, Callable[[Any], Any]], ...]] = (
    ("attempt", _text), ("ordinal", _count), ("state", _text), ("exit_code", _same), ("signal", _same),
    ("started_ns", moment), ("ended_ns", moment), ("cwd", _text), ("pid", moment), ("cgroup_id", moment),
    ("host", _text), ("job", _text), ("message", _text), ("processes", _count), ("files_read", _count),
    ("files_written", _count), ("bytes_read", _count), ("bytes_written", _count), ("operations", _count),
    ("cpu_user_ns", known), ("cpu_system_ns", known), ("max_rss_bytes", known), ("io_time_ns", known),
    ("parent", _same), ("retry_of", _same),
)  # fmt: skip
"""Columns of ``attempts`` in the order of ``AttemptAnswer``'s fields, each with how its unknown is told."""


@dataclass(slots=True)
class AttemptAnswer:
    """One try of a task. None: not known. Times are CLOCK_REALTIME ns, sizes bytes.

    Not frozen: 10,000 of them are made per answer, and freezing triples their cost.
    """

    id: str
    attempt: int
    state: str
    exit_code: int | None
    signal: int | None
    started_ns: int | None
    ended_ns: int | None
    cwd: str
    pid: int | None
    cgroup_id: int | None
    host: str
    job: str
    message: str
    processes: int
    files_read: int
    files_written: int
    bytes_read: int
    bytes_written: int
    operations: int
    cpu_user_ns: int | None
    cpu_system_ns: int | None
    max_rss_bytes: int | None
    io_time_ns: int | None
    parent: str | None
    retry_of: str | None
    attribution: dict[str, int]

    @property
    def duration_ns(self) -> int | None:
        """Wall time, None while it runs or where an end is missing."""
        return self.ended_ns - self.started_ns if self.started_ns and self.ended_ns else None

    @property
    def cpu_ns(self) -> int | None:
        """CPU time in user mode and in the kernel."""
        if self.cpu_user_ns is None or self.cpu_system_ns is None:
            return None
        return self.cpu_user_ns + self.cpu_system_ns

    @property
    def io_share(self) -> float | None:
        """Share of its wall time inside traced calls; above 1 where processes overlap.

        None where no call was sampled: then the time is not known, not zero.
        """
        duration = self.duration_ns
        return round(self.io_time_ns / duration, 4) if duration and self.io_time_ns else None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return fields | {"cpu_ns": self.cpu_ns, "io_share": self.io_share}


@dataclass(frozen=True, slots=True)
class TaskAnswer:
    """One physical task with its tries in order."""

    logical: str
    physical: str
    kind: str
    attempts: tuple[AttemptAnswer, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            "logical": self.logical,
            "physical": self.physical,
            "kind": self.kind,
            "attempts": [attempt.to_json() for attempt in self.attempts],
        }


@dataclass(frozen=True, slots=True)
class Bucket:
    """Operations that belong to no attempt: the engine's own, or nobody's."""

    operations: int
    processes: int

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {"operations": self.operations, "processes": self.processes}


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """The run itself. ``as_of_ns`` is None once it is over."""

    id: str
    engine: str
    engine_version: str
    workflow: str
    cwd: str
    state: str
    started_ns: int | None
    ended_ns: int | None
    as_of_ns: int | None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class ShowAnswer:
    """The answer of ``provio show``."""

    run: RunAnswer
    tasks: tuple[TaskAnswer, ...]
    engine: Bucket
    unattributed: Bucket
    coverage: CoverageAnswer
    gaps: tuple[GapSeen, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document (docs/reference/json.md)."""
        return {
            "version": VERSION,
            "run": self.run.to_json(),
            "tasks": [task.to_json() for task in self.tasks],
            "engine": self.engine.to_json(),
            "unattributed": self.unattributed.to_json(),
            "coverage": self.coverage.to_json(),
            "gaps": [gap.to_json() for gap in self.gaps],
        }


def show(source: Source, task: str | None = None, attempt: str | None = None) -> ShowAnswer:
    """Answer what a run did, or what one of its tasks or attempts did.

    Args:
        source: the generation.
        task: a logical name (every instance) or a physical key; None for all.
        attempt: an attempt id or its first digits; None for all.

    Raises:
        UsageError: no such task or attempt in the run.
    """
    gaps = gaps_of(source)
    engine, unattributed = _buckets(source)
    return ShowAnswer(
        run=run_answer(source),
        tasks=_tasks(source, task, attempt),
        engine=engine,
        unattributed=unattributed,
        coverage=coverage(source, gaps),
        gaps=gaps,
    )


def run_answer(source: Source) -> RunAnswer:
    """Return what the manifest says of the run."""
    run: Mapping[str, Any] = source.manifest.get("run") or {}
    return RunAnswer(
        id=str(run.get("id", "")),
        engine=str(run.get("engine", "")),
        engine_version=str(run.get("engine_version", "")),
        workflow=str(run.get("workflow", "")),
        cwd=str(run.get("cwd", "")),
        state=source.state,
        started_ns=moment(run.get("started_ns")),
        ended_ns=moment(run.get("ended_ns")),
        as_of_ns=moment(source.as_of),
    )


def _tasks(source: Source, task: str | None, attempt: str | None) -> tuple[TaskAnswer, ...]:
    names = source.sql("SELECT task, logical, physical, kind FROM tasks ORDER BY task")
    if task is not None:
        names = _chosen(names, task)
    methods = _methods(source)
    by_task: dict[int, list[AttemptAnswer]] = {}
    columns = ", ".join(name for name, _ in _COLUMNS)
    for row in source.sql(f"SELECT task, {columns} FROM attempts ORDER BY task, ordinal, started_ns"):  # noqa: S608
        if attempt is None or row[1].startswith(attempt):
            by_task.setdefault(row[0], []).append(_attempt(row, methods.get(row[1], {})))
    if attempt is not None:
        _one_attempt(by_task, attempt)
    return tuple(
        TaskAnswer(logical, physical, kind or "", tuple(by_task.get(number, ())))
        for number, logical, physical, kind in names
        if attempt is None or number in by_task
    )


def _one_attempt(by_task: Mapping[int, list[AttemptAnswer]], attempt: str) -> None:
    count = sum(map(len, by_task.values()))
    if count != 1:
        what = "no attempt" if count == 0 else f"{count} attempts"
        raise UsageError(
            f"{what} with an id that begins with {attempt!r}", hint="'provio show --json' lists attempt ids"
        )


def _chosen(names: list[Row], task: str) -> list[Row]:
    """Return the tasks that a person means: the key, else the logical name."""
    chosen = [row for row in names if row[2] == task] or [row for row in names if row[1] == task]
    if chosen:
        return chosen
    from difflib import get_close_matches

    logical = sorted({row[1] for row in names})
    near = get_close_matches(task, [*logical, *(row[2] for row in names)], n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"its tasks are {', '.join(logical[:12])}"
    raise UsageError(f"the run has no task {task!r}", hint=hint)


def _methods(source: Source) -> dict[str, dict[str, int]]:
    """Return operations per attempt and method."""
    rows = source.sql(
        "SELECT attempt, method, sum(operations) FROM attributions WHERE scope = 'attempt' "
        "GROUP BY attempt, method ORDER BY attempt, method"
    )
    found: dict[str, dict[str, int]] = {}
    for attempt, method, operations in rows:
        found.setdefault(attempt, {})[method] = int(operations)
    return found


def _attempt(row: Row, attribution: dict[str, int]) -> AttemptAnswer:
    values: list[Any] = [convert(value) for (_, convert), value in zip(_COLUMNS, row[1:], strict=True)]
    values.append(attribution)
    return AttemptAnswer(*values)


def _buckets(source: Source) -> tuple[Bucket, Bucket]:
    """Return the engine's bucket and nobody's."""
    rows = source.sql(
        "SELECT a.scope, sum(a.operations), count(DISTINCT e.image) FROM attributions a "
        "JOIN epochs e ON e.epoch = a.epoch WHERE a.scope <> 'attempt' GROUP BY a.scope"
    )
    found = {scope: Bucket(int(operations or 0), images) for scope, operations, images in rows}
    return found.get("engine", Bucket(0, 0)), found.get("unattributed", Bucket(0, 0))
