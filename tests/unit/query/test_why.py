"""One file's story, as facts."""

from __future__ import annotations

import json
from collections.abc import Callable

from provio.query.paths import resolve
from provio.query.why import WhyAnswer, why
from support.answers import CWD, RUN, T0, Answers, S, Story, attempt_id, seismic

Held = Callable[[Story], Answers]


def ask(source: Answers, file: str) -> WhyAnswer:
    return why(source, resolve(source, file, CWD))


def test_writer_is_the_try_that_succeeded_with_its_program_and_evidence(held: Held) -> None:
    answer = ask(held(seismic()), "stack.h5")
    assert answer.maker is not None
    assert (answer.maker.detail["logical"], answer.maker.detail["ordinal"]) == ("stack", 2)
    assert answer.program is not None
    assert answer.program.argv == ("python3", "stack.py")
    assert (answer.program.method, answer.program.confidence) == ("live", "proved")
    assert answer.program.evidence[0][:2] == ("live", attempt_id("S2"))


def test_inputs_come_with_bytes_makers_and_whether_they_were_declared(held: Held) -> None:
    answer = ask(held(seismic()), "work/a.h5")
    found = {
        item.fact.path.decode().rpartition("/")[2]: (item.bytes, item.maker, item.declared)
        for item in answer.inputs
    }
    assert found == {"a.dat": (1000, None, True), "calib.txt": (500, None, False)}
    stack = ask(held(seismic()), "stack.h5")
    assert {item.maker.label for item in stack.inputs if item.maker} == {
        "convert:sample=a",
        "convert:sample=b",
    }


def test_former_names_are_told(held: Held) -> None:
    assert f"{CWD}/stack.h5.tmp".encode() in ask(held(seismic()), "stack.h5").names


def test_name_of_another_content_in_a_reused_inode_is_no_former_name(held: Held) -> None:
    story = seismic()
    story.rows["files"][7]["paths"] = json.dumps([f"{CWD}/other.tmp", f"{CWD}/fig.png"])
    assert ask(held(story), "fig.png").names == ()


def test_content_of_the_failed_try_is_told_with_its_end(held: Held) -> None:
    (earlier,) = ask(held(seismic()), "stack.h5").earlier
    assert earlier.maker is not None
    assert (earlier.maker.detail["state"], earlier.fact.ended) == ("failed", "unlinked")


def test_what_the_engine_did_to_it_is_told(held: Held) -> None:
    (act,) = ask(held(seismic()), "stack.h5").engine_acts
    assert (act.action, act.at_ns) == ("delete", T0 + 7 * S)


def test_readers_since_are_told_but_not_the_writer_itself(held: Held) -> None:
    story = seismic()
    story.access(14, 7, "read", 7, 10)
    readers = ask(held(story), "fig.png").readers
    assert [(reader.label, reader.bytes) for reader in readers] == [("a process that no task owns", 700)]


def test_only_gaps_that_could_change_the_answer_come_along(held: Held) -> None:
    source = held(seismic())
    assert [gap.kind for gap in ask(source, "stack.h5").gaps] == ["engine-not-traced", "killed"]
    assert [gap.kind for gap in ask(source, "fig.png").gaps] == ["engine-not-traced"]


def test_possible_inputs_are_kept_apart_from_proved_ones(held: Held) -> None:
    answer = ask(held(seismic()), "fig.png")
    assert [item.confidence for item in answer.inputs] == ["proved"]
    assert [item.fact.path for item in answer.possible] == [f"{CWD}/deep/er/a.h5".encode()]


def test_file_from_before_the_run_has_readers_but_no_maker(held: Held) -> None:
    answer = ask(held(seismic()), "raw/a.dat")
    assert (answer.maker, answer.program, answer.inputs) == (None, None, ())
    assert [reader.label for reader in answer.readers] == ["convert:sample=a"]


def test_json_is_versioned_and_complete(held: Held) -> None:
    document = json.loads(json.dumps(ask(held(seismic()), "stack.h5").to_json()))
    assert document["version"] == 1
    assert document["run"]["id"] == RUN
    assert document.keys() == {
        "version", "run", "file", "now", "maker", "origin", "program", "inputs", "possible_inputs", "readers",
        "earlier",
        "engine_acts", "gaps", "coverage",
    }  # fmt: skip
