"""The files of attempts, declared against observed: read but not declared, declared but never read.

Noise (libraries, locales, the interpreter's own files, see ``files.category``)
is counted, not listed. What an attempt wrote and removed again is its scratch.
A declared directory covers what is below it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from provio.query.declared import OUTPUT_ROLES, Declaration, declarations
from provio.query.paths import path_json
from provio.query.source import Row, Source, select_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

READS: Final = frozenset({"read", "mapped-read", "list", "copy_range"})
WRITES: Final = frozenset(
    {"write", "create", "truncate", "mapped-write", "fallocate", "symlink", "mkdir", "mknod"}
)
_ENGINE_PLACES: Final = (b"/.snakemake/", b"/.nextflow/")
_MUST_BE_READ: Final = frozenset({"input"})


class Status(StrEnum):
    """How what was declared compares with what was seen."""

    DECLARED = "declared"
    UNDECLARED_READ = "undeclared-read"
    UNDECLARED_WRITE = "undeclared-write"
    NEVER_READ = "never-read"
    NEVER_WRITTEN = "never-written"
    SCRATCH = "scratch"
    ABSENT = "absent"
    """Looked for and not there: its appearance would change the task."""
    LOOKED_AT = "looked-at"
    """Only its name or status was asked for."""
    LISTED = "listed"
    """A directory whose entries were read, as every import of an interpreter does."""
    ENGINE_FILE = "engine-file"
    """Lies in the engine's own directory, such as the copy of a script."""
    UNKNOWN = "no-declaration"
    """The engine declares nothing for this attempt, so nothing can be undeclared."""


FINDINGS: Final = (Status.UNDECLARED_READ, Status.UNDECLARED_WRITE, Status.NEVER_READ, Status.NEVER_WRITTEN)


@dataclass(slots=True)
class _Use:
    """What one attempt did with one file, summed over its processes."""

    attempt: str
    file: int
    path: bytes
    kind: str
    names: set[bytes] = field(default_factory=set)
    operations: dict[str, int] = field(default_factory=dict)
    bytes_read: int = 0
    bytes_written: int = 0
    failed_only: bool = True


@dataclass(frozen=True, slots=True)
class FileUse:
    """One file of one attempt.

    Attributes:
        roles: as what it was declared (input, output, log, ...), empty if not.
        operations: how often each kind of operation was done to it; empty where declared only.
        bytes_read, bytes_written: by this attempt; 0 where only declared.
    """

    attempt: str
    path: bytes
    status: Status
    roles: tuple[str, ...]
    operations: dict[str, int]
    bytes_read: int
    bytes_written: int

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            "attempt": self.attempt,
            **path_json(self.path),
            "status": str(self.status),
            "roles": list(self.roles),
            "operations": self.operations,
            "bytes_read": self.bytes_read,
            "bytes_written": self.bytes_written,
        }


@dataclass(frozen=True, slots=True)
class AttemptFiles:
    """The files of one attempt; ``noise`` counts the files left out, by category."""

    attempt: str
    files: tuple[FileUse, ...]
    noise: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            "attempt": self.attempt,
            "files": [use.to_json() for use in self.files],
            "noise": self.noise,
        }


def files_of(source: Source, attempts: Sequence[str]) -> list[AttemptFiles]:
    """Return the files of these attempts, each compared with what the attempt declares.

    An attempt inside another (an inner retry) is held to the outer one's
    declarations where it has none; what it used counts as used by the outer one, too.
    """
    nest = _Nest(source)
    everyone = list(dict.fromkeys(name for attempt in attempts for name in nest.family(attempt)))
    uses = _uses(source, everyone)
    declared = declarations(source, everyone)
    removed = _removed(source, everyone)
    noise = _noise(source, attempts)
    found = []
    for attempt in attempts:
        own = declared.get(attempt, [])
        files = list(_compare(uses.get(attempt, []), own, removed))
        if nest.outer.get(attempt) not in declared:
            below = [use for name in nest.below(attempt) for use in uses.get(name, [])]
            files += _unmet(attempt, own, [*uses.get(attempt, []), *below])
        found.append(AttemptFiles(attempt, tuple(files), noise.get(attempt, {})))
    return found


