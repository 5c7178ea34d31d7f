"""Run the real ``provio`` from tests, and read back what it recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import provio
from provio.importers.events import read_spool_events

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from provio.model.events import Event

SOURCES = str(Path(provio.__file__).resolve().parent.parent)


def provio_command(*arguments: str) -> list[str]:
    """Return the command line of ``provio``."""
    return [sys.executable, "-m", "provio", *arguments]


def run_command(*command: str, options: Sequence[str] = ()) -> list[str]:
    """Return ``provio run`` of a command, without a sealer that would outlive the test."""
    return provio_command("run", "--no-seal", *options, "--", *command)


def environment(home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return this environment with a home of its own and without what provio itself sets."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("PROVIO_", "XDG_", "PYTEST_"))}
    plain |= {"HOME": str(home), "PYTHONPATH": SOURCES, "PYTHONDONTWRITEBYTECODE": "1"}
    return plain | dict(extra or {})


def provio_run(
    *command: str, cwd: Path, options: Sequence[str] = (), extra: Mapping[str, str] | None = None, **more: Any
) -> subprocess.CompletedProcess[bytes]:
    """Run a command under ``provio run`` and return how it went, in bytes."""
    return subprocess.run(
        run_command(*command, options=options),
        cwd=cwd,
        env=environment(cwd, extra),
        capture_output=True,
        check=False,
        timeout=60,
        **more,
    )


def only_spool(directory: Path) -> Path:
    """Return the one spool of the store in a directory."""
    (spool,) = (directory / ".provio" / "spool").iterdir()
    return spool


def events_of(directory: Path) -> list[Event]:
    """Return the events of the one run recorded in a directory."""
    events, gaps = read_spool_events(only_spool(directory))
    assert gaps == []
    return events
