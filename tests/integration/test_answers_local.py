"""The whole way: a command under the real tracer, sealed, asked; nothing is stood in for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from support.running import environment, provio_command, provio_run

if TYPE_CHECKING:
    from pathlib import Path


def ask(directory: Path, *args: str, code: int = 0) -> str:
    done = subprocess.run(
        provio_command(*args),
        cwd=directory,
        env=environment(directory),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == code, done.stderr.decode()
    return (done.stderr if code else done.stdout).decode()


def document(directory: Path, *args: str) -> dict[str, Any]:
    return dict(json.loads(ask(directory, *args, "--json")))


def derived(directory: Path, file: str, *args: str) -> set[tuple[str, str]]:
    answer = document(directory, "lineage", file, *args)
    names = {node["id"]: os.path.basename(node["label"]) for node in answer["nodes"]}  # noqa: PTH119
    return {(names[e["source"]], names[e["target"]]) for e in answer["edges"] if e["relation"] == "derived"}


def run(directory: Path, script: str) -> None:
    done = provio_run("sh", "-c", script, cwd=directory)
    assert done.returncode == 0, done.stderr.decode()


def used_files(directory: Path) -> dict[str, dict[str, int]]:
    """Return the operations on each file of the last run's only attempt, by the last part of its name."""
    (attempt,) = document(directory, "show", "--files")["files"]
    return {f["path"].rpartition("/")[2]: f["operations"] for f in attempt["files"]}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "a").write_text("2\n1\n")
    (tmp_path / "c").write_text("4\n3\n")
    return tmp_path


def test_two_sorts_at_once_keep_their_inputs_apart(work: Path) -> None:
    run(work, "sort a >b & sort c >d & wait")
    assert derived(work, "b") == {("a", "b")}
    assert derived(work, "d") == {("c", "d")}
    assert derived(work, "a", "--down") == {("a", "b")}


def test_pipe_carries_derivation_to_every_branch(work: Path) -> None:
    run(work, "cat a | tee b >c")
    assert derived(work, "b") == {("a", "b")}
    assert derived(work, "c") == {("a", "c")}


def test_reading_after_writing_derives_nothing(work: Path) -> None:
    run(work, "echo x >b; cat b a >/dev/null")
    assert derived(work, "b") == set()


def test_what_goes_through_arguments_is_possible_and_hidden_until_asked_for(work: Path) -> None:
    run(work, "xargs -a a -n1 echo > b")
    assert derived(work, "b") == set()
    assert derived(work, "b", "--possible") == {("a", "b")}
    assert derived(work, "a", "--down", "--possible") == {("a", "b")}


def test_show_counts_what_the_command_did(work: Path) -> None:
    run(work, "sort a >b")
    answer = document(work, "show")
    (task,) = answer["tasks"]
    (attempt,) = task["attempts"]
    assert (answer["run"]["engine"], answer["run"]["state"]) == ("local", "succeeded")
    assert (attempt["state"], attempt["exit_code"], attempt["attempt"]) == ("succeeded", 0, 1)
    assert attempt["bytes_read"] == 4
    assert attempt["bytes_written"] == 4
    assert attempt["operations"] == sum(attempt["attribution"].values())
    assert answer["coverage"]["attributed"] == 1.0
    assert answer["unattributed"]["operations"] == 0


def test_why_tells_program_input_and_coverage(work: Path) -> None:
    run(work, "sort -r a >b")
    shown = " ".join(ask(work, "why", "b").split())
    assert "b (size 4 B) was written by task" in shown
    assert "`sort -r a`" in shown
    assert "- a: 4 B read, there before this run, or made unseen" in shown
    assert "Coverage: attributed 100 %" in shown


def test_why_tells_a_mapped_input_as_mapped(work: Path) -> None:
    code = "import mmap as n; f = open('a'); m = n.mmap(f.fileno(), 0, prot=1); open('b', 'wb').write(m)"
    run(work, f'{sys.executable} -c "{code}"')
    assert "- a: mapped into memory, there before this run" in " ".join(ask(work, "why", "b").split())


