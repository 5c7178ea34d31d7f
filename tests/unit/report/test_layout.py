"""The geometry of graphs."""

from __future__ import annotations

import itertools
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from provio.report.layout import Layout, layered

EDGES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=40)


def level(layout: Layout) -> dict[str, int]:
    return {name: index for index, layer in enumerate(layout.layers) for name in layer}


def test_edges_point_to_higher_layers() -> None:
    found = level(layered(["a", "b", "c", "d"], [("a", "b"), ("b", "c"), ("a", "c"), ("d", "c")]))
    assert (found["a"], found["b"], found["c"]) == (0, 1, 2)
    assert found["d"] == 1, "a source stands next to its use"


def test_long_edges_bend_in_every_layer_they_cross() -> None:
    layout = layered(["a", "b", "c"], [("a", "b"), ("b", "c"), ("a", "c")])
    assert len(layout.routes["a", "c"]) == 3


def test_crossings_are_removed_where_they_can_be() -> None:
    layout = layered(["a1", "a2", "b1", "b2"], [("a1", "b2"), ("a2", "b1")])
    place = layout.position
    assert (place["a1"] < place["a2"]) == (place["b2"] < place["b1"])


@settings(max_examples=60)
@given(EDGES)
def test_any_graph_has_every_node_once_spaced_and_every_route_whole(pairs: list[tuple[int, int]]) -> None:
    nodes = [str(number) for number in range(13)]
    edges = [(str(a), str(b)) for a, b in pairs]
    layout = layered(nodes, edges)
    placed = [name for layer in layout.layers for name in layer]
    assert sorted(name for name in placed if not name.startswith("\0")) == sorted(nodes)
    for layer in layout.layers:
        places = [layout.position[name] for name in layer]
        assert all(b - a > 0.999 for a, b in itertools.pairwise(places))
    for (source, target), route in layout.routes.items():
        assert (route[0], route[-1]) == (source, target)
        steps = [level(layout)[name] for name in route]
        assert {b - a for a, b in itertools.pairwise(steps)} in ({1}, {-1})


def test_a_thousand_nodes_are_laid_out_within_seconds() -> None:
    nodes = [str(number) for number in range(1000)]
    edges = [
        (str(a), str(100 * (a // 100 + 1) + (a * 7 + k * 13) % 100)) for a in range(900) for k in range(6)
    ]
    begin = time.process_time()
    layered(nodes, edges)
    assert time.process_time() - begin < 5
