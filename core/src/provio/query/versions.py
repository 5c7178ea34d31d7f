"""Facts that several questions need: versions of files, and who made them.

``last_version`` decides which content a name means. Following derivations from
one to the next is ``lineage``; the whole story of one is ``why``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from provio.errors import UsageError
from provio.query.paths import FoundFile, path_json, path_text, words_of
from provio.query.show import run_answer
from provio.query.source import Source, known, moment, parsed, select_in

if TYPE_CHECKING:
    from collections.abc import Iterable

_LISTED: Final = 8
"""How many files of a directory a message lists."""


def last_version(source: Source, found: FoundFile) -> int:
    """Return the number of the newest version under the name that was found.

    Raises:
        UsageError: the run met the name but no content under it.
    """
    rows = select_in(
        source,
        "SELECT version, path, closed_mono, begun_mono, ordinal, until_mono FROM versions WHERE file IN ({})",
        found.files,
    )
    named = [row for row in rows if bytes(row[1]) == found.path] or rows
    if not named:
        raise _without_content(source, found)
    return int(max(named, key=lambda row: (row[5] == 0, row[2] or row[3] or 0, row[4], row[0]))[0])


def _without_content(source: Source, found: FoundFile) -> UsageError:
    """Return the error for a name that has no content of its own: a directory, or what was not there."""
    kinds = select_in(source, "SELECT DISTINCT kind FROM files WHERE file IN ({})", found.files)
    if ("directory",) not in [tuple(row) for row in kinds]:
        return UsageError(
            f"the run looked for {path_text(found.path)!r} but met no content under that name",
            hint="'provio show --attempt ID' tells which task looked for it",
        )
    below = (found.path.rstrip(b"/") + b"/").hex().upper()
    rows = source.sql(
        "SELECT DISTINCT path FROM versions WHERE hex(path) LIKE ? ORDER BY path", [f"{below}%"]
    )
    names = [path_text(bytes(path)) for (path,) in rows]
    more = [f"  … and {len(names) - _LISTED} more"] if len(names) > _LISTED else []
    listing = "\n".join([f"  {name}" for name in names[:_LISTED]] + more)
    return UsageError(
        f"{path_text(found.path)!r} is a directory; content lies in its files"
        + (f":\n{listing}" if names else ", of which the run met none"),
        hint="ask about one of them" if names else "'provio show --files --all' lists what each task did",
    )


@dataclass(frozen=True, slots=True)
class VersionFact:
    """One row of ``versions`` with its file."""

    version: int
    file: int
    ordinal: int
    path: bytes
    kind: str
    category: str
    size: int | None
    closed_ns: int | None
    closed_mono: int | None
    ended: str
    digest: str
    writer_epoch: int
    maker_id: str
    maker_confidence: str
    names: tuple[bytes, ...]
    """Every name by which its content was written or read, and its last one."""
    begun_mono: int | None
    until_mono: int | None
    mtime: int | None
    ino: int
    bytes_written: int | None = None


def version_facts(source: Source, numbers: Iterable[int]) -> dict[int, VersionFact]:
    """Return the facts of these versions, in the order given."""
    wanted = list(numbers)
    rows = select_in(
        source,
        "SELECT v.version, v.file, v.ordinal, v.path, f.kind, f.category, v.size, v.closed_ns, "
        "v.closed_mono, v.ended, v.digest, v.writer_epoch, v.writer_attempt, e.image, t.scope, t.confidence, "
        "v.begun_mono, v.until_mono, v.mtime, f.ino FROM versions v "
        "JOIN files f ON f.file = v.file LEFT JOIN epochs e ON e.epoch = v.writer_epoch "
        "LEFT JOIN attributions t ON t.epoch = v.writer_epoch WHERE v.version IN ({})",
        wanted,
    )
    uses = _uses(source, [row[0] for row in rows])
    facts = {row[0]: _version_fact(row, uses.get(row[0], [])) for row in rows}
    return {number: facts[number] for number in wanted if number in facts}


def _version_fact(row: tuple[Any, ...], uses: list[tuple[bytes, int]]) -> VersionFact:
    (number, file, ordinal, path, kind, category, size, closed, mono, ended, digest, epoch, *writer) = row
    attempt, image, scope, sure, begun, until, mtime, ino = writer
    maker = _maker_id(attempt, image, scope)
    return VersionFact(
        version=number,
        file=file,
        ordinal=ordinal,
        path=bytes(path),
        kind=kind or "",
        category=category or "",
        size=known(size),
        closed_ns=moment(closed),
        closed_mono=moment(mono),
        ended=ended or "",
        digest=digest or "",
        writer_epoch=-1 if epoch is None else epoch,
        maker_id=maker,
        maker_confidence=sure or "proved",
        names=tuple(dict.fromkeys([*(name for name, _ in uses), bytes(path)])),
        begun_mono=moment(begun),
        until_mono=moment(until),
        mtime=known(mtime),
        ino=int(ino or 0),
        bytes_written=sum(moved for _, moved in uses) if maker else None,
    )


def _maker_id(attempt: str | None, image: int | None, scope: str | None) -> str:
    """Return the id of who wrote it, "" for content from before the run."""
    if attempt:
        return f"a{attempt}"
    if scope == "engine":
        return "engine"
    return f"p{image}" if image is not None else ""


def _uses(source: Source, versions: Iterable[int]) -> dict[int, list[tuple[bytes, int]]]:
    """Return for each version the names by which it was met, in time's order, with the bytes written so."""
    rows = select_in(
        source,
        "SELECT version, path, sum(CASE WHEN operation IN ('write', 'mapped-write') THEN bytes ELSE 0 END), "
        "min(first_mono) FROM accesses WHERE version IN ({}) GROUP BY version, path",
        versions,
    )
    found: dict[int, list[tuple[bytes, int]]] = {}
    for version, path, moved, _ in sorted(rows, key=lambda row: (row[0], row[3] or 0, bytes(row[1]))):
        found.setdefault(version, []).append((bytes(path), int(moved or 0)))
    return found


