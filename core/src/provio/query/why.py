"""One file's story: who wrote it, by which program, on what evidence, from what, and who read it since.

The answer is facts only; ``provio.report.why`` tells them in sentences. None
and empty tuples mean *not known* or *none seen*, and the coverage and the gaps
that come along say how far "none seen" can be trusted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from provio.query.coverage import CoverageAnswer, GapSeen, coverage, gaps_of
from provio.query.declared import Declarations, declarations, is_declared
from provio.query.files import WRITES, FileUse, files_of
from provio.query.now import NowFact, now_of
from provio.query.origins import Origin, origins
from provio.query.paths import FoundFile, path_json, words_of
from provio.query.show import RunAnswer, run_answer
from provio.query.source import Source, known, moment, parsed, select_in
from provio.query.versions import MakerFact, VersionFact, last_version, maker_facts, task_label, version_facts

if TYPE_CHECKING:
    from collections.abc import Iterable

VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Program:
    """The process image that wrote the file, and the evidence that ties it to its task."""

    image: int
    pid: int | None
    argv: tuple[str, ...]
    exe: bytes
    cwd: bytes
    method: str
    confidence: str
    evidence: tuple[tuple[str, str, str], ...]
    contradictions: tuple[tuple[str, str, str], ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            "image": self.image, "pid": self.pid, "argv": list(self.argv), "exe": path_json(self.exe),
            "cwd": path_json(self.cwd), "method": self.method, "confidence": self.confidence,
            "evidence": [list(piece) for piece in self.evidence],
            "contradictions": [list(piece) for piece in self.contradictions],
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Input:
    """One input of the file: its version, its maker, and how it was used."""

    fact: VersionFact
    confidence: str
    bytes: int | None
    maker: MakerFact | None
    declared: bool | None
    """Declared by the writing attempt; None where the engine declares nothing."""
    mapped: bool = False
    """Somebody mapped it into memory, where no bytes are counted."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            **path_json(self.fact.path), "version": self.fact.version, "size": self.fact.size,
            "confidence": self.confidence, "bytes": self.bytes, "declared": self.declared,
            "mapped": self.mapped,
            "maker": _maker_json(self.maker),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reader:
    """Who read this content later. ``attempt`` is "" for the engine and for nobody's processes."""

    attempt: str
    scope: str
    label: str
    bytes: int
    first_ns: int | None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier content under the same name, such as one by a failed try."""

    fact: VersionFact
    maker: MakerFact | None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            "version": self.fact.version, "size": self.fact.size, "closed_ns": self.fact.closed_ns,
            "ended": self.fact.ended, "maker": _maker_json(self.maker),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class EngineAct:
    """What the engine itself did to the file: deleted, protected, touched it."""

    action: str
    at_ns: int | None
    attempt: str

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class WhyAnswer:
    """The answer of ``provio why``."""

    run: RunAnswer
    file: bytes
    found: FoundFile
    fact: VersionFact
    names: tuple[bytes, ...]
    maker: MakerFact | None
    origin: Origin | None
    """Who made content from before this run, in which other run."""
    program: Program | None
    declared: FileUse | None
    inputs: tuple[Input, ...]
    possible: tuple[Input, ...]
    readers: tuple[Reader, ...]
    earlier: tuple[Earlier, ...]
    engine_acts: tuple[EngineAct, ...]
    gaps: tuple[GapSeen, ...]
    coverage: CoverageAnswer
    now: NowFact | None = None
    """The file as it is now; None where nobody looked, or nothing follows from it."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document (docs/reference/json.md)."""
        fact = self.fact
        return {
            "version": VERSION,
            "run": self.run.to_json(),
            "file": {
                **path_json(self.file), "size": fact.size, "closed_ns": fact.closed_ns, "ended": fact.ended,
                "digest": fact.digest or None, "external": not fact.maker_id,
                "former_names": [path_json(name) for name in self.names],
                "roles": list(self.declared.roles) if self.declared else [],
                "status": str(self.declared.status) if self.declared else None,
            },
            "now": self.now.to_json() if self.now else None,
            "maker": _maker_json(self.maker),
            "origin": self.origin.to_json() if self.origin else None,
            "program": self.program.to_json() if self.program else None,
            "inputs": [item.to_json() for item in self.inputs],
            "possible_inputs": [item.to_json() for item in self.possible],
            "readers": [reader.to_json() for reader in self.readers],
            "earlier": [item.to_json() for item in self.earlier],
            "engine_acts": [act.to_json() for act in self.engine_acts],
            "gaps": [gap.to_json() for gap in self.gaps],
            "coverage": self.coverage.to_json(),
        }  # fmt: skip


