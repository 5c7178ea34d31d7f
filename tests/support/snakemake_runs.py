"""Real Snakemake runs in a temporary directory, and what the plugin wrote about them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from provio.model import events as ev

if TYPE_CHECKING:
    from pathlib import Path

Writer = Callable[[str], "Workflow"]
"""Writes a Snakefile."""


class Workflow:
    """A directory with a Snakefile."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, text: str) -> None:
        """Write a file of it."""
        (self.path / name).write_text(text)

    def run(
        self, *arguments: str, code: int | None = 0, env: dict[str, str | None] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run Snakemake; sealing is left out unless a test asks for it. None takes a variable away."""
        with self.start(*arguments, env=env) as process:
            out, err = process.communicate(timeout=120)
        assert code is None or process.returncode == code, err
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def start(self, *arguments: str, env: dict[str, str | None] | None = None) -> subprocess.Popen[str]:
        """Start Snakemake in a process group of its own."""
        command = [sys.executable, "-m", "snakemake", "--cores", "2", *arguments]
        base = {k: v for k, v in os.environ.items() if not k.startswith(("PROVIO_", "SNAKEMAKE_"))}
        chosen = {"SNAKEMAKE_LOGGER_PROVIO_SEAL": "no"} | (env or {})
        base |= {name: value for name, value in chosen.items() if value is not None}
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=self.path, env=base, stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )

    def traced(self, *arguments: str, **options: Any) -> Recorded:
        """Run with the plugin and return what it recorded."""
        self.run(*arguments, "--logger", "provio", **options)
        return self.recorded()

    def recorded(self, store: str = ".provio") -> Recorded:
        spools = sorted(
            (self.path / store / "spool").iterdir(), key=lambda p: (p / "run.json").stat().st_mtime_ns
        )
        return Recorded(spools[-1])


class Recorded:
    """The events of one run, read back."""

    def __init__(self, spool: Path) -> None:
        self.spool = spool
        self.run = json.loads((spool / "run.json").read_text())
        lines = [
            line for file in sorted((spool / "events").iterdir()) for line in file.read_text().splitlines()
        ]
        self.events = sorted((ev.from_json(json.loads(line)) for line in lines), key=lambda e: e.stamp.mono)

    def of(self, kind: type[ev.T]) -> list[ev.T]:
        return [event for event in self.events if isinstance(event, kind)]

    def attempts(self, rule: str) -> list[SimpleNamespace]:
        """The attempts of a rule in order of time: start, last end, processes."""
        ends = {end.attempt: end for end in self.of(ev.TaskEnded)}
        first: dict[str, ev.TaskStarted] = {}
        for start in self.of(ev.TaskStarted):
            if start.logical == rule:
                first.setdefault(start.attempt, start)
        return [
            SimpleNamespace(
                id=attempt,
                start=start,
                end=ends.get(start.attempt),
                processes=[p for p in self.of(ev.ProcessStarted) if p.attempt == attempt],
            )
            for attempt, start in first.items()
        ]

    def declared(self, rule: str) -> dict[tuple[str, str], tuple[str, ...]]:
        """Flags by (role, value relative to the workflow)."""
        declared = self.attempts(rule)[0].start.declared
        root = self.run["cwd"]
        return {
            (d.role, os.path.relpath(d.value, root) if d.value.startswith(root) else d.value): d.flags
            for d in declared
        }

    def gaps(self) -> list[str]:
        return [gap.kind for gap in self.of(ev.GapSeen)]
