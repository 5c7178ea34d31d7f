"""The answer of ``lineage`` as a text tree, DOT and Mermaid. The picture is in ``svg``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from provio.query.files import in_engine_place
from provio.query.lineage import UP, Edge, LineageAnswer, Node
from provio.query.paths import path_text
from provio.report.coverage import coverage_lines
from provio.report.text import Style, clock, duration, plural, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FILE = "file version"


@dataclass(slots=True)
class _Tree:
    """What the tree walk needs: neighbours in the direction asked."""

    answer: LineageAnswer
    style: Style
    base: bytes
    nodes: dict[str, Node]
    makers: dict[str, Edge] = field(default_factory=dict)
    """file version -> the edge from its maker."""
    derived: dict[str, list[Edge]] = field(default_factory=dict)
    used: dict[str, list[Edge]] = field(default_factory=dict)
    """file version -> edges to those who read it."""
    shown: set[str] = field(default_factory=set)


def tree_lines(answer: LineageAnswer, style: Style, base: bytes = b"") -> list[str]:
    """Return the lineage as an indented tree with the asked file on top."""
    tree = _tree(answer, style, base)
    what = "was made from" if answer.direction == UP else "went into"
    head = f"{style.title(path_text(answer.file, base))} {what}:"
    body = list(_version(tree, answer.asked, "", None, last=True, top=True))
    if len(body) == 1:
        body.append(_nothing(answer))
    return [head, *body, *_footer(answer), *coverage_lines(answer.coverage, style)]


def _tree(answer: LineageAnswer, style: Style, base: bytes) -> _Tree:
    tree = _Tree(answer, style, base, {node.id: node for node in answer.nodes})
    for edge in answer.edges:
        if edge.relation == "generated":
            tree.makers[edge.target] = edge
        elif edge.relation == "used":
            tree.used.setdefault(edge.source, []).append(edge)
        else:
            tree.derived.setdefault(edge.target if answer.direction == UP else edge.source, []).append(edge)
    return tree


def _nothing(answer: LineageAnswer) -> str:
    node = next(node for node in answer.nodes if node.asked)
    if answer.direction != UP:
        return "   nobody was seen to read it"
    if node.detail["external"]:
        return "   it was there before this run, or something unseen wrote it"
    return "   no input was seen to flow into it"


def _footer(answer: LineageAnswer) -> Iterator[str]:
    if answer.more:
        again = answer.depth + 1
        marked = plural(len(answer.more), "file")
        yield f"{marked} marked … have more behind them: --depth {again}, or --depth 0 for all."
    if answer.hidden_possible:
        hidden = plural(answer.hidden_possible, "derivation")
        yield f"{hidden} possible but not proved (--possible shows them)."


def _version(
    tree: _Tree, node_id: str, prefix: str, via: Edge | None, *, last: bool, top: bool = False
) -> Iterator[str]:
    """Yield a file version and, the first time, what is behind it."""
    branch, below = (
        ("", "") if top else (prefix + ("└─ " if last else "├─ "), prefix + ("   " if last else "│  "))
    )
    again = node_id in tree.shown
    children = [] if again else _behind(tree, node_id)
    yield branch + _version_text(tree, node_id, via, again=again and bool(_behind(tree, node_id)))
    tree.shown.add(node_id)
    for index, (maker, edges) in enumerate(children):
        yield from _group(tree, maker, edges, below, last=index == len(children) - 1)


def _behind(tree: _Tree, node_id: str) -> list[tuple[str, list[Edge]]]:
    """Return the makers (up) or readers (down) of a version with the edges to follow from each."""
    derived = tree.derived.get(node_id, [])
    if tree.answer.direction == UP:
        maker = tree.makers.get(node_id)
        return [(maker.source if maker else "", derived)] if maker or derived else []
    groups: dict[str, list[Edge]] = {edge.target: [] for edge in tree.used.get(node_id, [])}
    for edge in derived:
        made = tree.makers.get(edge.target)
        groups.setdefault(made.source if made else "", []).append(edge)
    return list(groups.items())


def _group(tree: _Tree, maker: str, edges: list[Edge], prefix: str, *, last: bool) -> Iterator[str]:
    """Yield a maker and the versions behind it."""
    if maker:
        yield prefix + ("└─ " if last else "├─ ") + _maker_text(tree, maker)
        prefix += "   " if last else "│  "
    for index, edge in enumerate(edges):
        other = edge.source if tree.answer.direction == UP else edge.target
        yield from _version(tree, other, prefix, edge, last=index == len(edges) - 1)


def _version_text(tree: _Tree, node_id: str, via: Edge | None, *, again: bool) -> str:
    node, style = tree.nodes[node_id], tree.style
    text = style.paint(
        node.label if not tree.base else _relative(node, tree.base), "bold" if node.asked else "cyan"
    )
    facts = [size(node.detail["size"])] if node.detail["size"] is not None else []
    if via is not None and via.bytes is not None:
        facts.append(f"{size(via.bytes)} read")
    if node.detail["external"] and tree.answer.direction == UP and node_id not in tree.makers:
        own = in_engine_place(node_path(node))
        facts.append("the engine's own" if own else "from before the run, or unseen")
    if node.detail["ended"]:
        facts.append(node.detail["ended"])
    if via is not None and via.confidence != "proved":
        facts.append(style.paint(via.confidence, "yellow"))
    if _undeclared(tree, node_id, via):
        facts.append(style.paint("not declared", "yellow"))
    text += f"  ({', '.join(facts)})" if facts else ""
    if again:
        return f"{text}  (shown above)"
    return f"{text}  …" if node_id in tree.answer.more else text


def _undeclared(tree: _Tree, node_id: str, via: Edge | None) -> bool:
    """Tell whether the task between this version and the one it hangs from does not declare it."""
    if via is None:
        return False
    if tree.answer.direction == UP:
        maker = tree.makers.get(via.target)
        edges = [edge for edge in tree.used.get(node_id, ()) if maker and edge.target == maker.source]
    else:
        edges = [tree.makers[node_id]] if node_id in tree.makers else []
    return any(edge.declared is False for edge in edges)


def _relative(node: Node, base: bytes) -> str:
    return path_text(node_path(node), base)


def node_path(node: Node) -> bytes:
    """Return the path of a file version's node."""
    if "path_b64" in node.detail:
        from base64 import b64decode

        return b64decode(node.detail["path_b64"])
    return str(node.detail.get("path", node.label)).encode("utf-8", "surrogateescape")


