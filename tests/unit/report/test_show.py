"""The answer of show as lines."""

from __future__ import annotations

from provio.query.files import files_of, findings
from provio.query.show import show
from provio.report.show import attempt_lines, finding_lines, show_lines
from provio.report.text import Style
from support.answers import CWD, T0, S, Story, attempt_id, seismic

STYLE = Style(width=120)


def lines(story: Story, **options: bool) -> str:
    return "\n".join(show_lines(show(story.sqlite()), STYLE, **options))


def test_every_try_has_its_row_with_state_time_and_bytes() -> None:
    rows = [line.split() for line in lines(seismic()).splitlines()]
    assert [
        "stack",
        "1",
        "failed",
        "(1)",
        "2",
        "s",
        "1",
        "s",
        "64",
        "MiB",
        "25.0",
        "%",
        "500",
        "B",
        "100",
        "B",
        "1/1",
    ] in rows
    assert any(row[:3] == ["stack", "2", "succeeded"] for row in rows)


def test_both_coverage_numbers_and_the_gaps_close_the_answer() -> None:
    shown = lines(seismic())
    assert "Coverage: attributed 95.0 % (of 100 recorded operations), seen 99.9 %" in shown
    assert "engine-not-traced: the engine's own I/O is not recorded" in shown


def test_unknown_values_are_question_marks_and_no_blanks() -> None:
    story = Story()
    story.task(0, "sort", "sort:")
    story.attempt("X", 0, 1, 2, state="running", ended_ns=0, cpu_user_ns=-1, max_rss_bytes=-1, io_time_ns=-1)
    row = next(line for line in lines(story).splitlines() if line.startswith("sort"))
    assert row.split() == ["sort", "1", "running", "?", "?", "?", "?", "0", "B", "0", "B", "0/0"]


def test_running_run_says_as_of_when() -> None:
    story = seismic()
    story.state, story.as_of = "running", T0 + 5 * S
    assert "as of" in lines(story)
    assert "still running" in lines(story)


def test_run_without_tasks_says_so() -> None:
    assert "No task began in this run" in lines(Story())


def test_many_attempts_are_summed_up_by_rule_unless_all_are_asked_for() -> None:
    story = Story()
    for number in range(100):
        story.task(number, "sort", f"sort:n={number}")
        story.attempt(f"{number:03}", number, 1, 2, state="failed" if number == 7 else "succeeded")
    summed = lines(story)
    assert "99 succeeded, 1 failed" in summed
    assert "100 attempts; --all lists each" in summed
    assert "sort:n=42" not in summed
    assert "sort:n=42" in lines(story, every=True)


def test_inner_tries_are_numbered_within_the_outer_one() -> None:
    story = Story()
    story.task(0, "run", "run:")
    outer = story.attempt("O", 0, 1, 9)
    story.attempt("I", 0, 2, 3, state="failed", parent=outer)
    story.attempt("J", 0, 4, 5, ordinal=2, parent=outer)
    assert sorted(line.split()[1] for line in lines(story).splitlines() if line.startswith("run")) == [
        "1",
        "1.1",
        "1.2",
    ]


def test_same_kinds_of_gap_are_one_line_with_their_sum() -> None:
    story = seismic()
    for number in range(30):
        story.add("gaps", kind="killed", scope=f"image:{number}", count=2, detail=f"program {number}")
    (line,) = [line for line in lines(story).splitlines() if "killed" in line]
    assert "(61 times)" in line
    assert "(and 30 more)" in line


def test_run_without_gaps_says_that_none_was_reported() -> None:
    story = seismic()
    story.rows["gaps"].clear()
    assert "Gaps: none reported." in lines(story)


def test_findings_name_file_task_and_what_is_wrong() -> None:
    source = seismic().sqlite()
    shown = finding_lines(findings(source), show(source).tasks, CWD.encode(), STYLE)
    assert "  read but not declared: site/calib.txt  by convert:sample=a, 500 B" in shown
    assert "  declared as input but never read: legend.txt  by plot" in shown


def test_finding_of_several_tasks_is_one_line() -> None:
    story = seismic()
    story.access(11, 2, "read", 2, 300)
    source = story.sqlite()
    shown = finding_lines(findings(source), show(source).tasks, CWD.encode(), STYLE)
    assert "  read but not declared: site/calib.txt  by convert (2 tasks), 800 B" in shown


def test_many_findings_are_cut_with_their_number_unless_all_are_asked_for() -> None:
    story = seismic()
    for number in range(100, 160):
        story.file(number, f"more{number}")
        story.access(10, number, "read", -1, 1)
    source = story.sqlite()
    found, tasks = findings(source), show(source).tasks
    assert finding_lines(found, tasks, b"", STYLE)[-1] == "  … and 22 files more (--all lists them)"
    assert len(finding_lines(found, tasks, b"", STYLE, every=True)) == 63


def test_engine_that_declares_nothing_is_not_said_to_agree() -> None:
    (line,) = finding_lines([], [], b"", STYLE, declares=False)
    assert "nothing to compare" in line


def test_no_finding_is_said_and_limited_to_what_was_seen() -> None:
    assert finding_lines([], [], b"", STYLE) == ["Declared and observed files agree, as far as was seen."]


def test_attempt_lists_its_files_with_their_status_and_counts_the_noise() -> None:
    source = seismic().sqlite()
    answer = show(source, task="convert:sample=a")
    (task,) = answer.tasks
    (files,) = files_of(source, [attempt_id("A1")])
    shown = "\n".join(attempt_lines(task, task.attempts[0], files, CWD.encode(), STYLE))
    assert "undeclared read" in shown
    assert "left out: 1 library" in shown
    assert "missing.cfg" in shown


def test_colours_change_no_text() -> None:
    import re

    colored = "\n".join(show_lines(show(seismic().sqlite()), Style(color=True, width=120)))
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == lines(seismic())
