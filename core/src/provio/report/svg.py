"""Lineage as one self-contained SVG: no script, no font, no link; light and dark by the viewer's setting.

Left to right in the direction of the data. Files are boxes, tasks are rounded;
the asked file and the way to it are in the accent colour, the rest is grey;
undeclared use is orange, a failed task red, what is only possible dashed.
Every label is also a ``<title>`` in full.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from provio.query.lineage import UP, Edge, LineageAnswer, Node
from provio.report.layout import Layout, layered
from provio.report.lineage import edge_tooltip, node_label, tooltip
from provio.report.text import duration, shortened, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_CHAR = 7.0
_HEIGHT, _ROW, _GAP, _MARGIN, _HEAD = 38, 58, 90, 24, 52
_LABEL = 44
_FILE = "file version"

_LIGHT = {
    "page": "#ffffff", "ink": "#1c2733", "soft": "#5b6b7b", "line": "#aab6c2", "file": "#f3f6f9",
    "task": "#e7eefc", "accent": "#0b62c4", "asked": "#dcebff", "bad": "#b3261e", "warn": "#b45f06",
}  # fmt: skip
_DARK = {
    "page": "#14191f", "ink": "#e6ebf0", "soft": "#9fb0c0", "line": "#55636f", "file": "#202932",
    "task": "#1d2b44", "accent": "#7db4ff", "asked": "#17345c", "bad": "#ff8a80", "warn": "#ffb74d",
}  # fmt: skip
_COLORS = """
.page {{ fill: {page}; }}
.label, .head {{ fill: {ink}; }}
.sub {{ fill: {soft}; }}
.node rect {{ stroke: {line}; fill: {file}; }}
.task rect {{ fill: {task}; }}
.way rect {{ stroke: {accent}; }}
.failed rect {{ stroke: {bad}; }}
.asked rect {{ fill: {asked}; stroke: {accent}; }}
.edge path {{ stroke: {line}; }}
.way path {{ stroke: {accent}; }}
.undeclared path {{ stroke: {warn}; }}
.tip {{ fill: {line}; }}
.tip-way {{ fill: {accent}; }}
.tip-undeclared {{ fill: {warn}; }}
"""
"""Written out twice rather than with CSS variables, which librsvg and Inkscape do not know."""

_SHAPES = """
svg { font-family: system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif; }
.label { font-size: 12px; }
.sub { font-size: 10px; }
.head { font-size: 15px; font-weight: 600; }
.node rect { stroke-width: 1; }
.asked rect { stroke-width: 2.5; }
.asked .label { font-weight: 600; }
.edge path { fill: none; stroke-width: 1.2; }
.way path { stroke-width: 1.8; }
.possible path { stroke-dasharray: 6 4; }
.derived path { stroke-dasharray: 2 3; }
.edge:hover path { stroke-width: 3; }
.node:hover rect { stroke-width: 2.5; }
"""


def _style() -> str:
    dark = _COLORS.format(**_DARK)
    return f"{_SHAPES}{_COLORS.format(**_LIGHT)}@media (prefers-color-scheme: dark) {{{dark}}}\n"


@dataclass(frozen=True, slots=True)
class _Place:
    """A node's box."""

    x: float
    y: float
    width: float
    column: float
    """Width of its layer: edges leave from the layer's right side, so that they pass no wider box."""

    @property
    def middle(self) -> float:
        return self.y + _HEIGHT / 2


def svg(answer: LineageAnswer, base: bytes = b"") -> str:
    """Return the picture of a lineage."""
    edges = drawn_edges(answer)
    layout = layered([node.id for node in answer.nodes], [(edge.source, edge.target) for edge in edges])
    nodes = {node.id: node for node in answer.nodes}
    places = _places(layout, nodes, base)
    way = _way(answer, edges)
    width = max((p.x + p.width for p in places.values()), default=0) + _MARGIN
    height = max((p.y + _HEIGHT for p in places.values()), default=0) + _MARGIN
    width = max(width, 2 * _MARGIN + 9 * len(_heading(answer, base)))
    body = [_edge(edge, layout, places, way=edge.source in way and edge.target in way) for edge in edges]
    body += [
        _node(nodes[name], place, base, way=name in way) for name, place in places.items() if name in nodes
    ]
    return _document(answer, base, width, height, body)


def _document(answer: LineageAnswer, base: bytes, width: float, height: float, body: Iterable[str]) -> str:
    title = escape(_heading(answer, base))
    legend = (
        f"run {answer.run.id[:8]} · boxes: files, rounded: tasks, orange: not declared · hover for details"
    )
    extent = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    name = quoteattr(_heading(answer, base))
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" {extent} role="img" aria-label={name}>',
        f"<title>{title}</title>",
        f"<style>{_style()}</style>",
        f"<defs>{''.join(map(_arrow, ('tip', 'tip-way', 'tip-undeclared')))}</defs>",
        f'<rect class="page" width="{width:.0f}" height="{height:.0f}"/>',
        f'<text class="head" x="{_MARGIN}" y="26">{title}</text>',
        f'<text class="sub" x="{_MARGIN}" y="42">{escape(legend)}</text>',
        *body,
        "</svg>",
        "",
    ])  # fmt: skip