class _Nest:
    """Which attempts run inside which."""

    def __init__(self, source: Source) -> None:
        rows = source.sql("SELECT attempt, parent FROM attempts WHERE parent IS NOT NULL ORDER BY attempt")
        self.outer: dict[str, str] = dict(rows)
        self.inner: dict[str, list[str]] = {}
        for attempt, parent in rows:
            self.inner.setdefault(parent, []).append(attempt)

    def below(self, attempt: str) -> list[str]:
        """Return all attempts inside this one."""
        found = list(self.inner.get(attempt, ()))
        for name in found:
            found += (other for other in self.inner.get(name, ()) if other not in found)
        return found

    def family(self, attempt: str) -> list[str]:
        """Return the attempt, the one around it, and all inside it."""
        around = [self.outer[attempt]] if attempt in self.outer else []
        return [attempt, *around, *self.below(attempt)]


def findings(source: Source, attempts: Sequence[str] | None = None) -> list[FileUse]:
    """Return what was declared wrongly in a run (or in these attempts): the uses in ``FINDINGS``.

    Only attempts that succeeded can have *unread* or *unwritten* declarations: a
    failed one may not have come so far.
    """
    if attempts is None:
        attempts = [row[0] for row in source.sql("SELECT attempt FROM attempts ORDER BY task, ordinal")]
    finished = {row[0] for row in source.sql("SELECT attempt FROM attempts WHERE state = 'succeeded'")}
    return [
        use
        for answer in files_of(source, attempts)
        for use in answer.files
        if use.status in FINDINGS
        and (use.attempt in finished or use.status not in (Status.NEVER_READ, Status.NEVER_WRITTEN))
    ]


def _uses(source: Source, attempts: Sequence[str]) -> dict[str, list[_Use]]:
    """Sum the accesses of attempts per file and name of the content, noise left out.

    An inode that was reused (its first file deleted unseen) has several contents
    of different names; what met no content goes to the content of its own name.
    """
    rows = select_in(
        source,
        "SELECT a.attempt, a.file, f.kind, a.operation, a.path, v.path, sum(a.count), sum(a.bytes), "
        "min(CASE WHEN a.err = 0 THEN 0 ELSE 1 END) FROM accesses a JOIN files f ON f.file = a.file "
        "LEFT JOIN versions v ON v.version = a.version WHERE f.category = 'data' AND a.attempt IN ({}) "
        "GROUP BY a.attempt, a.file, f.kind, a.operation, a.path, v.path",
        attempts,
    )
    found: dict[tuple[str, int], list[_Use]] = {}
    for row in sorted(rows, key=lambda row: (row[5] is None, row[0], row[1], row[3], bytes(row[4]))):
        _add(found.setdefault((row[0], row[1]), []), row)
    by_attempt: dict[str, list[_Use]] = {}
    uses = (use for group in found.values() for use in group)
    for use in sorted(uses, key=lambda use: (use.attempt, use.path, use.file)):
        by_attempt.setdefault(use.attempt, []).append(use)
    return {attempt: _without_shadows(group) for attempt, group in by_attempt.items()}


def _add(group: list[_Use], row: Row) -> None:
    """Add a row to the use of its content; ``group`` holds the uses of one attempt and file."""
    attempt, file, kind, operation, path, named, count, moved, failed = row
    use = _use_for(group, operation, bytes(path), None if named is None else bytes(named))
    if use is None:
        use = _Use(attempt, file, bytes(path if named is None else named), kind)
        group.append(use)
    use.names.add(bytes(path))
    use.failed_only = use.failed_only and bool(failed)
    if failed and operation in READS | WRITES:
        return  # such as the mkdir of a directory that is there
    use.operations[operation] = use.operations.get(operation, 0) + int(count)
    if operation in WRITES:
        use.bytes_written += int(moved or 0)
    elif operation in READS:
        use.bytes_read += int(moved or 0)


def _use_for(group: list[_Use], operation: str, path: bytes, named: bytes | None) -> _Use | None:
    """Return the use of that content; what met none goes to that of its name, a rename to the only one."""
    if named is not None:
        return next((use for use in group if use.path == named), None)
    if operation == "rename" and len(group) == 1:
        return group[0]
    return next((use for use in group if path == use.path or path in use.names), None)


