"""What a file was made from, and what was made from it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from provio.errors import UsageError
from provio.query.lineage import LineageAnswer, lineage
from provio.query.paths import resolve
from support.answers import CWD, Answers, Story, attempt_id, seismic

Held = Callable[[Story], Answers]


def ask(source: Answers, file: str, **options: object) -> LineageAnswer:
    return lineage(source, resolve(source, file, CWD), **options)  # type: ignore[arg-type]


def derived(answer: LineageAnswer) -> set[tuple[str, str]]:
    names = {node.id: node.label.rpartition("/")[2] for node in answer.nodes}
    return {(names[e.source], names[e.target]) for e in answer.edges if e.relation == "derived"}


def test_one_level_up_is_the_task_with_its_inputs(held: Held) -> None:
    answer = ask(held(seismic()), "stack.h5")
    assert derived(answer) == {("a.h5", "stack.h5"), ("b.h5", "stack.h5")}
    assert [node.label for node in answer.nodes if node.type == "attempt"] == ["stack (try 2)"]
    relations = sorted(edge.relation for edge in answer.edges)
    assert relations == ["derived", "derived", "generated", "used", "used"]


def test_edges_point_the_way_the_data_flowed_and_carry_bytes(held: Held) -> None:
    answer = ask(held(seismic()), "fig.png")
    edges = {edge.relation: edge for edge in answer.edges}
    maker = f"a{attempt_id('P1')}"
    assert (edges["used"].source, edges["used"].target, edges["used"].bytes) == ("v6", maker, 4000)
    assert (edges["generated"].source, edges["generated"].target, edges["generated"].bytes) == (
        maker,
        "v7",
        700,
    )
    assert (edges["derived"].source, edges["derived"].target) == ("v6", "v7")


def test_json_has_nodes_and_edges_as_the_specification_names_them(held: Held) -> None:
    document = ask(held(seismic()), "fig.png").to_json()
    assert all({"id", "type", "label"} <= node.keys() for node in document["nodes"])
    assert all(
        edge.keys() == {"source", "target", "relation", "bytes", "confidence", "declared"}
        for edge in document["edges"]
    )
    ids = {node["id"] for node in document["nodes"]}
    assert all(edge["source"] in ids and edge["target"] in ids for edge in document["edges"])


def test_depth_zero_goes_all_the_way(held: Held) -> None:
    answer = ask(held(seismic()), "fig.png", depth=0)
    assert ("calib.txt", "a.h5") in derived(answer)
    assert answer.more == ()


def test_files_at_the_limit_with_more_behind_them_are_named(held: Held) -> None:
    assert ask(held(seismic()), "fig.png").more == ("v6",)


def test_down_finds_what_was_made_by_which_try(held: Held) -> None:
    answer = ask(held(seismic()), "raw/a.dat", direction="down", depth=0)
    assert ("a.dat", "a.h5") in derived(answer)
    assert ("stack.h5", "fig.png") in derived(answer)
    assert {node.label for node in answer.nodes if node.type == "attempt"} == {
        "convert:sample=a", "stack", "stack (try 2)", "plot",
    }  # fmt: skip


def test_reader_that_made_nothing_of_it_is_still_shown_downward(held: Held) -> None:
    story = seismic()
    story.task(9, "check", "check:")
    story.process(30, story.attempt("C1", 9, 26, 27), ["cmp", "fig.png"])
    story.access(30, 7, "read", 7, 700)
    answer = ask(held(story), "fig.png", direction="down")
    assert [(e.relation, e.bytes) for e in answer.edges] == [("used", 700)]
    assert "check" in {node.label for node in answer.nodes}


def test_possible_derivations_are_counted_and_shown_only_when_asked(held: Held) -> None:
    source = held(seismic())
    assert ask(source, "fig.png").hidden_possible == 1
    shown = ask(source, "fig.png", possible=True)
    assert shown.hidden_possible == 0
    assert {edge.confidence for edge in shown.edges if edge.source == "v8"} == {"possible"}


def test_two_sorts_in_one_job_keep_their_inputs_apart(held: Held) -> None:
    story = Story()
    story.task(0, "sorts", "sorts:")
    owner = story.attempt("T", 0, 1, 2)
    for number, (given, output) in enumerate((("a", "b"), ("c", "d"))):
        story.process(number, owner, ["sort", given])
        story.file(2 * number, given)
        story.file(2 * number + 1, output)
        story.version(2 * number, 2 * number)
        story.version(2 * number + 1, 2 * number + 1, number, 2)
        story.access(number, 2 * number, "read", 2 * number, 10)
        story.derive(2 * number + 1, 2 * number, 10)
    answer = ask(held(story), "b")
    assert derived(answer) == {("a", "b")}
    assert {node.label.rpartition("/")[2] for node in answer.nodes} == {"a", "b", "sorts"}


def test_newest_content_is_meant_where_a_name_had_several(held: Held) -> None:
    assert ask(held(seismic()), "stack.h5").asked == "v6"


def test_file_that_was_only_looked_for_is_an_error(held: Held) -> None:
    with pytest.raises(UsageError, match="met no content"):
        ask(held(seismic()), "missing.cfg")


def test_content_from_before_the_run_has_no_maker(held: Held) -> None:
    answer = ask(held(seismic()), "raw/a.dat")
    assert [(node.type, node.detail["external"]) for node in answer.nodes] == [("file version", True)]
    assert answer.edges == ()


def test_maker_that_no_task_owns_is_a_process(held: Held) -> None:
    story = Story()
    story.process(4, None, ["tee", "x"], scope="unattributed")
    story.file(0, "x")
    story.version(0, 0, 4, 1)
    answer = ask(held(story), "x")
    assert [(node.id, node.label) for node in answer.nodes if node.type == "process"] == [("p4", "tee x")]


def test_maker_that_is_the_engine_is_named_so(held: Held) -> None:
    story = Story()
    story.process(4, None, ["snakemake"], scope="engine")
    story.file(0, "x")
    story.version(0, 0, 4, 1)
    assert [node.id for node in ask(held(story), "x").nodes if node.type == "engine"] == ["engine"]


def test_loop_between_versions_ends(held: Held) -> None:
    story = seismic()
    story.add("derivations", output=0, input=7, confidence="proved", bytes=1)
    assert len(ask(held(story), "fig.png", depth=0).nodes) == 11


def test_a_chain_of_a_thousand_levels_is_followed_to_its_begin(held: Held) -> None:
    story = Story()
    story.process(0, None, ["x"], scope="unattributed")
    for number in range(1000):
        story.file(number, f"f{number}")
        story.version(number, number, 0 if number else -1, number)
    for number in range(1, 1000):
        story.derive(number, number - 1, 1)
    assert len(derived(ask(held(story), "f999", depth=0))) == 999