def _heading(answer: LineageAnswer, base: bytes) -> str:
    asked = next(node for node in answer.nodes if node.asked)
    what = "What {} was made from" if answer.direction == UP else "What was made from {}"
    return what.format(shortened(node_label(asked, base), 60))


def _arrow(kind: str) -> str:
    return (
        f'<marker id="{kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto">'
        f'<path class="{kind}" d="M0,0.8 L8,4 L0,7.2 z"/></marker>'
    )


def drawn_edges(answer: LineageAnswer) -> list[Edge]:
    """Return the edges to draw: a derivation is left out where its task shows the way.

    A task's use of what it made itself would be a loop: there the derivation is drawn.
    """
    maker = {edge.target: edge.source for edge in answer.edges if edge.relation == "generated"}
    used = {(edge.source, edge.target) for edge in answer.edges if edge.relation == "used"}
    drawn = []
    for edge in answer.edges:
        if edge.relation == "used" and maker.get(edge.source) == edge.target:
            continue
        through = maker.get(edge.target, "")
        shown = (edge.source, through) in used and maker.get(edge.source) != through
        if edge.relation != "derived" or not shown:
            drawn.append(edge)
    return drawn


def _way(answer: LineageAnswer, edges: Iterable[Edge]) -> set[str]:
    """Return the nodes on a way between the asked file and the ends, in the direction asked."""
    following: dict[str, list[str]] = {}
    for edge in edges:
        source, target = (edge.target, edge.source) if answer.direction == UP else (edge.source, edge.target)
        following.setdefault(source, []).append(target)
    found, queue = {answer.asked}, [answer.asked]
    for name in queue:
        for other in following.get(name, ()):
            if other not in found:
                found.add(other)
                queue.append(other)
    return found


def _places(layout: Layout, nodes: Mapping[str, Node], base: bytes) -> dict[str, _Place]:
    """Give every node and bend its box; a layer is as wide as its widest label."""
    places = {}
    x = float(_MARGIN)
    for layer in layout.layers:
        widths = {name: _width(nodes[name], base) for name in layer if name in nodes}
        column = max(widths.values(), default=0.0)
        for name in layer:
            y = _HEAD + _MARGIN / 2 + layout.position[name] * _ROW
            places[name] = _Place(x, y, widths.get(name, column), column)
        x += column + _GAP
    return places


def _width(node: Node, base: bytes) -> float:
    return 22 + _CHAR * max(len(shortened(node_label(node, base), _LABEL)), len(_sub(node)) * 0.82)


def _sub(node: Node) -> str:
    """Return the second line in a box."""
    detail = node.detail
    if node.type == _FILE:
        return size(detail["size"]) + (" · from before the run" if detail["external"] else "")
    if node.type != "attempt":
        return node.type
    began, ended = detail["started_ns"], detail["ended_ns"]
    took = f" · {duration(ended - began)}" if began and ended else ""
    return f"{detail['state']}{took}"


def _node(node: Node, place: _Place, base: bytes, *, way: bool) -> str:
    classes = ["node", "file" if node.type == _FILE else "task"]
    classes += [name for name, holds in (("asked", node.asked), ("way", way)) if holds]
    classes += ["failed"] if node.detail.get("state") == "failed" else []
    radius = 4 if node.type == _FILE else _HEIGHT / 2
    label = shortened(node_label(node, base), _LABEL)
    return (
        f'<g class="{" ".join(classes)}"><title>{escape(tooltip(node))}</title>'
        f'<rect x="{place.x:.1f}" y="{place.y:.1f}" width="{place.width:.1f}" '
        f'height="{_HEIGHT}" rx="{radius:.0f}"/>'
        f'<text class="label" x="{place.x + 11:.1f}" y="{place.y + 16:.1f}">{escape(label)}</text>'
        f'<text class="sub" x="{place.x + 11:.1f}" y="{place.y + 30:.1f}">{escape(_sub(node))}</text></g>'
    )


def _edge(edge: Edge, layout: Layout, places: Mapping[str, _Place], *, way: bool) -> str:
    classes = ["edge", edge.relation, *(["way"] if way else [])]
    classes += ["possible"] if edge.confidence != "proved" else []
    classes += ["undeclared"] if edge.declared is False else []
    route = [places[name] for name in layout.routes[edge.source, edge.target]]
    marker = "tip-undeclared" if edge.declared is False else "tip-way" if way else "tip"
    return (
        f'<g class="{" ".join(classes)}"><title>{escape(edge_tooltip(edge))}</title>'
        f'<path d="{_path(route)}" marker-end="url(#{marker})"/></g>'
    )


def _path(route: list[_Place]) -> str:
    """Draw from the right edge of the first box to the left edge of the last, level through bends."""
    start = route[0]
    x, y = start.x + start.column, start.middle
    parts = [f"M{start.x + start.width:.1f},{y:.1f}", f"L{x:.1f},{y:.1f}"]
    for place in route[1:]:
        half = max(18.0, abs(place.x - x) / 2)
        parts.append(
            f"C{x + half:.1f},{y:.1f} {place.x - half:.1f},{place.middle:.1f} "
            f"{place.x:.1f},{place.middle:.1f}"
        )
        x, y = place.x, place.middle
        if place is not route[-1]:
            x += place.column
            parts.append(f"L{x:.1f},{y:.1f}")
    return " ".join(parts)