def _maker_json(maker: MakerFact | None) -> dict[str, Any] | None:
    return {"id": maker.id, "type": maker.type, "label": maker.label, **maker.detail} if maker else None


def why(source: Source, found: FoundFile, others: Iterable[Source] = ()) -> WhyAnswer:
    """Answer how a file came to be.

    Args:
        source: the generation.
        found: the file, from ``paths.resolve``.
        others: other runs in which content from before this one may have been made.

    Raises:
        UsageError: the run met the name but no content under it.
    """
    number = last_version(source, found)
    fact = version_facts(source, [number])[number]
    program = _program(source, fact)
    inputs = _inputs(source, fact)
    gaps = gaps_of(source)
    return WhyAnswer(
        run=run_answer(source),
        file=found.path,
        found=found,
        fact=fact,
        names=_former_names(source, fact),
        maker=maker_facts(source, [fact]).get(fact.maker_id),
        origin=origins([fact], others).get(fact.version),
        program=program,
        declared=_declared(source, fact),
        inputs=tuple(item for item in inputs if item.confidence == "proved"),
        possible=tuple(item for item in inputs if item.confidence != "proved"),
        readers=_readers(source, fact),
        earlier=_earlier(source, fact),
        engine_acts=_engine_acts(source, fact),
        gaps=tuple(_limiting(gaps, fact, program)),
        coverage=coverage(source, gaps),
    )


def looked_at(answer: WhyAnswer) -> WhyAnswer:
    """Return the answer with a look at the file as it is on this machine now."""
    return replace(answer, now=now_of(answer))


def _program(source: Source, fact: VersionFact) -> Program | None:
    rows = source.sql(
        "SELECT p.image, p.pid, p.argv, p.exe, p.cwd, t.method, t.confidence, t.evidence, t.contradictions "
        "FROM epochs e JOIN processes p ON p.image = e.image LEFT JOIN attributions t ON t.epoch = e.epoch "
        "WHERE e.epoch = ?",
        [fact.writer_epoch],
    )
    if not rows:
        return None
    image, pid, argv, exe, cwd, method, confidence, evidence, contradictions = rows[0]
    return Program(
        image, moment(pid), words_of(argv), bytes(exe or b""), bytes(cwd or b""),
        method or "", confidence or "", _pieces(evidence), _pieces(contradictions),
    )  # fmt: skip


def _pieces(column: Any) -> tuple[tuple[str, str, str], ...]:
    return tuple((str(m).lower(), str(a), str(text)) for m, a, text in parsed(column, []))


def _former_names(source: Source, fact: VersionFact) -> tuple[bytes, ...]:
    """Return the names that renames took from this content, in order of time."""
    rows = source.sql(
        "SELECT path, first_mono FROM accesses WHERE operation = 'rename' AND err = 0 AND file = ? "
        "AND first_mono >= ? ORDER BY first_mono",
        [fact.file, fact.begun_mono or 0],
    )
    names = [bytes(path) for path, at in rows if not fact.until_mono or at <= fact.until_mono]
    return tuple(name for name in dict.fromkeys(names) if name != fact.path)


def _declared(source: Source, fact: VersionFact) -> FileUse | None:
    """Return how the writing attempt used and declared the file."""
    if not fact.maker_id.startswith("a"):
        return None
    uses = files_of(source, [fact.maker_id[1:]])[0].files
    return next((use for use in uses if use.path in fact.names and use.operations.keys() & WRITES), None)