def test_why_says_where_the_file_is_no_longer_the_recorded_content(work: Path) -> None:
    run(work, "sort -r a >b")
    assert document(work, "why", "b")["now"]["state"] == "same"
    (work / "b").write_text("3\n2\n")
    assert "written or touched after the run" in " ".join(ask(work, "why", "b").split())
    (work / "b").write_text("another\n")
    assert "The file there now has another content (8 B" in " ".join(ask(work, "why", "b").split())
    (work / "b").unlink()
    assert "No file of this name is there now" in " ".join(ask(work, "why", "b").split())


def test_renamed_file_is_found_by_both_names_and_its_story_tells_the_first(work: Path) -> None:
    run(work, "sort a >b.tmp; mv b.tmp b")
    shown = " ".join(ask(work, "why", "b").split())
    assert "It was first named b.tmp." in shown
    assert derived(work, "b") == {("a", "b")}
    assert derived(work, "b.tmp") == {("a", "b")}


def test_linked_file_goes_by_the_name_that_is_left(work: Path) -> None:
    run(work, "sort a >b.tmp; ln b.tmp b; rm b.tmp")
    assert derived(work, "b") == {("a", "b")}
    written = {name for name, operations in used_files(work).items() if "create" in operations}
    assert written == {"b"}


def test_directory_that_was_there_is_not_written_by_a_failed_mkdir(work: Path) -> None:
    run(work, "mkdir out")
    run(work, "mkdir -p out/deep && sort a >out/deep/b")
    used = used_files(work)
    assert "mkdir" in used["deep"]
    assert "mkdir" not in used.get("out", {})


def test_rewriting_in_place_makes_a_new_content_and_tells_the_earlier_one(work: Path) -> None:
    run(work, "sort a >b; sort c >b")
    assert derived(work, "b") == {("c", "b")}
    assert "Earlier, task" in ask(work, "why", "b")


def test_file_that_was_only_looked_for_is_told_so(work: Path) -> None:
    run(work, "cat nothing 2>/dev/null; sort a >b")
    assert "met no content under that name" in ask(work, "why", "nothing", code=2)


def test_directory_is_told_as_one_with_the_files_in_it(work: Path) -> None:
    run(work, "mkdir d e; sort a >d/b")
    told = ask(work, "why", "d", code=2)
    assert "is a directory" in told
    assert str(work / "d" / "b") in told
    assert "of which the run met none" in ask(work, "lineage", "e", code=2)


def test_misspelt_option_of_run_is_no_command(work: Path) -> None:
    assert "No such option '--stor'" in ask(work, "run", "--stor", "x", "--", "true", code=2)


def test_strange_names_go_the_whole_way(work: Path) -> None:
    strange = "a b\n\u00fc'\".txt"
    (work / strange).write_text("2\n1\n")
    done = provio_run("sort", strange, "-o", "out", cwd=work)
    assert done.returncode == 0
    answer = document(work, "lineage", "out")
    assert str(work / strange) in {node.get("path") for node in answer["nodes"]}
    ask(work, "lineage", strange, "--down")


def test_failed_command_keeps_its_story(work: Path) -> None:
    assert provio_run("sh", "-c", "sort a >b; exit 3", cwd=work).returncode == 3
    answer = document(work, "show")
    assert answer["run"]["state"] == "failed"
    assert answer["tasks"][0]["attempts"][0]["exit_code"] == 3
    assert derived(work, "b") == {("a", "b")}


def test_running_command_is_answered_as_of_now(work: Path) -> None:
    release, go = os.pipe()
    ready = work / "ready"
    os.mkfifo(ready)
    script = "sort a >b; echo >ready; read line"
    child = subprocess.Popen(
        provio_command("run", "--no-seal", "--", "sh", "-c", script),
        cwd=work,
        env=environment(work),
        stdin=release,
    )
    os.close(release)
    try:
        ready.read_text()  # b is complete from here on
        answer = document(work, "show")
        assert answer["run"]["state"] == "running"
        assert answer["run"]["as_of_ns"] is not None
        assert derived(work, "b") == {("a", "b")}
        assert "still running" in ask(work, "why", "b")
    finally:
        os.close(go)
        child.wait(timeout=30)
