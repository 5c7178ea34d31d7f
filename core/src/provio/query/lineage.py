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

from provio.query.coverage import CoverageAnswer, coverage
from provio.query.declared import declarations, is_declared
from provio.query.origins import Origin, origins
from provio.query.paths import FoundFile, path_json, path_text
from provio.query.show import RunAnswer, run_answer
from provio.query.source import Source, known, select_in
from provio.query.versions import (
    MakerFact,
    VersionFact,
    attempt_makers,
    last_version,
    maker_facts,
    version_facts,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

VERSION: Final = 1
UP, DOWN = "up", "down"

_PAIRS: Final = (
    "SELECT w.version, r.version, sum(r.bytes) FROM accesses w JOIN accesses r "
    "ON r.attempt = w.attempt AND r.version <> w.version AND r.first_mono < w.last_mono "
    "WHERE w.operation IN ('write', 'mapped-write') AND r.operation IN ('read', 'mapped-read') "
    "AND w.version >= 0 AND r.version >= 0 "
)
_POSSIBLE: Final = {
    "output": _PAIRS + "AND w.version IN ({}) GROUP BY 1, 2",
    "input": _PAIRS + "AND r.version IN ({}) GROUP BY 1, 2",
}
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
    """A relation, in the direction of the data. ``bytes`` is None where not known.

    ``declared`` tells of used and generated edges whether the attempt declares
    the file; None where it declares nothing or made the input itself.
    """

    source: str
    target: str
    relation: str
    bytes: int | None
    confidence: str
    declared: bool | None = None

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
    source: Source,
    found: FoundFile,
    *,
    direction: str = UP,
    depth: int = 1,
    possible: bool = False,
    others: Iterable[Source] = (),
) -> LineageAnswer:
    """Answer where a file's content came from, or where it went.

    Args:
        source: the generation.
        found: the file, from ``paths.resolve``.
        direction: ``up`` or ``down``.
        depth: levels to follow, 0 for all.
        possible: also follow derivations that are not proved.
        others: other runs in which content from before this one may have been made.

    Raises:
        UsageError: the file was met but has no content in the run (only looked for).
    """
    start = last_version(source, found)
    walk = _search(source, start, direction, depth, possible=possible)
    nodes, edges = _graph(source, walk, start, direction, others)
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


def _search(source: Source, start: int, direction: str, depth: int, *, possible: bool) -> _Walk:
    """Follow derivations breadth first; ``levels`` keeps the shortest distance of each version."""
    here, there = ("output", "input") if direction == UP else ("input", "output")
    sign = -1 if direction == UP else 1
    walk = _Walk({start: 0})
    frontier, level = [start], 0
    while frontier and (depth == 0 or level < depth):
        level += 1
        following: list[int] = []
        steps = _steps(source, here, frontier)
        if possible:
            steps += _possible_steps(source, here, frontier, {(o, i) for o, i, _, _ in steps})
        for output, given, confidence, moved in steps:
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


def _possible_steps(
    source: Source, here: str, versions: Iterable[int], proved: Collection[tuple[int, int]]
) -> list[tuple[int, int, str, int | None]]:
    """Return what one attempt read before it last wrote, where no path proves that it went into the output.

    Nothing of this is stored: there would be a row for nearly every pair of files of a task.
    """
    rows = select_in(source, _POSSIBLE[here], versions)
    pairs = {(int(o), int(i)): moved for o, i, moved in rows}
    return [(*pair, "possible", pairs[pair]) for pair in sorted(pairs.keys() - set(proved))]


def _graph(
    source: Source, walk: _Walk, start: int, direction: str, others: Iterable[Source]
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
    else:
        _add_origins(walk, nodes, edges, origins(versions.values(), others))
    _add_bytes(source, edges)
    return tuple(nodes.values()), _with_declared(source, edges, versions)


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
    makers = attempt_makers(source, list(dict.fromkeys(row[1] for row in rows)))
    for version, attempt, moved in sorted(rows, key=lambda row: (row[0], row[1])):
        maker = makers[f"a{attempt}"]
        nodes.setdefault(maker.id, _maker_node(maker, walk.levels[version] + 1))
        key = (f"v{version}", maker.id, "used")
        edges.setdefault(key, Edge(*key, int(moved or 0), "proved"))


def _add_origins(
    walk: _Walk, nodes: dict[str, Node], edges: dict[tuple[str, str, str], Edge], found: dict[int, Origin]
) -> None:
    """Add the makers of content from before the run that another run made."""
    for number, origin in found.items():
        maker = origin.maker
        nodes.setdefault(maker.id, _maker_node(maker, walk.levels[number]))
        key = (maker.id, f"v{number}", "generated")
        edges[key] = Edge(*key, origin.fact.bytes_written, origin.fact.maker_confidence)


def _add_bytes(source: Source, edges: dict[tuple[str, str, str], Edge]) -> None:
    """Give used edges the bytes that the whole attempt read, where the accesses tell."""
    used = [edge for edge in edges.values() if edge.relation == "used" and edge.target.startswith("a")]
    rows = select_in(source, _READERS, [int(edge.source[1:]) for edge in used])
    read = {(f"v{version}", f"a{attempt}"): int(moved or 0) for version, attempt, moved in rows}
    for edge in used:
        moved = read.get((edge.source, edge.target), edge.bytes)
        edges[edge.source, edge.target, "used"] = replace(edge, bytes=moved)


def _with_declared(
    source: Source, edges: dict[tuple[str, str, str], Edge], versions: dict[int, VersionFact]
) -> tuple[Edge, ...]:
    """Return the edges, used and generated ones with whether their attempt declares the file."""
    attempts = {
        end[1:] for edge in edges.values() for end in (edge.source, edge.target) if end.startswith("a")
    }
    known_declarations = declarations(source, sorted(attempts))

    def declared(edge: Edge) -> bool | None:
        version, attempt = (
            (edge.target, edge.source) if edge.relation == "generated" else (edge.source, edge.target)
        )
        fact = versions[int(version[1:])]
        own = edge.relation == "used" and fact.maker_id == attempt
        return None if own else is_declared(known_declarations, attempt[1:], fact.names)

    return tuple(
        edge if edge.relation == "derived" else replace(edge, declared=declared(edge))
        for edge in edges.values()
    )


def _version_node(fact: VersionFact, level: int, asked: bool) -> Node:  # noqa: FBT001
    detail: dict[str, Any] = {
        **path_json(fact.path), "ordinal": fact.ordinal, "size": fact.size, "closed_ns": fact.closed_ns,
        "ended": fact.ended, "external": not fact.maker_id, "digest": fact.digest or None,
    }  # fmt: skip
    return Node(f"v{fact.version}", "file version", path_text(fact.path), level, detail, asked)


def _maker_node(maker: MakerFact, level: int) -> Node:
    return Node(maker.id, maker.type, maker.label, level, maker.detail)
