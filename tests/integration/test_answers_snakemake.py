"""Answers about a real Snakemake run: undeclared and unread files, a retry, temp files, a run body."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from support.running import environment, provio_command
from support.snakemake_runs import Workflow

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.serial, pytest.mark.heavy]

SNAKEFILE = """
rule all:
    input: "final.txt"

rule sort:
    input: "{name}.raw"
    output: temp("{name}.sorted")
    shell: "cat secret.txt >/dev/null; sort {input} >{output}"

rule merge:
    input: "a.sorted", "b.sorted", "unread.txt"
    output: "merged.txt"
    retries: 1
    shell:
        "test {resources.attempt} = 2 || {{ echo half >{output}; exit 7; }}; "
        "sort -m a.sorted b.sorted >{output}"

rule final:
    input: "merged.txt"
    output: "final.txt"
    run:
        with open(input[0]) as source, open(output[0] + ".part", "w") as target:
            target.write(source.read())
        import os
        os.replace(output[0] + ".part", output[0])
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("flow")
    workflow = Workflow(directory)
    workflow.write(
        "Snakefile",
        SNAKEFILE.replace("retries: 1", "retries: 1\n    resources: attempt=lambda w, attempt: attempt"),
    )
    for name, text in (
        ("a.raw", "2\n1\n"),
        ("b.raw", "4\n3\n"),
        ("secret.txt", "s\n"),
        ("unread.txt", "u\n"),
    ):
        workflow.write(name, text)
    workflow.run("--cores", "2", "--logger", "provio")
    return directory


def ask(directory: Path, *args: str) -> str:
    done = subprocess.run(
        provio_command(*args),
        cwd=directory,
        env=environment(directory),
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def document(directory: Path, *args: str) -> dict[str, Any]:
    return dict(json.loads(ask(directory, *args, "--json")))


def test_show_has_every_rule_and_the_failed_try(ran: Path) -> None:
    answer = document(ran, "show")
    tries = {
        task["physical"]: [(a["state"], a["exit_code"]) for a in task["attempts"]] for task in answer["tasks"]
    }
    assert answer["run"]["state"] == "succeeded"
    merge = next(found for name, found in tries.items() if name.startswith("merge"))
    assert [state for state, _ in merge] == ["failed", "succeeded"]
    assert merge[0][1] == 7
    assert sum(name.startswith("sort") for name in tries) == 2
    assert answer["coverage"]["attributed"] == 1.0


def test_findings_are_the_planted_ones_and_no_others(ran: Path) -> None:
    found = {(use["status"], use["path"].rpartition("/")[2]) for use in document(ran, "show")["findings"]}
    assert found == {("undeclared-read", "secret.txt"), ("never-read", "unread.txt")}


def test_lineage_goes_through_the_temp_files_to_the_raw_ones(ran: Path) -> None:
    answer = document(ran, "lineage", "final.txt", "--depth", "0")
    names = {node["path"].rpartition("/")[2] for node in answer["nodes"] if node["type"] == "file version"}
    assert {"final.txt", "merged.txt", "a.sorted", "b.sorted", "a.raw", "b.raw"} <= names
    assert "unread.txt" not in names
    merges = [node for node in answer["nodes"] if node.get("logical") == "merge"]
    assert [node["ordinal"] for node in merges] == [2]


def test_why_of_a_file_by_a_run_body_tells_its_former_name(ran: Path) -> None:
    shown = " ".join(ask(ran, "why", "final.txt").split())
    assert "was written by task final, try 1" in shown
    assert "It was first named final.txt.part." in shown
    assert "The task declares it (output)." in shown
    assert "- merged.txt:" in shown


def test_why_of_a_retried_file_tells_the_failed_try(ran: Path) -> None:
    shown = " ".join(ask(ran, "why", "merged.txt").split())
    assert "was written by task merge, try 2" in shown
    assert "task merge, try 1 (that try failed) wrote 5 B under this name" in shown


def test_deleted_temp_file_still_has_its_story(ran: Path) -> None:
    assert not (ran / "a.sorted").exists()
    shown = " ".join(ask(ran, "why", "a.sorted").split())
    assert "was written by task sort with name=a, try 1" in shown
    assert "This content no longer exists: it was deleted." in shown
    assert "secret.txt" not in shown, "cat read it, sort did not"