def _maker_text(tree: _Tree, maker: str) -> str:
    node = tree.nodes[maker]
    text = f"{tree.style.title(node.label)}"
    if node.type != "attempt":
        return f"{text}  ({node.type})"
    began, ended = node.detail["started_ns"], node.detail["ended_ns"]
    took = f", took {duration(ended - began)}" if began and ended else ""
    return f"{text}  ({tree.style.state(node.detail['state'])} {clock(ended or began)}{took})"


def dot(answer: LineageAnswer, base: bytes = b"") -> str:
    """Return the graph in Graphviz' language."""
    lines = ["digraph lineage {", "  rankdir=LR;", '  node [fontname="sans-serif", fontsize=11];']
    lines += [f"  {_quoted(node.id)} [{_dot_node(node, base)}];" for node in answer.nodes]
    lines += [f"  {_quoted(e.source)} -> {_quoted(e.target)} [{_dot_edge(e)}];" for e in answer.edges]
    return "\n".join([*lines, "}"])


def _dot_node(node: Node, base: bytes) -> str:
    shape = "box" if node.type == _FILE else "ellipse"
    extra = ", penwidth=2, style=bold" if node.asked else ""
    return f"label={_quoted(node_label(node, base))}, shape={shape}, tooltip={_quoted(tooltip(node))}{extra}"


def _dot_edge(edge: Edge) -> str:
    color = ", color=orange" if edge.declared is False else ""
    style = "dotted" if edge.relation == "derived" else "solid"
    style = "dashed" if edge.confidence != "proved" else style
    label = (
        f", label={_quoted(size(edge.bytes))}"
        if edge.bytes is not None and edge.relation != "derived"
        else ""
    )
    return f"style={style}, tooltip={_quoted(edge_tooltip(edge))}{label}{color}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def mermaid(answer: LineageAnswer, base: bytes = b"") -> str:
    """Return the graph as a Mermaid flowchart."""
    short = {node.id: f"n{index}" for index, node in enumerate(answer.nodes)}
    lines = ["flowchart LR"]
    for node in answer.nodes:
        text = _mermaid_text(node_label(node, base))
        lines.append(f"  {short[node.id]}" + (f'["{text}"]' if node.type == _FILE else f'(["{text}"])'))
    for edge in answer.edges:
        arrow = "-.->" if edge.relation == "derived" or edge.confidence != "proved" else "-->"
        label = f"|{size(edge.bytes)}|" if edge.bytes is not None and edge.relation != "derived" else ""
        lines.append(f"  {short[edge.source]} {arrow}{label} {short[edge.target]}")
    lines += [f"  style {short[answer.asked]} stroke-width:3px"]
    return "\n".join(lines)


def _mermaid_text(text: str) -> str:
    """Escape with Mermaid's entity codes; its labels know no backslash."""
    return "".join(c if c.isalnum() or c in " ._-/=,()" else f"#{ord(c)};" for c in text)


def node_label(node: Node, base: bytes) -> str:
    """Return a node's text in a graph."""
    return _relative(node, base) if node.type == _FILE else node.label


def tooltip(node: Node) -> str:
    """Return everything about a node in a few lines."""
    detail = node.detail
    if node.type == _FILE:
        lines = [path_text(node_path(node)), f"size {size(detail['size'])}"]
        lines.append(
            "there before the run, or made unseen"
            if detail["external"]
            else f"completed {clock(detail['closed_ns'])}"
        )
        return "\n".join([*lines, *([detail["ended"]] if detail["ended"] else [])])
    if node.type == "attempt":
        return "\n".join(_attempt_tooltip(node))
    return node.label


def _attempt_tooltip(node: Node) -> Iterable[str]:
    detail = node.detail
    began, ended = detail["started_ns"], detail["ended_ns"]
    yield f"{detail['physical'].rstrip(':')}, try {detail['ordinal']}: {detail['state']}"
    yield f"began {clock(began)}" + (f", took {duration(ended - began)}" if began and ended else "")
    yield f"attempt {detail['attempt']}"


def edge_tooltip(edge: Edge) -> str:
    """Return what an edge states."""
    moved = f", {size(edge.bytes)}" if edge.bytes is not None else ""
    undeclared = ", not declared" if edge.declared is False else ""
    return f"{edge.relation}{moved} ({edge.confidence}{undeclared})"
