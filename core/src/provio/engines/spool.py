"""The spool: the append-only evidence of one run, ``<store>/spool/<run-id>/``.

    run.json     who runs what, where (``provio.model.runs``), complete from the start
    events/      one file per emitting process, one JSON object a line
    io/          what tracers write

Here: making and opening it, and describing the run. Reading events is
``provio.importers.events``; sealing is ``provio.pipeline``.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provio.engines import host
from provio.engines.choice import choose
from provio.engines.emitter import Emitter
from provio.engines.extensions import extend
from provio.engines.redact import redact_argv, redact_text
from provio.errors import EvidenceError
from provio.model.ids import ENGINE, AttemptId, RunId, is_id, new_run_id
from provio.model.runs import RunRecord

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Spool:
    """An existing spool.

    Attributes:
        path: ``<store>/spool/<run-id>``.
        run: its record.
    """

    def __init__(self, path: Path, run: RunRecord) -> None:
        self.path = path
        self.run = run

    @property
    def store(self) -> Path:
        """The store it lies in."""
        return self.path.parent.parent

    @property
    def events(self) -> Path:
        """Directory of the event files."""
        return self.path / "events"

    @property
    def io(self) -> Path:
        """Directory of what tracers write."""
        return self.path / "io"

    @classmethod
    def create(cls, store: str | os.PathLike[str], run: RunRecord) -> Spool:
        """Make the spool of a run at once: it appears complete, or not at all.

        The settings of the store apply from here on: what is redacted besides the
        built-in names and, where the record leaves ``mode`` empty, the mode.

        Raises:
            OSError: the store cannot be written, or the run exists.
        """
        choice = choose(Path(store).absolute())
        run = replace(run, mode=run.mode or choice.mode, argv=tuple(redact_argv(run.argv)))
        parent = Path(store).absolute() / "spool"
        parent.mkdir(mode=0o700, exist_ok=True)
        beside = parent / f".new-{run.run_id}"
        try:
            _fill(beside, run)
            beside.rename(parent / run.run_id)
        except OSError:
            shutil.rmtree(beside, ignore_errors=True)
            raise
        return cls(parent / run.run_id, run)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Spool:
        """Open a spool directory.

        Raises:
            EvidenceError: it holds no ``run.json`` that this version can read.
        """
        folder = Path(path).absolute()
        record = folder / "run.json"
        try:
            return cls(folder, RunRecord.from_json(json.loads(record.read_bytes())))
        except (OSError, ValueError, AttributeError) as error:
            raise EvidenceError(
                f"{record} cannot be read: {error}",
                hint="a newer provio may have written it; 'provio --version' tells which one this is",
            ) from error

    def emitter(self, *, warn: bool = True) -> Emitter:
        """Return an emitter for this process; plugins may redact what it writes."""
        extend()
        return Emitter(self.events, warn=warn)


def spools(store: str | os.PathLike[str]) -> list[Path]:
    """Return the spool directories of a store, in no order."""
    try:
        return [Path(entry.path) for entry in os.scandir(Path(store) / "spool") if is_id(entry.name)]
    except OSError:
        return []


def describe_run(
    *,
    engine: str,
    engine_version: str,
    workflow: str,
    cwd: str | None = None,
    argv: Sequence[str] = (),
    name: str = "",
    mode: str = "",
    tracers: Sequence[str] = (),
    run_id: RunId | None = None,
    parent: tuple[RunId, AttemptId] | None = None,
    attributes: Mapping[str, Any] | None = None,
) -> RunRecord:
    """Fill in the record of a run that begins now in this process.

    Args:
        engine: short name, such as ``snakemake``.
        engine_version: its version.
        workflow: its identity; see ``RunRecord``.
        cwd: directory of the workflow, by default this process's.
        argv: command line; redacted here.
        name: for people.
        mode: aggregate, full, or off; empty: what the settings say.
        tracers: names of those that are armed.
        run_id: minted here by default.
        parent: run and attempt around it, by default what this process itself carries.
        attributes: what else the engine wants to say.
    """
    from provio import __version__
    from provio.engines.context import current_context

    extend()
    outer = current_context() if parent is None else None
    if outer:
        parent = (outer.run, outer.attempt)
    now = host.stamp()
    return RunRecord(
        run_id=run_id or new_run_id(),
        engine=engine,
        engine_version=engine_version,
        workflow=redact_text(workflow),
        name=redact_text(name),
        cwd=os.getcwd() if cwd is None else cwd,  # noqa: PTH109 - a str is wanted
        argv=tuple(redact_argv(argv)),
        host=now.host,
        boot_id=now.boot_id,
        machine_id=host.machine_id(),
        uid=os.geteuid(),
        user=host.user_name(),
        pid=now.pid,
        start_ticks=host.start_ticks(now.pid),
        pidns=host.pid_namespace(),
        started_real=now.real,
        started_mono=now.mono,
        mode=mode,
        tracers=tuple(tracers),
        parent_run=parent[0] if parent else None,
        parent_attempt=parent[1] if parent and parent[1] != ENGINE else None,
        provio_version=__version__,
        libc=host.libc_version(),
        kernel=os.uname().release,
        attributes=dict(attributes or {}),
    )


def _fill(folder: Path, run: RunRecord) -> None:
    folder.mkdir(mode=0o700)
    for name in ("events", "io"):
        (folder / name).mkdir(mode=0o700)
    text = json.dumps(run.to_json(), indent=1, default=str) + "\n"
    (folder / "run.json").write_text(text, encoding="ascii")
