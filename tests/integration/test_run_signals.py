"""Signals under ``provio run``: each reaches the command as if we were not there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from provio.model.events import RunEnded, TaskEnded
from support.running import environment, events_of, run_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COUNTER = """
import os, signal, sys
seen = []
def note(number, frame):
    seen.append(number)
    print(number, flush=True)
for name in sys.argv[1:]:
    signal.signal(getattr(signal, "SIG" + name), note)
print("ready", os.getpid(), flush=True)
while True:
    signal.pause()
"""

Started = tuple["subprocess.Popen[str]", int]


@contextmanager
def counting(directory: Path, *names: str) -> Iterator[Started]:
    """Start a command that prints the number of each signal it gets; yield it and the command's pid."""
    command = run_command(sys.executable, "-c", COUNTER, *names)
    with subprocess.Popen(
        command,
        cwd=directory,
        env=environment(directory),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        word, pid = process.stdout.readline().split()
        assert word == "ready"
        try:
            yield process, int(pid)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def line(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "QUIT", "USR1", "USR2", "WINCH", "CONT"])
def test_signal_sent_to_us_alone_reaches_the_command_once(tmp_path: Path, name: str) -> None:
    number = getattr(signal, f"SIG{name}")
    with counting(tmp_path, name, "ALRM") as (process, pid):
        process.send_signal(number)
        assert line(process) == number
        os.kill(pid, signal.SIGALRM)
        assert line(process) == signal.SIGALRM


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "QUIT", "USR1", "WINCH"])
def test_signal_sent_to_the_group_reaches_the_command_once(tmp_path: Path, name: str) -> None:
    number = getattr(signal, f"SIG{name}")
    with counting(tmp_path, name, "ALRM") as (process, pid):
        for _ in range(3):
            os.killpg(process.pid, number)
            assert line(process) == number
            wait_for(lambda: not is_pending(number, process.pid))
        process.send_signal(number)  # and then one to us alone is not taken for the group's
        assert line(process) == number
        os.kill(pid, signal.SIGALRM)
        assert line(process) == signal.SIGALRM


def test_command_that_signals_its_own_group_ends_as_it_would(tmp_path: Path) -> None:
    script = "trap 'echo bye; exit 5' TERM; kill -TERM 0; exit 6"
    command = run_command("sh", "-c", script)
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        check=False,
        start_new_session=True,
        timeout=30,
    )
    assert (done.returncode, done.stdout, done.stderr) == (5, b"bye\n", b"")


def test_command_that_dies_of_a_forwarded_signal_ends_the_run_as_failed(tmp_path: Path) -> None:
    with counting(tmp_path) as (process, _):
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == -signal.SIGTERM
    (end,) = [e for e in events_of(tmp_path) if isinstance(e, TaskEnded)]
    (run,) = [e for e in events_of(tmp_path) if isinstance(e, RunEnded)]
    assert (end.signal, run.state) == (signal.SIGTERM, "failed")


def test_command_that_survives_a_signal_keeps_its_exit_code(tmp_path: Path) -> None:
    script = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done"
    with subprocess.Popen(
        run_command("sh", "-c", script), cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.terminate()
        assert process.wait(30) == 9


def test_command_that_is_killed_takes_us_with_it(tmp_path: Path) -> None:
    with counting(tmp_path) as (process, pid):
        os.kill(pid, signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL


def test_killing_us_leaves_the_command_and_a_spool_without_an_end(tmp_path: Path) -> None:
    with counting(tmp_path, "TERM") as (process, pid):
        process.kill()
        assert process.wait(30) == -signal.SIGKILL
        os.kill(pid, signal.SIGTERM)
        assert line(process) == signal.SIGTERM
        os.kill(pid, signal.SIGKILL)
    assert [e.type for e in events_of(tmp_path)][-1] == "task.process"


def is_pending(number: int, group: int) -> bool:
    """Tell whether a process of a group has not taken a signal yet."""
    found = subprocess.run(["ps", "-eo", "pgid=,pending="], capture_output=True, text=True, check=True)
    rows = [row.split() for row in found.stdout.splitlines()]
    return any(int(pgid) == group and int(mask, 16) >> (number - 1) & 1 for pgid, mask in rows)


def state_of(pid: int) -> str:
    text = Path(f"/proc/{pid}/stat").read_text()
    return text[text.rindex(")") + 2]


def wait_for(condition: Callable[[], bool]) -> None:
    """Look again, yielding the processor, until the kernel says so; the test's timeout bounds it."""
    while not condition():
        os.sched_yield()


def test_command_that_somebody_stops_and_continues_alone_does_not_leave_us_asleep(tmp_path: Path) -> None:
    with counting(tmp_path, "USR1") as (process, pid):
        os.kill(pid, signal.SIGSTOP)
        wait_for(lambda: state_of(pid) == "T")
        os.kill(pid, signal.SIGCONT)
        wait_for(lambda: state_of(pid) == "S")
        process.send_signal(signal.SIGUSR1)
        assert line(process) == signal.SIGUSR1
        wait_for(lambda: state_of(process.pid) == "S")


def test_child_that_outlives_the_command_does_not_hold_us(tmp_path: Path) -> None:
    script = "sleep 1000 >/dev/null 2>&1 & echo $!"
    done = subprocess.run(
        run_command("sh", "-c", script),
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        check=False,
        timeout=30,
    )
    os.kill(int(done.stdout), signal.SIGKILL)
    assert done.returncode == 0
