"""One file's story in sentences."""

from __future__ import annotations

from pathlib import Path

import pytest

from provio.query.paths import resolve
from provio.query.why import why
from provio.report.text import Style
from provio.report.why import sentences, why_lines
from support.answers import CWD, T0, S, Story, seismic

GOLDEN = Path(__file__).parents[2] / "golden" / "answers"


def story_of(file: str, story: Story | None = None) -> str:
    source = (story or seismic()).sqlite()
    return "\n".join(sentences(why(source, resolve(source, file, CWD)), base=CWD.encode()))


@pytest.mark.parametrize("file", ["fig.png", "stack.h5", "work/a.h5", "raw/a.dat"])
def test_story_is_the_reviewed_one(file: str) -> None:
    golden = GOLDEN / f"why.{file.replace('/', '_')}.txt"
    assert story_of(file) == golden.read_text().rstrip("\n")


def test_story_names_rule_wildcards_try_program_and_evidence() -> None:
    shown = story_of("work/a.h5")
    assert "was written by task convert with sample=a, try 1" in shown
    assert "`convert raw/a.dat work/a.h5` (process 5010)" in shown
    assert "because it carried the attempt's id from its start" in shown
    assert "this is proved" in shown


def test_undeclared_input_is_marked() -> None:
    assert "- site/calib.txt: 500 B read, there before this run, or made unseen, not declared" in story_of(
        "work/a.h5"
    )


def test_story_of_a_file_without_seen_inputs_does_not_claim_that_there_are_none() -> None:
    story = seismic()
    story.rows["derivations"].clear()
    assert "No input was seen to flow into it: as recorded" in story_of("fig.png", story)


def test_contradicting_evidence_is_told() -> None:
    story = seismic()
    row = next(row for row in story.rows["attributions"] if row["epoch"] == 13)
    row["contradictions"] = '[["cgroup", "deadbeef00", "cgroup 77"]]'
    assert "But 1 piece of evidence disagree: cgroup names deadbeef (cgroup 77)." in story_of(
        "stack.h5", story
    )


def test_file_written_by_nobodys_process_is_told_with_its_program() -> None:
    story = Story()
    story.process(4, None, ["tee", "x"], scope="unattributed")
    story.file(0, "x")
    story.version(0, 0, 4, 1)
    shown = story_of("x", story)
    assert "was written by a process that no task owns (tee x)" in shown
    assert "No evidence ties that process to a task." in shown


def test_file_of_a_running_try_may_still_change() -> None:
    story = seismic()
    story.state, story.as_of = "running", T0 + 30 * S
    next(row for row in story.rows["attempts"] if row["task"] == 3)["state"] = "running"
    shown = story_of("fig.png", story)
    assert "is still running, so the file may still change" in shown
    assert "this is the answer as of" in shown


def test_content_that_is_gone_is_told_so() -> None:
    story = seismic()
    story.rows["versions"][7]["ended"] = "unlinked"
    assert "This content no longer exists: it was deleted." in story_of("fig.png", story)


def test_many_inputs_are_cut_with_their_number() -> None:
    story = seismic()
    for number in range(100, 150):
        story.file(number, f"in{number}")
        story.version(number, number)
        story.derive(7, number, 1)
    shown = story_of("fig.png", story)
    assert "It was made from 51 files:" in shown
    assert "… and 39 more files (--json lists all)" in shown


def test_lines_fit_the_width() -> None:
    source = seismic().sqlite()
    answer = why(source, resolve(source, "stack.h5", CWD))
    assert all(len(line) <= 72 for line in why_lines(answer, Style(width=72), CWD.encode()))
