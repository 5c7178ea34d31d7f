"""Declared against observed."""

from __future__ import annotations

from collections.abc import Callable

from provio.query.files import FileUse, Status, files_of, findings
from support.answers import CWD, M0, Answers, Story, attempt_id, seismic

Held = Callable[[Story], Answers]


def one_task(*declared: tuple[str, ...]) -> Story:
    story = Story()
    story.task(0, "sort", "sort:")
    attempt = story.attempt("T", 0, 1, 2)
    for role, value, *flags in declared:
        story.declare(attempt, role, value, *flags)
    story.process(0, attempt, ["sort"])
    return story


def statuses(source: Answers) -> dict[str, Status]:
    (answer,) = files_of(source, [attempt_id("T")])
    return {use.path.decode().removeprefix(f"{CWD}/"): use.status for use in answer.files}


def test_undeclared_read_and_unread_input_of_the_run_are_found(held: Held) -> None:
    found = findings(held(seismic()))
    assert [(use.status, use.path.decode().rpartition("/")[2], use.attempt) for use in found] == [
        (Status.UNDECLARED_READ, "calib.txt", attempt_id("A1")),
        (Status.NEVER_READ, "legend.txt", attempt_id("P1")),
    ]


def test_declared_files_that_were_used_are_fine(held: Held) -> None:
    story = one_task(("input", "a"), ("output", "b"))
    for number, (name, operation) in enumerate((("a", "read"), ("b", "write"))):
        story.file(number, name)
        story.version(number, number, 0 if operation == "write" else -1, 1)
        story.access(0, number, operation, number, 5)
    source = held(story)
    assert statuses(source) == {"a": Status.DECLARED, "b": Status.DECLARED}
    assert findings(source) == []


def test_relative_declarations_are_taken_from_the_directory_of_the_attempt(held: Held) -> None:
    story = one_task(("input", "sub/../a"))
    story.file(0, "a")
    story.access(0, 0, "mapped-read", 0, 5)
    assert statuses(held(story)) == {"a": Status.DECLARED}


def test_declared_directory_covers_what_is_below_it(held: Held) -> None:
    story = one_task(("output", "out", "directory"))
    story.file(0, "out/x/y.txt")
    story.version(0, 0, 0, 1)
    story.access(0, 0, "write", 0, 5)
    assert statuses(held(story))["out/x/y.txt"] is Status.DECLARED
    assert findings(story.sqlite()) == []


def test_file_that_the_attempt_made_and_removed_is_its_scratch(held: Held) -> None:
    story = one_task(("output", "b"))
    story.file(0, "tmp.1")
    story.version(0, 0, 0, 1, ended="unlinked", until_mono=M0 + 10)
    story.access(0, 0, "write", 0, 5)
    assert statuses(held(story))["tmp.1"] is Status.SCRATCH


def test_undeclared_file_that_stays_is_a_finding(held: Held) -> None:
    story = one_task(("input", "a"))
    story.file(0, "extra.log")
    story.version(0, 0, 0, 1)
    story.access(0, 0, "write", 0, 5)
    assert statuses(held(story))["extra.log"] is Status.UNDECLARED_WRITE


def test_file_that_was_looked_for_and_absent_is_said_so(held: Held) -> None:
    story = one_task(("input", "a"))
    story.file(0, "missing", kind="absent")
    story.access(0, 0, "open", -1, err=2)
    assert statuses(held(story))["missing"] is Status.ABSENT


def test_file_whose_status_only_was_asked_for_is_no_undeclared_read(held: Held) -> None:
    story = one_task(("input", "a"))
    story.file(0, "other")
    story.access(0, 0, "stat", -1)
    assert statuses(held(story))["other"] is Status.LOOKED_AT


def test_input_that_was_only_looked_at_counts_as_never_read(held: Held) -> None:
    story = one_task(("input", "a"))
    story.file(0, "a")
    story.access(0, 0, "stat", -1)
    assert [(use.status, use.operations) for use in findings(held(story))] == [(Status.NEVER_READ, {})]


def test_failed_attempt_is_not_blamed_for_what_it_did_not_reach(held: Held) -> None:
    story = one_task(("input", "a"), ("output", "b"))
    story.rows["attempts"][0]["state"] = "failed"
    assert findings(held(story)) == []


def test_attempt_without_declarations_has_no_undeclared_files(held: Held) -> None:
    story = one_task()
    story.file(0, "a")
    story.access(0, 0, "read", 0, 5)
    source = held(story)
    assert statuses(source) == {"a": Status.UNKNOWN}
    assert findings(source) == []


