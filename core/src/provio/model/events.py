"""Events: what an engine plugin says, one JSON object a line in ``events/*.jsonl``.

The schema comes first: each event is a frozen dataclass, its JSON form is
``{"v": 1, "type": ..., "seq": n, "stamp": {...}, ...fields}``. Fields that a
reader does not know are kept out of the dataclass and ignored (a later minor
version may add some); a newer ``v`` is refused.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

if TYPE_CHECKING:
    from provio.model.ids import AttemptId, RunId

EVENT_VERSION = 1

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stamp:
    """When and where an event was made.

    Attributes:
        mono: CLOCK_MONOTONIC ns (order within one boot).
        real: CLOCK_REALTIME ns (for people, and across hosts).
        boot_id: 32 hex digits of /proc/sys/kernel/random/boot_id.
        host: node name.
        pid: of the writer; tid: of the thread whose act it reports.
    """

    mono: int
    real: int
    boot_id: str
    host: str
    pid: int
    tid: int


@dataclass(frozen=True, slots=True)
class ProcessRef:
    """A process as the kernel knows it.

    Attributes:
        pid: process id in the writer's pid namespace.
        start_ticks: field 22 of /proc/<pid>/stat, 0 where it was gone already.
        cgroup_id: inode of its cgroup v2 directory, 0 if unknown.
        cgroup_path: path below the cgroup2 mount.
        cgroup_checked: the directory's inode was compared with the id.
    """

    pid: int
    start_ticks: int = 0
    cgroup_id: int = 0
    cgroup_path: str = ""
    cgroup_checked: bool = False


@dataclass(frozen=True, slots=True)
class Event:
    """Base: every event has a stamp."""

    type: ClassVar[str] = ""
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    """The engine began to execute a workflow (also summarised in run.json)."""

    type: ClassVar[str] = "run.start"
    run: RunId
    engine: str
    engine_version: str
    workflow: str
    """Identity of the workflow: configured, else VCS remote and path, else the workflow file."""
    cwd: str
    argv: tuple[str, ...] = ()
    process: ProcessRef | None = None
    config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunEnded(Event):
    """The engine finished. ``state`` is succeeded, failed or cancelled."""

    type: ClassVar[str] = "run.end"
    run: RunId
    state: str
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class HostSeen(Event):
    """Facts of a node, once per host and boot: mounts as (device, fs id, mount point, type, source)."""

    type: ClassVar[str] = "host"
    machine_id: str
    mounts: tuple[tuple[str, str, str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Declared:
    """One file or value that a task declares.

    Attributes:
        role: input, output, log, benchmark, script, config, environment, param, resource.
        value: path (absolute where the engine knows it) or text of the value.
        name: keyword under which it was declared, "" if positional.
        flags: temp, protected, directory, pipe, touch, ...
    """

    role: str
    value: str
    name: str = ""
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskStarted(Event):
    """A try of a physical task began. Every one carries directory, process and cgroup."""

    type: ClassVar[str] = "task.start"
    run: RunId
    attempt: AttemptId
    logical: str
    """Rule, process or operator."""
    physical: str
    """Stable key of the instance within the run, such as ``sort:sample=a``."""
    ordinal: int
    """1 for the first try."""
    kind: str
    """shell, script, run, notebook, wrapper, command, ..."""
    cwd: str
    process: ProcessRef | None = None
    """The process that will do or start the work (the engine's own where it forks later)."""
    job: str = ""
    """The engine's own job id, for people."""
    command: str = ""
    """Redacted command text."""
    declared: tuple[Declared, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """wildcards, threads, resources, batch job id, container, conda, ..."""
    parent: AttemptId | None = None
    """The attempt inside which this one runs."""


@dataclass(frozen=True, slots=True)
class ProcessStarted(Event):
    """The engine started a process for an attempt."""

    type: ClassVar[str] = "task.process"
    attempt: AttemptId
    process: ProcessRef
    argv: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IdentityChanged(Event):
    """From now on this process (tid 0) or thread works for attempt: live identity, e.g. a run: body."""

    type: ClassVar[str] = "task.identity"
    attempt: AttemptId
    process: ProcessRef
    thread: int = 0


@dataclass(frozen=True, slots=True)
class TaskEnded(Event):
    """A try ended. ``state``: succeeded, failed, cancelled, lost."""

    type: ClassVar[str] = "task.end"
    attempt: AttemptId
    state: str
    cwd: str = ""
    process: ProcessRef | None = None
    exit_code: int | None = None
    signal: int | None = None
    message: str = ""
    cpu_user_ns: int = 0
    cpu_system_ns: int = 0
    max_rss_bytes: int = 0


@dataclass(frozen=True, slots=True)
class EngineFile(Event):
    """The engine itself did something to a file: delete (temp), protect, touch, clean (failed output)."""

    type: ClassVar[str] = "engine.file"
    action: str
    path: str
    attempt: AttemptId | None = None


@dataclass(frozen=True, slots=True)
class GapSeen(Event):
    """The plugin could not see or do something (kind: a GapKind word)."""

    type: ClassVar[str] = "gap"
    kind: str
    scope: str
    detail: str = ""
    count: int = 1


EVENT_TYPES: Mapping[str, type[Event]] = {
    cls.type: cls
    for cls in (
        RunStarted, RunEnded, HostSeen, TaskStarted, ProcessStarted,
        IdentityChanged, TaskEnded, EngineFile, GapSeen,
    )
}  # fmt: skip


def to_json(event: Event, seq: int) -> dict[str, Any]:
    """Return the JSON object of an event; ``seq`` counts the lines of one writer."""
    plain: dict[str, Any] = _plain(event)
    return {"v": EVENT_VERSION, "type": event.type, "seq": seq} | plain


def _plain(value: Any) -> Any:
    if hasattr(value, "__dataclass_fields__"):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


def from_json(data: Mapping[str, Any]) -> Event:
    """Build the event of a JSON object.

    Raises:
        ValueError: unknown version or type, or a required field is missing
            (the reader of the file adds name and line).
    """
    if data.get("v") != EVENT_VERSION:
        raise ValueError(f"event version {data.get('v')!r}; this provio reads version {EVENT_VERSION}")
    cls = EVENT_TYPES.get(str(data.get("type")))
    if cls is None:
        raise ValueError(f"unknown event type {data.get('type')!r}")
    try:
        return cls(**{name: _typed(name, data[name]) for name in _names(cls) if name in data})
    except TypeError as error:
        raise ValueError(str(error)) from None


def _names(cls: Any) -> frozenset[str]:
    """Return a dataclass's fields; asked for once per class, not per line of a large run."""
    return _names_of(cls)


@functools.cache
def _names_of(cls: Any) -> frozenset[str]:
    return frozenset(f.name for f in fields(cls))


def _typed(name: str, value: Any) -> Any:
    if name == "stamp":
        return _record(Stamp, value)
    if name == "process" and value is not None:
        return _record(ProcessRef, value)
    if name == "declared":
        return tuple(_record(Declared, v | {"flags": tuple(v.get("flags", ()))}) for v in value)
    if name == "mounts":
        return tuple(tuple(m) for m in value)
    return tuple(value) if isinstance(value, list) else value


def _record(cls: type[T], data: Mapping[str, Any]) -> T:
    known = _names(cls)
    return cls(**{k: v for k, v in data.items() if k in known})
