"""The demo: a real Snakemake run whose planted surprises are found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

pytestmark = pytest.mark.heavy


def provio(*arguments: str, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PROVIO_", "SNAKEMAKE_"))}
    command = [sys.executable, "-m", "provio", *arguments]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def document(folder: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(provio("demo", "--json", "--directory", "das", cwd=folder).stdout)
    return result


def owners(document: dict[str, Any], status: str) -> set[tuple[str, str]]:
    rules = {one["id"]: task["logical"] for task in document["show"]["tasks"] for one in task["attempts"]}
    uses = [use for use in document["findings"] if use["status"] == status]
    return {(rules[use["attempt"]], Path(use["path"]).name) for use in uses}


def test_undeclared_file_is_found_with_its_rule_and_nothing_else(document: dict[str, Any]) -> None:
    assert owners(document, "undeclared-read") == {("decimate", "bad_channels.txt")}


def test_input_that_is_never_read_is_found_and_nothing_else(document: dict[str, Any]) -> None:
    assert owners(document, "never-read") == {("stack", "stations.csv")}


def test_job_that_failed_once_has_both_tries(document: dict[str, Any]) -> None:
    (task,) = document["retried"]
    assert task["physical"] == "convert:minute=0001"
    assert [(one["attempt"], one["state"]) for one in task["attempts"]] == [(1, "failed"), (2, "succeeded")]


def test_both_coverage_numbers_are_whole(document: dict[str, Any]) -> None:
    coverage = document["show"]["coverage"]
    assert coverage["attributed"] == 1
    assert coverage["seen"] is None or coverage["seen"] > 0.9


def test_final_product_goes_back_to_every_raw_file_and_to_the_undeclared_one(
    document: dict[str, Any],
) -> None:
    names = {Path(node["label"]).name for node in document["lineage"]["nodes"]}
    assert {"0000.das", "0001.das", "0002.das", "bad_channels.txt", "stack.h5", "figure.png"} <= names
    assert "stations.csv" not in names
    assert document["why"]["maker"]["logical"] == "figure"


def test_picture_is_a_self_contained_svg(document: dict[str, Any], folder: Path) -> None:
    text = (folder / "das" / "lineage.svg").read_text()
    assert ET.fromstring(text).tag.endswith("svg")
    assert "http" not in text.replace("http://www.w3.org/", "")


def test_summary_in_text_says_all_of_it_and_its_next_commands_work(folder: Path) -> None:
    text = provio("demo", "--directory", "das", "--force", cwd=folder).stdout
    assert "bad_channels.txt is read by rule decimate (3 jobs), which does not declare it" in text
    assert "stations.csv is declared as an input by rule stack, which never reads it" in text
    assert "convert:minute=0001 was tried 2 times: failed, then succeeded" in text
    tail = text.partition("Try next")[2].splitlines()
    commands = [line.split("   ")[0].split() for line in tail if line.startswith("  provio ")]
    assert len(commands) == 3
    for command in commands:
        provio(*command[1:], cwd=folder / "das")


def test_directory_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("precious")
    done = provio("demo", "--force", "--directory", "mine", cwd=tmp_path, code=2)
    assert "something else" in done.stderr
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "precious"
