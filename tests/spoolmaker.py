"""Make whole spools for tests: run.json, events, I/O files; assemble or seal them.

``Bench`` holds one run. Its engine's process is this one unless ``over()`` or
``dead()`` say otherwise, and all times are of this boot.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

from provio.engines.host import boot_id, host_name, machine_id, start_ticks
from provio.engines.spool import Spool
from provio.importers.events import read_spool_events
from provio.model.events import Event, ProcessRef, RunEnded, Stamp, TaskEnded, TaskStarted, to_json
from provio.model.runs import RunRecord
from provio.pipeline.assemble import Assembled, assemble
from provio.pipeline.spoolread import list_spool
from spoolwriter import Writer

if TYPE_CHECKING:
    from pathlib import Path

RUN = "ab" * 16
ATTEMPTS = tuple(f"{n:x}" * 32 for n in range(1, 10))


def stamp(mono: int) -> Stamp:
    """A moment of this boot."""
    return Stamp(mono, 10**18 + mono, boot_id(), host_name(), os.getpid(), os.getpid())


class Bench:
    """One run in a store below ``tmp_path``."""

    def __init__(self, tmp_path: Path, run: str = RUN, **record: Any) -> None:
        self.store = tmp_path / ".provio"
        self.run = run
        self.path = self.store / "spool" / run
        for name in ("events", "io"):
            (self.path / name).mkdir(parents=True)
        values: dict[str, Any] = {
            "run_id": run, "engine": "local", "engine_version": "1", "workflow": "w", "cwd": str(tmp_path),
            "host": host_name(), "boot_id": boot_id(), "machine_id": machine_id(), "pid": os.getpid(),
            "start_ticks": start_ticks(os.getpid()), "started_real": 10**18, "started_mono": 0,
            "tracers": ("preload",),
        }  # fmt: skip
        self.record = RunRecord(**{**values, **record})
        (self.path / "run.json").write_text(json.dumps(self.record.to_json()))
        self._lines = 0

    def writer(self, attempt: str = "", **header: Any) -> Writer:
        """An I/O file of this run, host and boot; ``store`` it under a name."""
        base = {
            "boot": boot_id(),
            "run": self.run,
            "host": host_name().encode(),
            "realtime": 10**18,
            "monotonic": 0,
        }
        return Writer(attempt, **{**base, **header})

    def add(self, writer: Writer, name: str = "a.preload") -> Path:
        """Store an I/O file."""
        return writer.write(self.path / "io" / name)

    def say(self, event: Event) -> None:
        """Write an event."""
        with (self.path / "events" / "engine.jsonl").open("a") as file:
            file.write(json.dumps(to_json(event, self._lines)) + "\n")
        self._lines += 1

    def task(
        self, attempt: str, logical: str = "sort", *, begin: int = 100, end: int = 9_000, ended: bool = True,
        state: str = "succeeded", pid: int = 100, ordinal: int = 1, **values: Any,
    ) -> None:  # fmt: skip
        """One try of a task."""
        self.say(
            TaskStarted(
                stamp(begin), self.run, attempt, logical, f"{logical}:", ordinal, "shell", "/w",
                ProcessRef(pid, 7), **values,
            )
        )  # fmt: skip
        if ended:
            self.say(TaskEnded(stamp(end), attempt, state, exit_code=int(state != "succeeded")))

    def over(self, state: str = "succeeded") -> None:
        """Say that the run ended."""
        self.say(RunEnded(stamp(time.monotonic_ns()), self.run, state, 0))

    def assemble(self) -> Assembled:
        """Build the evidence."""
        events, gaps = read_spool_events(self.path)
        return assemble(Spool.open(self.path).run, events, gaps, list_spool(self.path))