@dataclass(frozen=True, slots=True)
class MakerFact:
    """Who made a version: an attempt, the engine, or a process that no attempt owns."""

    id: str
    type: str
    label: str
    confidence: str
    detail: dict[str, Any]


def maker_facts(source: Source, versions: Iterable[VersionFact]) -> dict[str, MakerFact]:
    """Return the makers of these versions by their id."""
    ids = list(dict.fromkeys(fact.maker_id for fact in versions if fact.maker_id))
    attempts = attempt_makers(source, [name[1:] for name in ids if name.startswith("a")])
    processes = _process_makers(source, [int(name[1:]) for name in ids if name.startswith("p")])
    engine = MakerFact(
        "engine", "engine", f"the engine ({run_answer(source).engine or 'unknown'})", "proved", {}
    )
    return attempts | processes | ({"engine": engine} if "engine" in ids else {})


def attempt_makers(source: Source, attempts: list[str]) -> dict[str, MakerFact]:
    """Return these attempts as makers, by their node id."""
    rows = select_in(
        source,
        "SELECT a.attempt, t.logical, t.physical, a.ordinal, a.state, a.exit_code, a.started_ns, a.ended_ns, "
        "a.attributes FROM attempts a JOIN tasks t ON t.task = a.task WHERE a.attempt IN ({})",
        attempts,
    )
    return {f"a{row[0]}": _attempt_maker(*row) for row in rows}


def _attempt_maker(
    attempt: str, logical: str, physical: str, ordinal: int, state: str, exit_code: int | None,
    started: int, ended: int, attributes: Any,
) -> MakerFact:  # fmt: skip
    wildcards = (parsed(attributes, {}) or {}).get("wildcards") or {}
    detail = {
        "attempt": attempt, "logical": logical, "physical": physical, "ordinal": ordinal, "state": state,
        "exit_code": exit_code, "started_ns": moment(started), "ended_ns": moment(ended),
        "wildcards": wildcards,
    }  # fmt: skip
    label = task_label(logical, physical, ordinal)
    return MakerFact(f"a{attempt}", "attempt", label, "proved", detail)


def task_label(logical: str, physical: str, ordinal: int) -> str:
    """Return a try's name for people: ``sort:sample=a (try 2)``, no lone colon at the end."""
    name = physical.rstrip(":") or logical
    return name if ordinal == 1 else f"{name} (try {ordinal})"


def _process_makers(source: Source, images: list[int]) -> dict[str, MakerFact]:
    rows = select_in(source, "SELECT image, pid, argv, exe FROM processes WHERE image IN ({})", images)
    found = {}
    for image, pid, argv, exe in rows:
        words = list(words_of(argv))
        label = " ".join(words)[:60] or path_text(bytes(exe or b"")) or f"process {pid}"
        detail = {"pid": pid, "argv": words, **({"exe": path_json(bytes(exe))} if exe else {})}
        found[f"p{image}"] = MakerFact(f"p{image}", "process", label, "proved", detail)
    return found
