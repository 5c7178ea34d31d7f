"""Is a run over: by its own word, else by its processes on its own host."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from provio.engines.host import start_ticks
from provio.importers.events import read_spool_events
from provio.model.events import ProcessRef, ProcessStarted, RunEnded
from provio.pipeline.liveness import Liveness, is_alive, liveness
from spoolmaker import RUN, Bench, stamp

if TYPE_CHECKING:
    from pathlib import Path

GONE = {"pid": 2**22 - 1, "start_ticks": 1}


def state(bench: Bench) -> Liveness:
    return liveness(bench.record, read_spool_events(bench.path)[0], bench.assemble().evidence.images)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({}, Liveness.RUNNING),
        (GONE, Liveness.OVER),
        ({"boot_id": "ff" * 16}, Liveness.OVER),
        ({"boot_id": "ff" * 16, "machine_id": "other"}, Liveness.OPEN),
    ],
)
def test_without_its_word_a_run_is_over_when_its_engine_is_gone(
    tmp_path: Path, record: dict[str, Any], expected: Liveness
) -> None:
    assert state(Bench(tmp_path, **record)) == expected


def test_the_word_of_its_end_decides(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.over()
    assert state(bench) == Liveness.OVER


def test_the_end_of_an_inner_run_is_not_the_end_of_this_one(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.say(RunEnded(stamp(1), "cd" * 16, "succeeded"))
    assert state(bench) == Liveness.RUNNING


def test_a_run_goes_on_while_a_process_of_its_evidence_lives(tmp_path: Path) -> None:
    bench = Bench(tmp_path, **GONE)
    bench.say(ProcessStarted(stamp(1), RUN, ProcessRef(os.getpid(), start_ticks(os.getpid()))))
    assert state(bench) == Liveness.RUNNING


def test_a_run_goes_on_while_a_traced_image_lives(tmp_path: Path) -> None:
    bench = Bench(tmp_path, **GONE)
    writer = bench.writer()
    writer.image(pid=os.getpid(), start=start_ticks(os.getpid()))
    bench.add(writer)
    assert state(bench) == Liveness.RUNNING


def test_a_zombie_and_a_reused_pid_are_not_alive() -> None:
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert start_ticks(child.pid)
    assert not is_alive(child.pid, start_ticks(child.pid))
    child.wait()
    assert is_alive(os.getpid(), start_ticks(os.getpid()))
    assert not is_alive(os.getpid(), start_ticks(os.getpid()) - 1)
    assert not is_alive(0, 0)
