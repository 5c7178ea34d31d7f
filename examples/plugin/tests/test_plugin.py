"""The plugin in use: its reader keeps the contract, and a sealed run has what its hooks give."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from provio_textlog.reader import READER

from provio.engines import Spool, describe_run, host_event, process_ref, stamp
from provio.model.events import RunEnded, RunStarted, TaskEnded, TaskStarted
from provio.model.ids import new_attempt_id
from provio.testing import EngineContract, TracerContract
from provio.tracers.base import TracerReader

SAMPLE = Path(__file__).with_name("sample.textlog")


class TestTextlog(TracerContract):
    def reader(self) -> TracerReader:
        return READER

    def sample(self) -> bytes:
        return SAMPLE.read_bytes()


class TestTinyEngine(EngineContract):
    def run_workflow(self, store: Path, directory: Path) -> None:
        record(store, directory)


def record(store: Path, directory: Path) -> Spool:
    """Record a run of a tiny engine with the two tasks of the sample."""
    run = describe_run(engine="tiny", engine_version="1", workflow="sample", cwd=str(directory))
    store.mkdir(mode=0o700, exist_ok=True)
    spool = Spool.create(store, run)
    emitter = spool.emitter()
    emitter.emit(
        RunStarted(stamp(), run.run_id, "tiny", "1", "sample", str(directory), process=process_ref())
    )
    emitter.emit(host_event())
    for physical in ("filter:x", "plot:x"):
        attempt, rule = new_attempt_id(), physical.partition(":")[0]
        emitter.emit(
            TaskStarted(
                stamp(), run.run_id, attempt, rule, physical, 1, "command",
                str(directory), process_ref(),
                command=f"{physical} --owner badge:12345 --password hunter2-of-the-contract",
            )
        )  # fmt: skip
        emitter.emit(TaskEnded(stamp(), attempt, "succeeded", exit_code=0))
    emitter.emit(RunEnded(stamp(), run.run_id, "succeeded", 0))
    emitter.close()
    return spool


@pytest.fixture
def store(tmp_path: Path) -> Path:
    spool = record(tmp_path / ".provio", tmp_path)
    (spool.path / "io" / "a.textlog").write_bytes(SAMPLE.read_bytes())
    (spool.path / "io" / "b.textlog").write_bytes(b"something else")
    return tmp_path / ".provio"


def provio(*arguments: object) -> str:
    command = [sys.executable, "-m", "provio", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_hooks_are_listed_under_the_plugin() -> None:
    (mine,) = [p for p in json.loads(provio("plugins", "--json"))["plugins"] if p["name"] == "textlog"]
    assert mine["distribution"] == "provio-textlog"
    assert "provio_tracers" in mine["hooks"]


def test_command_of_the_plugin_is_one_of_provio() -> None:
    assert "process 4001 /opt/site/filter: 3 uses" in provio("textlog", SAMPLE)


def test_doctor_has_the_check_of_the_plugin() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "provio", "doctor"], capture_output=True, text=True, check=False
    )
    assert "textlog: files *.textlog in a spool are read" in done.stdout


def test_files_of_the_foreign_tracer_are_in_the_answers(store: Path) -> None:
    shown = json.loads(provio("show", "--store", store, "--json"))
    (filtered,) = [task for task in shown["tasks"] if task["logical"] == "filter"]
    assert filtered["attempts"][0]["bytes_read"] == 4096
    assert list(filtered["attempts"][0]["attribution"]) == ["site_rule"]
    assert shown["unattributed"]["operations"] > 0, "the second process bears no SITE_JOB"


def test_damaged_file_of_the_foreign_tracer_is_a_gap(store: Path) -> None:
    shown = json.loads(provio("show", "--store", store, "--json"))
    assert any(gap["kind"] == "corrupt-evidence" and "b.textlog" in gap["detail"] for gap in shown["gaps"])


def test_badge_numbers_reach_no_file(store: Path) -> None:
    provio("seal", "--all", "--store", store)
    assert not [p for p in store.rglob("*") if p.is_file() and b"badge:12345" in p.read_bytes()]
    events = "".join(path.read_text() for path in store.glob("spool/*/events/*"))
    assert "badge:***" in events
