"""kill -9 at 200 seeded random points: nothing completed is lost, nothing stays locked.

The moments are counted in completed writes of the program under test (seeded,
so a failure can be repeated), not in time; only the sealer, which has no such
counter, is killed after a seeded share of its own usual duration.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import killing
import pytest

from provio.pipeline import answer
from provio.store import Store

SEED = 20261121
DIRECT, ENGINE, JOB, SEALER = 100, 30, 30, 40

LAG = 1024
"""In layout BLOCKS (network storage) counts reach the file after so many calls at the latest."""

SNAKEFILE = f"""
rule all:
    input: "last.txt"

rule first:
    output: "first.txt"
    shell: "echo ready > {{output}}"

rule write:
    input: "first.txt"
    output: "written.bin"
    shell: "{sys.executable} {killing.WRITER} {{output}} counter LIMIT"

rule last:
    input: "written.bin"
    output: "last.txt"
    shell: "wc -c < {{input}} > {{output}}"
"""


def _points(count: int, below: int, salt: str) -> list[int]:
    """Seeded kill points, each a number of completed writes."""
    chance = random.Random(f"{SEED}-{salt}")
    return [chance.randrange(1, below) for _ in range(count)]


def _run(store: Path, which: str = "last") -> Any:
    opened = Store(store)
    return answer(opened, opened.resolve(which))


def _written(run: Any, name: str) -> int:
    """Bytes that the run's records say were written to files of that name."""
    rows = run.sql(
        "SELECT f.path, a.bytes FROM accesses a JOIN files f USING (file) WHERE a.operation = 'write'"
    )
    return sum(moved for path, moved in rows if bytes(path).endswith(b"/" + name.encode()))


def _states(cwd: Path) -> dict[str, str]:
    """Return logical task -> state of its last attempt, as the command line says it."""
    shown = killing.answer("show", "last", cwd=cwd)
    return {task["logical"]: task["attempts"][-1]["state"] for task in shown["tasks"]}


@pytest.mark.parametrize("layout", ["auto", "blocks"])
@pytest.mark.parametrize("mode", ["aggregate", "full"])
def test_every_write_completed_before_the_kill_is_in_the_run(tmp_path: Path, layout: str, mode: str) -> None:
    lag = LAG if layout == "blocks" else 0
    for number, point in enumerate(_points(DIRECT // 4, 3000, f"direct-{layout}-{mode}")):
        output, store = tmp_path / f"out-{number}", tmp_path / ".provio"
        with killing.counting(tmp_path / f"counter-{number}") as counter:
            argv = (*killing.PROVIO, "run", "--store", str(store), "--trace", mode, "--", sys.executable)
            program = (str(killing.WRITER), str(output), str(counter.path))
            runner = killing.start((*argv, *program), tmp_path, PROVIO_ARENA=layout)
            killing.kill(counter.reach(point + lag, runner))
            assert runner.wait(killing.DEADLINE_S) == -signal.SIGKILL
            completed = (counter.read()[1] - lag) * killing.RECORD_BYTES
        run = _run(store)
        recorded = _written(run, output.name)
        assert completed <= recorded <= output.stat().st_size, f"point {point} ({number})"
        assert ("killed",) in run.sql("SELECT kind FROM gaps"), "that its bytes are not checked is said"
    states = {run["state"] for run in killing.answer("runs", "--store", str(store), cwd=tmp_path)["runs"]}
    assert states == {"failed"}


def _snakemake(cwd: Path, *, writes: int) -> subprocess.Popen[bytes]:
    """Start the workflow; its second job writes so often, unless it is killed."""
    (cwd / "Snakefile").write_text(SNAKEFILE.replace("LIMIT", str(writes)))
    return killing.start(("snakemake", "--cores", "2", "--logger", "provio", "--quiet", "all"), cwd)


@pytest.mark.parametrize("number", range(ENGINE))
def test_kill_of_snakemake_leaves_its_orphans_recorded(tmp_path: Path, number: int) -> None:
    point = _points(ENGINE, 380, "engine")[number]
    with killing.counting(tmp_path / "counter") as counter:
        engine = _snakemake(tmp_path, writes=20_000)
        writer = counter.reach(point, engine)
        killing.kill(engine.pid)
        assert engine.wait(killing.DEADLINE_S) == -signal.SIGKILL
        killing.gone(writer)
        completed = counter.read()[1] * killing.RECORD_BYTES
    assert _written(_run(tmp_path / ".provio"), "written.bin") == completed
    assert _states(tmp_path) == {"first": "succeeded", "write": "lost"}
    assert killing.answer("show", "last", cwd=tmp_path)["run"]["state"] == "crashed"


@pytest.mark.parametrize("number", range(JOB))
def test_kill_of_a_job_fails_that_attempt_and_keeps_its_writes(tmp_path: Path, number: int) -> None:
    point = _points(JOB, 3000, "job")[number]
    with killing.counting(tmp_path / "counter") as counter:
        engine = _snakemake(tmp_path, writes=10_000_000)
        killing.kill(counter.reach(point, engine))
        assert engine.wait(killing.DEADLINE_S) == 1
        completed = counter.read()[1] * killing.RECORD_BYTES
    assert (
        completed <= _written(_run(tmp_path / ".provio"), "written.bin") <= completed + killing.RECORD_BYTES
    )
    assert _states(tmp_path) == {"first": "succeeded", "write": "failed"}


def test_kill_of_the_sealer_leaves_nothing_or_a_whole_generation(tmp_path: Path) -> None:
    original = tmp_path / "original"
    argv = (
        "run",
        "--store",
        str(original / ".provio"),
        "--",
        "sh",
        "-c",
        "sort /etc/passwd > sorted; wc sorted",
    )
    original.mkdir()
    killing.provio(*argv, cwd=original)
    (run,) = killing.answer("runs", "--store", str(original / ".provio"), cwd=original)["runs"]
    killing.provio("seal", run["id"], "--store", str(original / ".provio"), cwd=original)
    shutil.rmtree(original / ".provio" / "runs")
    begun = time.monotonic()
    _seal_killed_after(original, tmp_path / "timed", run["id"], killing.DEADLINE_S)
    usual = time.monotonic() - begun
    chance = random.Random(f"{SEED}-sealer")
    for number in range(SEALER):
        _seal_killed_after(original, tmp_path / str(number), run["id"], chance.random() * usual)


def _seal_killed_after(original: Path, place: Path, run: str, seconds: float) -> None:
    """Seal a copy of the store, kill the sealer after a while, and see that the next commands answer."""
    shutil.copytree(original, place, symlinks=True)
    store = place / ".provio"
    sealer = killing.start((*killing.PROVIO, "seal", run, "--store", str(store)), place)
    try:
        sealer.wait(seconds)
    except subprocess.TimeoutExpired:
        killing.kill(sealer.pid)
        sealer.wait(killing.DEADLINE_S)
    shown = killing.answer("show", run, "--store", str(store), cwd=place)
    assert shown["run"]["state"] == "succeeded"
    generations = sorted(
        entry.name for entry in (store / "runs" / run).iterdir() if entry.name.startswith("g")
    )
    assert generations == ["g1"]
    assert _written(_run(store, run), "sorted") == (place / "sorted").stat().st_size
