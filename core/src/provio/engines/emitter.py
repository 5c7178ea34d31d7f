"""The Emitter: one event, one line, one ``write`` to a file that nobody else writes.

Theory of operation. Each process that emits has its own file, opened O_APPEND
and named at random, so emitters need no lock between them and work on network
file systems. A line reaches the kernel with a single system call: after SIGKILL
a file holds whole lines, or, where the disk was full, at most a torn last one,
because a short write is cut off again or the file is left behind for a new one.

Capture never harms the run: ``emit`` does not raise. The first failure is said
once on stderr, all are counted, and the count reaches the spool as a Gap if the
spool can be written again.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
from pathlib import Path
from typing import Final

from provio.engines.extensions import take_failures
from provio.engines.host import stamp
from provio.engines.redact import redact_event
from provio.model.events import Event, GapSeen, to_json
from provio.model.gaps import GapKind

_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class Emitter:
    """Writes the events of one process to a spool.

    Usable from several threads and, after a fork, from the child (which then
    has a file of its own). ``lost`` counts the events that could not be written.
    """

    def __init__(self, directory: str | os.PathLike[str], *, warn: bool = True) -> None:
        self._directory = Path(directory)
        self._warn = warn
        self._warned = False
        self.lost = 0
        self._begin()

    def emit(self, event: Event) -> None:
        """Append an event, redacted; never raises."""
        if os.getpid() != self._pid:
            self._begin()
        try:
            line = _line(redact_event(event), next(self._seq))
            with self._lock:
                self._append(line)
        except Exception as error:  # noqa: BLE001 - whatever it is, the workflow goes on
            self._failed(error)

    def close(self, timeout: float = 5.0) -> bool:
        """Close the file; tell whether every event so far was written.

        A later ``emit`` opens a new file. ``timeout`` (seconds) bounds the wait
        for another thread that is writing, for example to a hanging file system.
        """
        if self.lost:
            self.emit(_lost_gap(self.lost))
        for text in take_failures():
            kind = GapKind.PLUGIN_FAILED.value
            self.emit(GapSeen(stamp=stamp(), kind=kind, scope="run", detail=text))
        if not self._lock.acquire(timeout=timeout):
            return False
        try:
            self._drop_file()
        finally:
            self._lock.release()
        return self.lost == 0

    def _begin(self) -> None:
        """Start without a file, as a new emitter or in a forked child."""
        self._pid = os.getpid()
        self._lock = threading.RLock()  # a signal handler may emit while its thread does
        self._seq = itertools.count()
        self._fd = -1
        self._size = 0

    def _append(self, line: bytes) -> None:
        if self._fd < 0:
            self._open()
        written = os.write(self._fd, line)
        if written != len(line):
            self._cut_back()
            raise OSError(28, os.strerror(28))  # ENOSPC: the kernel took a part only
        self._size += written

    def _open(self) -> None:
        name = self._directory / f"{os.urandom(16).hex()}.jsonl"
        self._fd = os.open(name, _FLAGS, 0o600)
        self._size = 0

    def _cut_back(self) -> None:
        """Remove a torn line; where that fails, leave the file with it as its last line."""
        try:
            os.ftruncate(self._fd, self._size)
        except OSError:
            self._drop_file()

    def _drop_file(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def _failed(self, error: Exception) -> None:
        self.lost += 1
        if self._warned or not self._warn:
            return
        self._warned = True
        reason = getattr(error, "strerror", None) or error
        warn(f"events cannot be written to {self._directory} ({reason}); the run goes on unrecorded")


def warn(text: str) -> None:
    """Say one line on stderr; a closed stderr is no reason to fail."""
    try:
        sys.stderr.write(f"provio: {text}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        pass


def _line(event: Event, seq: int) -> bytes:
    """Return the line of an event. ASCII: lone surrogates of odd file names survive as escapes."""
    return json.dumps(to_json(event, seq), separators=(",", ":"), default=str).encode("ascii") + b"\n"


def _lost_gap(count: int) -> GapSeen:
    kind = GapKind.RECORDS_LOST.value
    return GapSeen(
        stamp=stamp(), kind=kind, scope="run", detail="events of the engine were lost", count=count
    )
