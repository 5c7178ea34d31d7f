"""Facts: what the reconciler concludes. The store writes them as tables (``model.tables``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from provio.model.events import Declared
    from provio.model.gaps import Gap
    from provio.model.ids import AttemptId


class Method(IntEnum):
    """How an epoch was attributed, strongest first (design, section 4)."""

    LIVE = 1
    CGROUP = 2
    CARRIED = 3
    COMMAND_LINE = 4
    ANCESTOR = 5
    WORKING_DIRECTORY = 6
    COMMAND_TEXT = 7
    DECLARED_OUTPUT = 8
    SITE_RULE = 9
    """A plugin's ``provio_attempt_of``; consulted after the built-in ranks."""


class Scope(StrEnum):
    """Whose operation it was."""

    ATTEMPT = "attempt"
    ENGINE = "engine"
    UNATTRIBUTED = "unattributed"


class Confidence(StrEnum):
    """How sure a statement is: proved by evidence, or only not excluded."""

    PROVED = "proved"
    POSSIBLE = "possible"


@dataclass(frozen=True, slots=True)
class Attribution:
    """Whose one epoch is, and why.

    Attributes:
        method: the strongest evidence; None where unattributed.
        evidence: every piece found, as (method, attempt id, text).
        contradictions: those that name another attempt than the decision.
    """

    epoch: int
    scope: Scope
    attempt: AttemptId | None
    method: Method | None
    confidence: Confidence
    evidence: tuple[tuple[Method, str, str], ...] = ()
    contradictions: tuple[tuple[Method, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class AttemptFact:
    """One try of a physical task.

    ``state``: succeeded, failed, cancelled, lost (the run is over and no end was seen), running.
    Times are CLOCK_REALTIME ns; 0 where not known.
    """

    attempt: AttemptId
    logical: str
    physical: str
    ordinal: int
    kind: str
    state: str
    exit_code: int | None
    signal: int | None
    started_ns: int
    ended_ns: int
    cwd: str
    pid: int
    start_ticks: int
    cgroup_id: int
    cgroup_path: str
    host: str
    job: str
    command: str
    message: str
    declared: tuple[Declared, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    parent: AttemptId | None = None
    retry_of: AttemptId | None = None
    cpu_user_ns: int = -1
    cpu_system_ns: int = -1
    max_rss_bytes: int = -1
    io_time_ns: int = -1


@dataclass(frozen=True, slots=True)
class Version:
    """The content of a file between two writers.

    Attributes:
        version: dense number.
        file: evidence file number.
        ordinal: 0 = content found at first sight (made before, or by someone unseen), 1.. = written here.
        writer: epoch that made it, -1 external.
        path: its name (the last one, after renames).
        begun, closed: CLOCK_MONOTONIC ns of the first write (or create) and of the writer's close; 0 unknown.
        until: when it was overwritten, replaced or unlinked; 0 still current at the end.
        size, mtime, ctime: at the writer's close, else as first seen; -1 not known.
        ended: "", overwritten, replaced, unlinked.
    """

    version: int
    file: int
    ordinal: int
    writer: int
    path: bytes
    begun: int
    closed: int
    until: int
    size: int
    mtime: int
    ctime: int
    ended: str = ""


class Access(NamedTuple):
    """A touch joined to the version that it met: -1 where no content was involved (stat of absent, ...)."""

    touch: int
    version: int


class Derivation(NamedTuple):
    """``output`` was derived from ``input`` (version numbers); via: the epochs and channels of the proof."""

    output: int
    input: int
    confidence: Confidence
    via: tuple[str, ...]
    """Steps such as ``epoch:12``, ``channel:3``, ``fork:14``, from reader to writer."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Both numbers of every answer, never merged.

    Attributes:
        attributed_operations, recorded_operations: their ratio is "attributed".
        seen_bytes: bytes recorded on files and channels by images whose end was measured.
        kernel_bytes: rchar + wchar of the same images; seen = (recorded incl. channels) / this. -1 unknown.
        unmeasured_images: images without measured totals; seen is a bound or unknown then.
    """

    attributed_operations: int
    recorded_operations: int
    engine_operations: int
    unattributed_operations: int
    seen_bytes: int
    kernel_bytes: int
    unmeasured_images: int


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything concluded about one run. Same evidence in any order gives equal facts."""

    state: str
    """succeeded, failed, cancelled, crashed (over without run.end), running."""
    attempts: Sequence[AttemptFact]
    attributions: Sequence[Attribution]
    versions: Sequence[Version]
    accesses: Sequence[Access]
    derivations: Sequence[Derivation]
    coverage: Coverage
    gaps: Sequence[Gap]
