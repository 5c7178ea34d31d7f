"""The commands that answer, on a real store with a told story in it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from provio.cli import call
from support.answers import CWD, RUN, Story, attempt_id, seismic
from support.measuring import cpu_seconds

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("das")
    seismic().seal(directory / ".provio")
    return directory / ".provio"


@pytest.fixture(autouse=True)
def _there(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROVIO_STORE", raising=False)
    monkeypatch.chdir(store.parent)


Capture = pytest.CaptureFixture[str]


def ask(capsys: Capture, *args: str, code: int = 0) -> str:
    assert call(args) == code
    captured = capsys.readouterr()
    return captured.err if code else captured.out


def test_show_answers_for_the_last_run_unasked(capsys: Capture) -> None:
    shown = ask(capsys, "show")
    assert shown.startswith(f"Run {RUN[:8]}  succeeded  snakemake 9.27.1  das/Snakefile\n")
    assert "read but not declared: site/calib.txt  by convert:sample=a, 500 B" in shown
    assert "declared as input but never read: legend.txt  by plot" in shown


@pytest.mark.parametrize(
    "which", [["show", RUN], ["show", "abab"], ["show", "--run", "last"], ["show", "last"]]
)
def test_run_is_named_by_id_first_digits_or_last(which: list[str], capsys: Capture) -> None:
    assert f"Run {RUN[:8]}" in ask(capsys, *which)


def test_unknown_run_is_a_usage_error(capsys: Capture) -> None:
    assert "provio runs" in ask(capsys, "show", "ffff", code=2)


def test_show_json_is_one_document_with_the_findings(capsys: Capture) -> None:
    document = json.loads(ask(capsys, "show", "--json"))
    assert document["version"] == 1
    assert [one["status"] for one in document["findings"]] == ["undeclared-read", "never-read"]
    assert "files" not in document


def test_show_of_one_task_has_its_files(capsys: Capture) -> None:
    shown = ask(capsys, "show", "--task", "convert:sample=a")
    assert "site/calib.txt" in shown
    assert "undeclared read" in shown
    assert "convert:sample=b" not in shown
    document = json.loads(ask(capsys, "show", "--attempt", attempt_id("A1")[:8], "--json"))
    assert [entry["attempt"] for entry in document["files"]] == [attempt_id("A1")]


def test_store_is_named_by_option_or_environment(
    store: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "no runs" in ask(capsys, "show", code=2)
    assert RUN[:8] in ask(capsys, "show", "--store", str(store))
    monkeypatch.setenv("PROVIO_STORE", str(store))
    assert RUN[:8] in ask(capsys, "show")


def test_asking_makes_no_store(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for command in (["show"], ["why", "x"], ["lineage", "x"]):
        ask(capsys, *command, code=2)
    assert list(tmp_path.iterdir()) == []


def test_why_tells_the_story(capsys: Capture) -> None:
    shown = " ".join(ask(capsys, "why", "stack.h5").split())
    assert "stack.h5 (size 5.86 KiB) was written by task stack, try 2" in shown
    assert (
        "Earlier, task stack, try 1 (that try failed) wrote 4.88 KiB under this name, which was deleted."
        in shown
    )
    document = json.loads(ask(capsys, "why", "stack.h5", "--json"))
    assert document["maker"]["ordinal"] == 2
    assert document["sentences"][0].startswith("stack.h5 (size")


def test_lineage_has_a_tree_and_four_other_forms(capsys: Capture, tmp_path: Path) -> None:
    assert "└─ plot" in ask(capsys, "lineage", "fig.png")
    assert json.loads(ask(capsys, "lineage", "fig.png", "--json"))["direction"] == "up"
    assert ask(capsys, "lineage", "fig.png", "--dot").startswith("digraph lineage {")
    assert ask(capsys, "lineage", "fig.png", "--mermaid").startswith("flowchart LR")
    assert ask(capsys, "lineage", "fig.png", "--svg", str(tmp_path / "x.svg")) == ""
    ET.fromstring((tmp_path / "x.svg").read_text())
    ET.fromstring(ask(capsys, "lineage", "fig.png", "--svg", "-"))


def test_lineage_follows_up_or_down_as_deep_as_asked(capsys: Capture) -> None:
    assert "raw/a.dat" not in ask(capsys, "lineage", "fig.png")
    assert "raw/a.dat" in ask(capsys, "lineage", "fig.png", "--depth", "0")
    assert "fig.png" in ask(capsys, "lineage", "raw/a.dat", "--down", "--depth", "3")
    assert "deep/er/a.h5" in ask(capsys, "lineage", "fig.png", "--possible")


def test_picture_that_exists_is_replaced_only_by_force(capsys: Capture, tmp_path: Path) -> None:
    target = tmp_path / "x.svg"
    target.write_text("mine")
    assert "--force replaces it" in ask(capsys, "lineage", "fig.png", "--svg", str(target), code=2)
    assert target.read_text() == "mine"
    ask(capsys, "lineage", "fig.png", "--svg", str(target), "--force")
    assert target.read_text().startswith("<svg")


def test_picture_that_cannot_be_written_is_an_error(capsys: Capture, tmp_path: Path) -> None:
    assert "cannot write" in ask(
        capsys, "lineage", "fig.png", "--svg", str(tmp_path / "no" / "x.svg"), code=2
    )


def test_only_one_form_is_given_at_a_time(capsys: Capture) -> None:
    assert "choose one" in ask(capsys, "lineage", "fig.png", "--json", "--dot", code=2)


def test_file_never_met_is_an_error_that_says_what_is_near(capsys: Capture) -> None:
    shown = ask(capsys, "why", "fgi.png", code=2)
    assert shown.startswith(
        f"provio: run {RUN[:8]} never met a file 'fgi.png'; did you mean\n  {CWD}/fig.png\nhint: "
    )


def test_file_that_only_an_older_run_met_is_answered_from_that_run(tmp_path: Path, capsys: Capture) -> None:
    seismic().seal(tmp_path / ".provio")
    later = Story()
    later.manifest["run"] |= {"id": "cd" * 16, "started_ns": later.manifest["run"]["started_ns"] + 10**12}
    later.seal(tmp_path / ".provio")
    assert call(["why", f"{CWD}/fig.png", "--store", str(tmp_path / ".provio")]) == 0
    captured = capsys.readouterr()
    assert "was written by task plot" in captured.out
    assert captured.err == f"provio: the last run never met it; this is run {RUN[:8]}\n"
    assert "never met" in ask(
        capsys, "why", f"{CWD}/fig.png", "--run", "cdcd", "--store", str(tmp_path / ".provio"), code=2
    )


def test_maker_in_another_run_is_found_when_all_runs_are_asked(tmp_path: Path, capsys: Capture) -> None:
    story = seismic()
    story.rows["versions"][7] |= {"mtime": 9}
    story.seal(tmp_path / ".provio")
    later = Story()
    later.manifest["run"] |= {"id": "cd" * 16, "started_ns": later.manifest["run"]["started_ns"] + 10**12}
    later.file(0, "fig.png", ino=107)
    later.version(0, 0, size=7000, mtime=9)
    later.seal(tmp_path / ".provio")
    where = ("--store", str(tmp_path / ".provio"))
    assert "--all-runs looks into the other runs" in " ".join(
        ask(capsys, "why", f"{CWD}/fig.png", *where).split()
    )
    shown = " ".join(ask(capsys, "why", f"{CWD}/fig.png", "--all-runs", *where).split())
    assert f"Run {RUN[:8]} (snakemake) made this content: task plot, try 1" in shown
    assert f"plot of run {RUN[:8]}" in ask(capsys, "lineage", f"{CWD}/fig.png", "--all-runs", *where)


def test_damaged_generation_is_a_store_error_that_names_the_file(tmp_path: Path, capsys: Capture) -> None:
    folder = seismic().seal(tmp_path / ".provio")
    (folder / "versions.parquet").write_bytes(b"PAR1 not really")
    shown = ask(capsys, "why", "fig.png", "--store", str(tmp_path / ".provio"), code=5)
    assert "versions.parquet" in shown
    assert "Traceback" not in shown


def test_generation_of_a_newer_provio_is_a_store_error(tmp_path: Path, capsys: Capture) -> None:
    folder = seismic().seal(tmp_path / ".provio")
    manifest = json.loads((folder / "manifest.json").read_text()) | {"version": 99}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert "99" in ask(capsys, "show", RUN, "--store", str(tmp_path / ".provio"), code=5)


@pytest.mark.parametrize(
    "name", ["with space.txt", "line\nbreak.txt", "ü.txt", "x" * 4000, "tab\tand\x1b[31m"]
)
def test_strange_names_are_answered_without_harm(name: str, tmp_path: Path, capsys: Capture) -> None:
    story = seismic()
    story.file(50, name)
    story.version(50, 50, 14, 26)
    story.seal(tmp_path / ".provio")
    for command in ("why", "lineage"):
        shown = ask(capsys, command, f"{CWD}/{name}", "--store", str(tmp_path / ".provio"))
        assert "\x1b" not in shown
        assert "\t" not in shown
    document = json.loads(ask(capsys, "why", f"{CWD}/{name}", "--store", str(tmp_path / ".provio"), "--json"))
    assert document["file"]["path"] == f"{CWD}/{name}"


def test_name_that_is_not_utf8_keeps_its_bytes_in_json(tmp_path: Path, capsys: Capture) -> None:
    story = Story()
    story.add(
        "files",
        file=0,
        path=b"/data/caf\xe9",
        paths=[{"b64": "L2RhdGEvY2Fm6Q=="}],
        kind="file",
        category="data",
    )
    story.add("versions", version=0, file=0, path=b"/data/caf\xe9", writer_epoch=-1, size=3)
    story.seal(tmp_path / ".provio")
    name = b"/data/caf\xe9".decode(sys.getfilesystemencoding(), "surrogateescape")
    document = json.loads(ask(capsys, "why", name, "--store", str(tmp_path / ".provio"), "--json"))
    assert document["file"]["path_b64"] == "L2RhdGEvY2Fm6Q=="
    assert "caf\\xe9" in ask(capsys, "lineage", name, "--store", str(tmp_path / ".provio"))


@pytest.mark.serial
def test_answers_of_a_small_run_are_there_in_an_instant(store: Path) -> None:
    provio = [sys.executable, "-m", "provio"]
    assert min(cpu_seconds([*provio, "lineage", "fig.png"], store.parent) for _ in range(5)) <= 0.3
    assert min(cpu_seconds([*provio, "show"], store.parent) for _ in range(5)) <= 0.5
