"""What a file was made from (up) and what was made from it (down), as a graph.

Nodes are file versions and the attempts that made them (``process`` and
``engine`` where no attempt did). Every edge points the way the data flowed:
``used`` version → attempt, ``generated`` attempt → version, ``derived`` input
version → output version. One level of depth is one maker with its inputs.
Only proved derivations are followed unless ``possible`` is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from provio.errors import UsageError
from provio.query.coverage import CoverageAnswer, coverage
from provio.query.paths import FoundFile, path_json, path_text, words_of
from provio.query.show import RunAnswer, run_answer
from provio.query.source import Source, known, moment, parsed, select_in

if TYPE_CHECKING:
    from collections.abc import Iterable

VERSION: Final = 1
UP, DOWN = "up", "down"

_STEPS: Final = {
    "output": "SELECT output, input, confidence, bytes FROM derivations WHERE output IN ({})",
    "input": "SELECT output, input, confidence, bytes FROM derivations WHERE input IN ({})",
}
_READERS: Final = (
    "SELECT version, attempt, sum(bytes) FROM accesses "
    "WHERE operation IN ('read', 'mapped-read', 'copy_range') AND attempt IS NOT NULL "
    "AND version IN ({}) GROUP BY version, attempt"
)


@dataclass(frozen=True, slots=True)
class Node:
    """A file version, an attempt, or a process or engine that stands where an attempt is not known.

    Attributes:
        id: ``v<number>``, ``a<attempt id>``, ``p<image>`` or ``engine``.
        type: ``file version``, ``attempt``, ``process`` or ``engine``.
        label: text for people.
        detail: facts for tooltips and JSON: path, size, state, ...
        level: steps from the asked file, negative upward.
    """

    id: str
    type: str
    label: str
    level: int
    detail: dict[str, Any]
    asked: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            "id": self.id,
            "type": self.type,
            "label": self.label,
            "level": self.level,
            "asked": self.asked,
            **self.detail,
        }


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation, in the direction of the data. ``bytes`` is None where not known."""

    source: str
    target: str
    relation: str
    bytes: int | None
    confidence: str

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class LineageAnswer:
    """The answer of ``provio lineage``.

    Attributes:
        file: the name asked for.
        version: number of the version asked for.
        more: ids of file versions whose own makers or products lie beyond the depth.
        hidden_possible: derivations left out because they are only possible.
    """

    run: RunAnswer
    file: bytes
    asked: str
    direction: str
    depth: int
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    more: tuple[str, ...]
    hidden_possible: int
    coverage: CoverageAnswer

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document (docs/reference/json.md)."""
        return {
            "version": VERSION,
            "run": self.run.to_json(),
            "file": path_json(self.file),
            "asked": self.asked,
            "direction": self.direction,
            "depth": self.depth,
            "nodes": [node.to_json() for node in self.nodes],
            "edges": [edge.to_json() for edge in self.edges],
            "more": list(self.more),
            "hidden_possible": self.hidden_possible,
            "coverage": self.coverage.to_json(),
        }


@dataclass(slots=True)
class _Walk:
    """What the breadth-first search has collected."""

    levels: dict[int, int]
    derived: dict[tuple[int, int], tuple[str, int | None]] = field(default_factory=dict)
    """(input, output) -> confidence, bytes."""
    hidden: int = 0
    frontier: set[int] = field(default_factory=set)
    """Versions at the depth limit: not expanded."""
    beyond: set[int] = field(default_factory=set)


def lineage(
    source: Source, found: FoundFile, *, direction: str = UP, depth: int = 1, possible: bool = False
) -> LineageAnswer:
    """Answer where a file's content came from, or where it went.

    Args:
        source: the generation.
        found: the file, from ``paths.resolve``.
        direction: ``up`` or ``down``.
        depth: levels to follow, 0 for all.
        possible: also follow derivations that are not proved.

    Raises:
        UsageError: the file was met but has no content in the run (only looked for).
    """
    start = last_version(source, found)
    walk = _search(source, start, direction, depth, possible=possible)
    nodes, edges = _graph(source, walk, start, direction)
    return LineageAnswer(
        run=run_answer(source),
        file=found.path,
        asked=f"v{start}",
        direction=direction,
        depth=depth,
        nodes=nodes,
        edges=edges,
        more=tuple(f"v{number}" for number in sorted(walk.beyond)),
        hidden_possible=walk.hidden,
        coverage=coverage(source),
    )


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
        raise UsageError(
            f"the run looked for {path_text(found.path)!r} but met no content under that name",
            hint="'provio show --attempt ID' tells which task looked for it",
        )
    return int(max(named, key=lambda row: (row[5] == 0, row[2] or row[3] or 0, row[4], row[0]))[0])


def _search(source: Source, start: int, direction: str, depth: int, *, possible: bool) -> _Walk:
    """Follow derivations breadth first; ``levels`` keeps the shortest distance of each version."""
    here, there = ("output", "input") if direction == UP else ("input", "output")
    sign = -1 if direction == UP else 1
    walk = _Walk({start: 0})
    frontier, level = [start], 0
    while frontier and (depth == 0 or level < depth):
        level += 1
        following: list[int] = []
        for output, given, confidence, moved in _steps(source, here, frontier):
            if confidence != "proved" and not possible:
                walk.hidden += 1
                continue
            walk.derived[given, output] = (confidence, known(moved))
            other = given if there == "input" else output
            if other not in walk.levels:
                walk.levels[other] = sign * level
                following.append(other)
        frontier = following
    walk.frontier = set(frontier)
    walk.beyond = {row[0] if here == "output" else row[1] for row in _steps(source, here, frontier)}
    return walk


def _steps(source: Source, here: str, versions: Iterable[int]) -> list[tuple[int, int, str, int | None]]:
    rows = select_in(source, _STEPS[here], versions)
    return sorted((int(o), int(i), c, b) for o, i, c, b in rows)


def _graph(
    source: Source, walk: _Walk, start: int, direction: str
) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
    """Turn versions and derivations into nodes and edges, with the makers in between."""
    versions = version_facts(source, walk.levels)
    makers = maker_facts(source, versions.values())
    nodes = {f"v{n}": _version_node(fact, walk.levels[n], n == start) for n, fact in versions.items()}
    edges: dict[tuple[str, str, str], Edge] = {}
    outputs = {output for _, output in walk.derived} | ({start} if direction == UP else set())
    for number in sorted(outputs & versions.keys()):
        fact = versions[number]
        maker = makers.get(fact.maker_id)
        if maker is not None:
            nodes.setdefault(maker.id, _maker_node(maker, walk.levels[number]))
            edge = Edge(maker.id, f"v{number}", "generated", fact.bytes_written, fact.maker_confidence)
            edges[edge.source, edge.target, edge.relation] = edge
    for (given, output), (confidence, moved) in sorted(walk.derived.items()):
        _derive(edges, versions, Edge(f"v{given}", f"v{output}", "derived", moved, confidence))
    if direction == DOWN:
        _add_readers(source, walk, nodes, edges)
    return tuple(nodes.values()), _with_bytes(source, edges)


def _derive(edges: dict[tuple[str, str, str], Edge], versions: dict[int, VersionFact], derived: Edge) -> None:
    """Add the derived edge and, where the output's maker is known, the maker's used edge."""
    edges[derived.source, derived.target, "derived"] = derived
    maker = versions[int(derived.target[1:])].maker_id
    if maker:
        key = (derived.source, maker, "used")
        if key not in edges or derived.confidence == "proved":
            edges[key] = Edge(derived.source, maker, "used", derived.bytes, derived.confidence)


def _add_readers(
    source: Source, walk: _Walk, nodes: dict[str, Node], edges: dict[tuple[str, str, str], Edge]
) -> None:
    """Add the attempts that read an expanded version, also those that made nothing of it."""
    expanded = [number for number in walk.levels if number not in walk.frontier]
    rows = select_in(source, _READERS, expanded)
    makers = _attempt_makers(source, list(dict.fromkeys(row[1] for row in rows)))
    for version, attempt, moved in sorted(rows, key=lambda row: (row[0], row[1])):
        maker = makers[f"a{attempt}"]
        nodes.setdefault(maker.id, _maker_node(maker, walk.levels[version] + 1))
        key = (f"v{version}", maker.id, "used")
        edges.setdefault(key, Edge(*key, int(moved or 0), "proved"))


def _with_bytes(source: Source, edges: dict[tuple[str, str, str], Edge]) -> tuple[Edge, ...]:
    """Give used edges the bytes that the whole attempt read, where the accesses tell."""
    used = [edge for edge in edges.values() if edge.relation == "used" and edge.target.startswith("a")]
    rows = select_in(source, _READERS, [int(edge.source[1:]) for edge in used])
    read = {(f"v{version}", f"a{attempt}"): int(moved or 0) for version, attempt, moved in rows}
    for edge in used:
        moved = read.get((edge.source, edge.target), edge.bytes)
        edges[edge.source, edge.target, "used"] = replace(edge, bytes=moved)
    return tuple(edges.values())


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
    bytes_written: int | None


def version_facts(source: Source, numbers: Iterable[int]) -> dict[int, VersionFact]:
    """Return the facts of these versions, in the order given."""
    wanted = list(numbers)
    rows = select_in(
        source,
        "SELECT v.version, v.file, v.ordinal, v.path, f.kind, f.category, v.size, v.closed_ns, "
        "v.closed_mono, "
        "v.ended, v.digest, v.writer_epoch, v.writer_attempt, e.image, t.scope, t.confidence FROM versions v "
        "JOIN files f ON f.file = v.file LEFT JOIN epochs e ON e.epoch = v.writer_epoch "
        "LEFT JOIN attributions t ON t.epoch = v.writer_epoch WHERE v.version IN ({})",
        wanted,
    )
    written = _written(source, [row[0] for row in rows if row[11] is not None and row[11] >= 0])
    facts = {row[0]: _version_fact(row, written.get(row[0])) for row in rows}
    return {number: facts[number] for number in wanted if number in facts}


def _version_fact(row: tuple[Any, ...], written: int | None) -> VersionFact:
    (
        number,
        file,
        ordinal,
        path,
        kind,
        category,
        size,
        closed,
        mono,
        ended,
        digest,
        epoch,
        attempt,
        image,
        scope,
        sure,
    ) = row
    if attempt:
        maker = f"a{attempt}"
    elif scope == "engine":
        maker = "engine"
    else:
        maker = f"p{image}" if image is not None else ""
    return VersionFact(
        number, file, ordinal, bytes(path), kind or "", category or "", known(size), moment(closed),
        moment(mono),
        ended or "", digest or "", -1 if epoch is None else epoch, maker, sure or "proved", written,
    )  # fmt: skip


def _written(source: Source, versions: Iterable[int]) -> dict[int, int]:
    rows = select_in(
        source,
        "SELECT version, sum(bytes) FROM accesses WHERE operation IN ('write', 'mapped-write', 'copy_range') "
        "AND version IN ({}) GROUP BY version",
        versions,
    )
    return {version: int(moved or 0) for version, moved in rows}


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
    attempts = _attempt_makers(source, [name[1:] for name in ids if name.startswith("a")])
    processes = _process_makers(source, [int(name[1:]) for name in ids if name.startswith("p")])
    engine = MakerFact(
        "engine", "engine", f"the engine ({run_answer(source).engine or 'unknown'})", "proved", {}
    )
    return attempts | processes | ({"engine": engine} if "engine" in ids else {})


def _attempt_makers(source: Source, attempts: list[str]) -> dict[str, MakerFact]:
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


def _version_node(fact: VersionFact, level: int, asked: bool) -> Node:  # noqa: FBT001
    detail: dict[str, Any] = {
        **path_json(fact.path), "ordinal": fact.ordinal, "size": fact.size, "closed_ns": fact.closed_ns,
        "ended": fact.ended, "external": not fact.maker_id, "digest": fact.digest or None,
    }  # fmt: skip
    return Node(f"v{fact.version}", "file version", path_text(fact.path), level, detail, asked)


def _maker_node(maker: MakerFact, level: int) -> Node:
    return Node(maker.id, maker.type, maker.label, level, maker.detail)