def test_parameters_and_resources_are_no_files(held: Held) -> None:
    story = one_task(("param", "a"), ("resource", "4"), ("input", "b"))
    story.file(0, "a")
    story.access(0, 0, "read", 0, 5)
    assert statuses(held(story))["a"] is Status.UNDECLARED_READ


def inner_retries(*inner_declares: str) -> Story:
    """Return a story of an attempt T with two inner tries, the second of which reads a and x."""
    story = one_task(("input", "a"), ("output", "b"))
    outer = attempt_id("T")
    for name, ordinal, state in (("I", 1, "failed"), ("J", 2, "succeeded")):
        story.attempt(name, 0, 1, 2, ordinal=ordinal, state=state, parent=outer)
        for value in inner_declares:
            story.declare(attempt_id(name), "input", value)
    story.process(1, attempt_id("J"), ["sort"])
    for number, (name, operation) in enumerate((("a", "read"), ("x", "read"), ("b", "write"))):
        story.file(number, name)
        story.access(1, number, operation, number, 5)
    return story


def test_what_an_inner_try_used_counts_for_the_outer_one(held: Held) -> None:
    found = findings(held(inner_retries()))
    assert [(use.attempt, use.status) for use in found] == [(attempt_id("J"), Status.UNDECLARED_READ)]


def test_inner_tries_that_declare_the_same_do_not_repeat_the_finding(held: Held) -> None:
    story = inner_retries("a", "unread")
    story.declare(attempt_id("T"), "input", "unread")
    found = findings(held(story))
    assert sorted((use.status, use.attempt) for use in found) == sorted([
        (Status.UNDECLARED_READ, attempt_id("J")), (Status.UNDECLARED_WRITE, attempt_id("J")),
        (Status.NEVER_READ, attempt_id("T")),
    ])  # fmt: skip


def test_listing_a_directory_is_no_finding(held: Held) -> None:
    story = one_task(("input", "a"))
    story.file(0, "scripts", kind="directory")
    story.access(0, 0, "list", -1)
    assert statuses(held(story))["scripts"] is Status.LISTED


def test_copy_of_a_script_in_the_engines_own_directory_is_no_finding(held: Held) -> None:
    story = one_task(("input", "a"))
    story.file(0, ".snakemake/scripts/tmp1.x.py")
    story.access(0, 0, "read", 0, 5)
    assert statuses(held(story))[".snakemake/scripts/tmp1.x.py"] is Status.ENGINE_FILE


def test_noise_is_counted_and_not_listed(held: Held) -> None:
    (answer,) = files_of(held(seismic()), [attempt_id("A1")])
    assert answer.noise == {"library": 1}
    assert not any(b"libm" in use.path for use in answer.files)


def test_bytes_are_summed_over_the_processes_of_the_attempt(held: Held) -> None:
    story = one_task(("input", "a"))
    story.process(1, attempt_id("T"), ["sort", "child"])
    story.file(0, "a")
    story.access(0, 0, "read", 0, 5)
    story.access(1, 0, "read", 0, 7)
    (answer,) = files_of(held(story), [attempt_id("T")])
    (use,) = answer.files
    assert isinstance(use, FileUse)
    assert (use.bytes_read, use.operations) == (12, {"read": 4})


def test_file_is_matched_by_the_name_it_was_written_under(held: Held) -> None:
    story = one_task(("output", "final"))
    story.file(0, "moved", "final")
    story.version(0, 0, 0, 1)
    story.access(0, 0, "write", 0, 5, path=f"{CWD}/final".encode())
    assert statuses(held(story)) == {"moved": Status.DECLARED}


def test_reused_inode_is_told_under_the_name_of_each_content(held: Held) -> None:
    story = one_task(("input", "a"))
    story.file(0, "second", "a")
    story.version(0, 0, path=f"{CWD}/a".encode())
    story.version(1, 0, path=f"{CWD}/second".encode())
    story.access(0, 0, "read", 0, 5, path=f"{CWD}/a".encode())
    story.access(0, 0, "stat", -1, path=f"{CWD}/a".encode())
    source = held(story)
    assert statuses(source) == {"a": Status.DECLARED}
    assert findings(source) == []


def test_absence_of_what_the_attempt_then_made_is_not_told(held: Held) -> None:
    story = one_task(("output", "b"))
    story.file(0, "b", kind="absent", ino=0)
    story.file(1, "b")
    story.version(0, 1, 0, 1)
    story.access(0, 0, "open", -1, err=2)
    story.access(0, 1, "write", 0, 5)
    assert [use.status for use in files_of(held(story), [attempt_id("T")])[0].files] == [Status.DECLARED]
