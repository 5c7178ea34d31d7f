"""A parent's byte counts without what Linux adds to them for the children that it waited for."""

from __future__ import annotations

from provio.model.evidence import Image
from provio.pipeline.images import _take_out_children


def image(
    number: int, pid: int, parent: int, span: tuple[int, int], rchar: int, ended: str = "exit"
) -> Image:
    return Image(
        image=number, pid=pid, ppid=0, nspid=pid, start_ticks=pid, execs=0, boot="b", host="h", parent=parent,
        forked=True, since=span[0], until=span[1], carried="", carried_run="", rchar=rchar, wchar=0,
        ended=ended,
    )  # fmt: skip


def read(*images: Image) -> list[int]:
    found = list(images)
    _take_out_children(found, {})
    return [i.rchar for i in found]


def test_bytes_of_a_child_that_was_waited_for_are_the_childs_only() -> None:
    assert read(image(0, 1, -1, (0, 100), 150), image(1, 2, 0, (10, 50), 140)) == [10, 140]


def test_chain_of_parents_counts_each_byte_once() -> None:
    chain = (image(0, 1, -1, (0, 100), 160), image(1, 2, 0, (10, 50), 150), image(2, 3, 1, (20, 40), 140))
    assert read(*chain) == [10, 10, 140]


def test_all_programs_of_the_child_are_taken_out() -> None:
    child = (image(1, 2, 0, (10, 20), 5, "exec"), image(2, 2, 1, (20, 50), 140))
    assert read(image(0, 1, -1, (0, 100), 150), *child) == [5, 5, 140]


def test_child_that_outlives_its_parent_takes_nothing_from_it() -> None:
    assert read(image(0, 1, -1, (0, 30), 10), image(1, 2, 0, (10, 50), 140)) == [10, 140]


def test_program_that_the_parent_ran_when_the_child_ended_is_the_one_that_waited() -> None:
    parent = (image(0, 1, -1, (0, 30), 7, "exec"), image(1, 1, 0, (30, 100), 143))
    assert read(*parent, image(2, 2, 0, (10, 50), 140)) == [7, 3, 140]


def test_child_without_counts_leaves_its_parents_alone() -> None:
    assert read(image(0, 1, -1, (0, 100), 150), image(1, 2, 0, (10, 50), -1)) == [150, -1]


def test_count_never_falls_below_nothing() -> None:
    assert read(image(0, 1, -1, (0, 100), 10), image(1, 2, 0, (10, 50), 140)) == [0, 140]


def test_what_starting_the_child_cost_is_taken_out_with_its_bytes() -> None:
    found = [image(0, 1, -1, (0, 100), 5150), image(1, 2, 0, (10, 50), 140)]
    _take_out_children(found, {1: (5140, 0)})
    assert [i.rchar for i in found] == [10, 140]