def _inputs(source: Source, fact: VersionFact) -> list[Input]:
    rows = source.sql(
        "SELECT input, confidence, bytes FROM derivations WHERE output = ? ORDER BY confidence, input",
        [fact.version],
    )
    facts = version_facts(source, [row[0] for row in rows])
    makers = maker_facts(source, facts.values())
    declared = declarations(source, [fact.maker_id[1:]])
    mapped = set(
        select_in(
            source,
            "SELECT DISTINCT version FROM accesses WHERE operation = 'mapped-read' AND version IN ({})",
            list(facts),
        )
    )
    found = [
        Input(
            item,
            confidence,
            known(moved),
            makers.get(item.maker_id),
            _is_declared(declared, fact, item),
            (number,) in mapped,
        )
        for number, confidence, moved in rows
        if (item := facts.get(number)) is not None
    ]
    return sorted(found, key=lambda item: (item.confidence, -(item.bytes or 0), item.fact.path))


def _is_declared(known_declarations: Declarations, fact: VersionFact, item: VersionFact) -> bool | None:
    """Tell whether the writer declares an input; None where it declares nothing or made it itself."""
    if item.maker_id and item.maker_id == fact.maker_id:
        return None
    return is_declared(known_declarations, fact.maker_id[1:], item.names)


def _readers(source: Source, fact: VersionFact) -> tuple[Reader, ...]:
    rows = source.sql(
        "SELECT a.scope, a.attempt, t.logical, t.physical, m.ordinal, sum(a.bytes), min(a.first_mono) "
        "FROM accesses a "
        "LEFT JOIN attempts m ON m.attempt = a.attempt LEFT JOIN tasks t ON t.task = m.task "
        "WHERE a.version = ? AND a.operation IN ('read', 'mapped-read', 'copy_range') "
        "GROUP BY a.scope, a.attempt, t.logical, t.physical, m.ordinal ORDER BY min(a.first_mono)",
        [fact.version],
    )
    return tuple(
        Reader(attempt or "", scope, _reader_label(scope, *task), int(moved or 0), _real(fact, first))
        for scope, attempt, *task, moved, first in rows
        if f"a{attempt}" != fact.maker_id
    )


def _reader_label(scope: str, logical: str | None, physical: str | None, ordinal: int | None) -> str:
    if scope == "engine":
        return "the engine"
    if logical is None or physical is None:
        return "a process that no task owns"
    return task_label(logical, physical, ordinal or 1)


def _real(fact: VersionFact, mono: int | None) -> int | None:
    """Turn CLOCK_MONOTONIC into CLOCK_REALTIME by the pair that the version carries."""
    if not mono or not fact.closed_ns or not fact.closed_mono:
        return None
    return int(mono) - fact.closed_mono + fact.closed_ns


def _earlier(source: Source, fact: VersionFact) -> tuple[Earlier, ...]:
    """Return earlier contents under the same name, newest first."""
    rows = source.sql(
        "SELECT v.version FROM versions v WHERE v.path = ? "
        "ORDER BY v.until_mono = 0 DESC, v.closed_mono DESC, v.ordinal DESC, v.version DESC",
        [fact.path],
    )
    facts = version_facts(source, [row[0] for row in rows if row[0] != fact.version])
    before = [other for other in facts.values() if (other.closed_mono or 0) <= (fact.closed_mono or 1 << 62)]
    makers = maker_facts(source, before)
    return tuple(Earlier(other, makers.get(other.maker_id)) for other in before)


def _engine_acts(source: Source, fact: VersionFact) -> tuple[EngineAct, ...]:
    rows = source.sql(
        "SELECT action, at_ns, attempt FROM engine_files WHERE path = ? ORDER BY at_ns",
        [fact.path.decode(errors="backslashreplace")],
    )
    return tuple(EngineAct(action, moment(at), attempt or "") for action, at, attempt in rows)


def _limiting(gaps: Iterable[GapSeen], fact: VersionFact, program: Program | None) -> Iterable[GapSeen]:
    """Yield the gaps that could change this answer: of the run, its attempt, its program, its file."""
    scopes = {
        "run",
        "",
        f"attempt:{fact.maker_id[1:]}",
        f"file:{fact.path.decode(errors='backslashreplace')}",
    }
    if program is not None:
        scopes.add(f"image:{program.image}")
    return (gap for gap in gaps if gap.scope in scopes)
