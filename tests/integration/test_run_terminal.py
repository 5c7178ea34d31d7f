"""``provio run`` at a terminal, driven through a pseudo-terminal as by a person."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import time
from fcntl import ioctl
from termios import TIOCSWINSZ
from typing import TYPE_CHECKING

import pytest

from provio.model.events import TaskEnded
from support.running import environment, events_of, run_command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DEADLINE = 60


class Terminal:
    """A person at a terminal in which an interactive bash runs."""

    def __init__(self, directory: Path) -> None:
        self._seen = b""
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.chdir(directory)
            env = environment(directory, {"PS1": "$ ", "TERM": "dumb", "HISTFILE": ""})
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], env)

    def type(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def expect(self, pattern: str) -> re.Match[bytes]:
        """Read until the pattern appears; forget what came before its end."""
        deadline = time.monotonic() + DEADLINE
        while not (match := re.search(pattern.encode(), self._seen)):
            ready, _, _ = select.select([self._fd], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"{pattern!r} did not appear in {self._seen!r}"
            self._seen += os.read(self._fd, 65536)
        self._seen = self._seen[match.end() :]
        return match

    def resize(self, rows: int, columns: int) -> None:
        ioctl(self._fd, TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def close(self) -> None:
        os.close(self._fd)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    opened = Terminal(tmp_path)
    opened.expect(r"\$ ")
    yield opened
    opened.close()


COUNT_INTERRUPTS = """
import signal, sys
count = 0
def note(*_):
    global count
    count += 1
    print("interrupt", count, flush=True)
signal.signal(signal.SIGINT, note)
signal.signal(signal.SIGQUIT, lambda *_: sys.exit(40 + count))
signal.signal(signal.SIGWINCH, lambda *_: print("size", flush=True))
signal.signal(signal.SIGCONT, lambda *_: print("continued", flush=True))
print("ready", flush=True)
while True:
    signal.pause()
"""


def start(terminal: Terminal, directory: Path, script: str) -> None:
    """Type ``provio run`` of a Python script and wait until it is ready."""
    (directory / "script.py").write_text(script)
    (directory / "go").write_text("exec " + " ".join(run_command(sys.executable, "script.py")) + "\n")
    terminal.type("sh go\n")
    terminal.expect("ready")


def test_each_ctrl_c_reaches_the_command_exactly_once(terminal: Terminal, tmp_path: Path) -> None:
    start(terminal, tmp_path, COUNT_INTERRUPTS)
    for count in (1, 2, 3):
        terminal.type("\x03")
        terminal.expect(f"interrupt {count}")
    terminal.type("\x1c")
    terminal.expect(r"\$ ")
    terminal.type("echo code=$?\n")
    terminal.expect("code=43")


def test_command_that_ctrl_c_kills_leaves_the_shell_as_the_command_itself_would(
    terminal: Terminal, tmp_path: Path
) -> None:
    start(
        terminal,
        tmp_path,
        "import signal\nsignal.signal(2, signal.SIG_DFL)\nprint('ready', flush=True)\nsignal.pause()",
    )
    terminal.type("\x03")
    terminal.expect(r"\$ ")
    terminal.type("echo code=$?\n")
    terminal.expect("code=130")
    (end,) = [e for e in events_of(tmp_path) if isinstance(e, TaskEnded)]
    assert end.signal == signal.SIGINT


def test_ctrl_z_stops_and_fg_and_bg_continue(terminal: Terminal, tmp_path: Path) -> None:
    start(terminal, tmp_path, COUNT_INTERRUPTS)
    for _ in range(2):
        terminal.type("\x1a")
        terminal.expect("Stopped")
        terminal.expect(r"\$ ")
        terminal.type("fg\n")
        terminal.expect("continued")
    terminal.type("\x03")
    terminal.expect("interrupt 1")
    terminal.type("\x1a")
    terminal.expect("Stopped")
    terminal.type("bg\n")
    terminal.expect("continued")
    terminal.type("kill -QUIT %1; wait %1; echo code=$?\n")
    terminal.expect("code=41")


def test_change_of_the_window_size_reaches_the_command(terminal: Terminal, tmp_path: Path) -> None:
    start(terminal, tmp_path, COUNT_INTERRUPTS)
    terminal.resize(40, 100)
    terminal.expect("size")


def test_command_reads_from_the_terminal(terminal: Terminal, tmp_path: Path) -> None:
    start(terminal, tmp_path, "print('ready', flush=True)\nprint('got', input(), flush=True)")
    terminal.type("hello\n")
    terminal.expect("got hello")


def test_background_command_that_reads_from_the_terminal_stops_as_any_would(
    terminal: Terminal, tmp_path: Path
) -> None:
    note = "import signal\nsignal.signal(signal.SIGCONT, lambda *_: print('continued', flush=True))\n"
    (tmp_path / "script.py").write_text(f"{note}print('got', input(), flush=True)")
    (tmp_path / "go").write_text("exec " + " ".join(run_command(sys.executable, "script.py")) + "\n")
    terminal.type("sh go & wait %1; jobs\n")
    terminal.expect(r"Stopped[^\n]*sh go")
    terminal.expect(r"\$ ")
    terminal.type("fg\n")
    terminal.expect("continued")
    terminal.type("hello\n")
    terminal.expect("got hello")


def test_closed_terminal_hangs_up_the_command(tmp_path: Path) -> None:
    opened = Terminal(tmp_path)
    opened.expect(r"\$ ")
    note = "import signal, sys\nsignal.signal(1, lambda *_: (open('hung', 'w').close(), sys.exit(0)))\n"
    # The hang-up may overtake the return of the write that we have read already.
    ready = "try: print('ready', flush=True)\nexcept OSError: pass\n"
    start(opened, tmp_path, f"{note}{ready}while True: signal.pause()")
    os.close(opened._fd)
    os.waitpid(opened.pid, 0)
    deadline = time.monotonic() + DEADLINE
    while not (tmp_path / "hung").exists():
        assert time.monotonic() < deadline
        os.sched_yield()


def test_script_run_without_a_terminal_needs_none(tmp_path: Path) -> None:
    done = subprocess.run(
        run_command("echo", "x"), cwd=tmp_path, env=environment(tmp_path), stdin=subprocess.DEVNULL,
        capture_output=True, start_new_session=True, check=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == (b"x\n", b"")
