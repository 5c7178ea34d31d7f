"""What the kill tests share: starting programs, killing them at a counted moment, reading answers."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WRITER = Path(__file__).with_name("kill_writer.py")
RECORD_BYTES = 64
PROVIO = (sys.executable, "-m", "provio")
DEADLINE_S = 60


def clean_environment(**more: str) -> dict[str, str]:
    """This process's environment without anything that would change where provio stores."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PROVIO_", "SNAKEMAKE_"))}
    return kept | more


def start(argv: tuple[str, ...], cwd: Path, **environment: str) -> subprocess.Popen[bytes]:
    """Start a program in its own session, its talk kept out of the way."""
    return subprocess.Popen(
        argv,
        cwd=cwd,
        env=clean_environment(**environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def provio(*argv: str, cwd: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run one provio command to its end; the next command must answer within the deadline."""
    return subprocess.run(
        (*PROVIO, *argv),
        cwd=cwd,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=check,
    )


def answer(*argv: str, cwd: Path) -> Any:
    """Run a provio command with --json and return its data."""
    return json.loads(provio(*argv, "--json", cwd=cwd).stdout)


class Counter:
    """The writer's own truth, in shared memory that outlives it."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(16))
        self.path = path
        self._file = path.open("r+b")
        self._memory = mmap.mmap(self._file.fileno(), 16)

    def read(self) -> tuple[int, int]:
        """Return the writer's pid and its completed writes."""
        return struct.unpack("<qq", self._memory[:16])

    def reach(self, count: int, keep: subprocess.Popen[bytes]) -> int:
        """Wait until that many writes are complete or the writer's starter ended; return the pid."""
        end = time.monotonic() + DEADLINE_S
        while True:
            pid, done = self.read()
            if done >= count and pid:
                return pid
            if keep.poll() is not None:
                return pid
            assert time.monotonic() < end, f"{self.path}: {done} of {count} writes within {DEADLINE_S} s"
            os.sched_yield()

    def close(self) -> None:
        """Let go of the memory."""
        self._memory.close()
        self._file.close()


@contextlib.contextmanager
def counting(path: Path) -> Iterator[Counter]:
    """A Counter for one trial."""
    counter = Counter(path)
    try:
        yield counter
    finally:
        counter.close()


def kill(pid: int) -> None:
    """Send SIGKILL to one process that may be gone already."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def gone(pid: int) -> None:
    """Wait until a process that may not be our child has ended."""
    with contextlib.suppress(ProcessLookupError):
        watched = os.pidfd_open(pid)
        try:
            import select

            readable, _, _ = select.select([watched], [], [], DEADLINE_S)
            assert readable, f"process {pid} still runs after {DEADLINE_S} s"
        finally:
            os.close(watched)