def _without_shadows(uses: list[_Use]) -> list[_Use]:
    """Leave out the absence of what the attempt then made, and looks at what it also read."""
    real = {use.path for use in uses if use.operations.keys() & (READS | WRITES) and not use.failed_only}
    return [use for use in uses if use.path not in real or use.operations.keys() & (READS | WRITES)]


def _noise(source: Source, attempts: Sequence[str]) -> dict[str, dict[str, int]]:
    rows = select_in(
        source,
        "SELECT a.attempt, f.category, count(DISTINCT a.file) FROM accesses a "
        "JOIN files f ON f.file = a.file "
        "WHERE f.category <> 'data' AND a.attempt IN ({}) GROUP BY a.attempt, f.category ORDER BY 1, 2",
        attempts,
    )
    found: dict[str, dict[str, int]] = {}
    for attempt, category, count in rows:
        found.setdefault(attempt, {})[category] = count
    return found


def _removed(source: Source, attempts: Sequence[str]) -> dict[tuple[str, int], bool]:
    """Return (attempt, file) of versions that attempts made -> whether all of them are gone."""
    rows = select_in(
        source,
        "SELECT writer_attempt, file, min(CASE WHEN ended = 'unlinked' THEN 1 ELSE 0 END) FROM versions "
        "WHERE writer_attempt IN ({}) GROUP BY writer_attempt, file",
        attempts,
    )
    return {(attempt, file): bool(gone) for attempt, file, gone in rows}


def in_engine_place(path: bytes) -> bool:
    """Tell whether a path lies in an engine's own directory within a workflow's."""
    return any(place in path for place in _ENGINE_PLACES)


def _compare(
    uses: Iterable[_Use], declared: Sequence[Declaration], removed: dict[tuple[str, int], bool]
) -> Iterable[FileUse]:
    """Yield each file seen with its status."""
    for use in uses:
        matching = _matching(use, declared)
        status = _status(use, matching, bool(declared), removed.get((use.attempt, use.file)))
        roles = tuple(sorted({item.role for item in matching}))
        yield FileUse(use.attempt, use.path, status, roles, use.operations, use.bytes_read, use.bytes_written)


def _matching(use: _Use, declared: Sequence[Declaration]) -> list[Declaration]:
    names = {use.path, *use.names}
    return [item for item in declared if item.covers(names)]


def _status(use: _Use, matching: Sequence[Declaration], declares: bool, removed: bool | None) -> Status:  # noqa: FBT001
    """Decide one file's status; ``removed`` is None where the attempt made no version of it."""
    if use.kind == "absent" or use.failed_only:
        return Status.ABSENT
    if not use.operations.keys() & (READS | WRITES):
        return Status.LOOKED_AT
    if matching:
        return Status.DECLARED
    if removed:
        return Status.SCRATCH
    if use.kind == "directory" and not use.operations.keys() & WRITES:
        return Status.LISTED
    if in_engine_place(use.path):
        return Status.ENGINE_FILE
    if not declares:
        return Status.UNKNOWN
    wrote = removed is not None or use.operations.keys() & WRITES
    return Status.UNDECLARED_WRITE if wrote else Status.UNDECLARED_READ


def _unmet(attempt: str, declared: Sequence[Declaration], uses: Iterable[_Use]) -> Iterable[FileUse]:
    """Yield what is declared and was not read or not written."""
    met: dict[Declaration, set[str]] = {item: set() for item in declared}
    for use in uses:
        for item in () if use.failed_only else _matching(use, declared):
            met[item] |= use.operations.keys()
    for item, operations in sorted(met.items(), key=lambda pair: (pair[0].role, pair[0].path)):
        if item.role in _MUST_BE_READ and not operations & READS:
            yield FileUse(attempt, item.path, Status.NEVER_READ, (item.role,), {}, 0, 0)
        elif item.role in OUTPUT_ROLES and not operations:
            yield FileUse(attempt, item.path, Status.NEVER_WRITTEN, (item.role,), {}, 0, 0)
