"""The store of a user or project: which runs it has, their generations, and what may go.

Here: listing, finding a run by prefix, name or ``last``, garbage collection.
Sealing and answering for live runs is ``provio.pipeline``; where the store lies
is ``provio.engines.place``.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provio.engines.place import find_store
from provio.engines.spool import Spool, spools
from provio.errors import EvidenceError, StoreError, UsageError
from provio.model.ids import is_id
from provio.store.generation import Generation
from provio.store.numbers import generation_numbers

if TYPE_CHECKING:
    from provio.model.runs import RunRecord


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run of a store.

    Attributes:
        state: succeeded, failed, cancelled, crashed (sealed), running (being
            recorded here), open (nobody here can tell whether it is over), ended
            (over and not sealed yet), unreadable (its spool cannot be read).
        generation: number of the newest one, 0 if never sealed.
        attempts: how many, -1 before it is sealed.
        spooled: its spool still exists.
    """

    id: str
    name: str
    engine: str
    engine_version: str
    workflow: str
    cwd: str
    host: str
    user: str
    state: str
    started_ns: int
    ended_ns: int
    generation: int
    attempts: int
    spooled: bool

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Removal:
    """A spool that ``gc`` removed, would remove (``removable``), or keeps for a reason."""

    run: str
    path: str
    bytes: int
    removable: bool
    removed: bool
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {name: getattr(self, name) for name in self.__slots__}


class Store:
    """A ``.provio`` directory.

    Args:
        path: the directory; it need not exist (then there are no runs).
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        self._opened: Generation | None = None

    @classmethod
    def find(cls, override: str | os.PathLike[str] | None = None) -> Store:
        """Return the store of the current directory (or the override); it need not exist yet."""
        return cls(find_store(Path.cwd(), override, create=False).path)

    def spool(self, run: str) -> Path:
        """Return the place of a run's spool."""
        return self.path / "spool" / run

    def generations(self, run: str) -> Path:
        """Return the directory of a run's generations."""
        return self.path / "runs" / run

    def newest(self, run: str) -> Generation | None:
        """Open the newest generation of a run, None if it was never sealed.

        Raises:
            StoreError: it cannot be read.
        """
        numbers = generation_numbers(self.generations(run))
        if not numbers:
            return None
        path = self.generations(run) / f"g{numbers[-1]}"
        if self._opened is None or self._opened.path != path:
            self._opened = Generation(path)
        return self._opened

    def run_ids(self) -> list[str]:
        """Return the ids of all runs, in no order."""
        spooled = {path.name for path in spools(self.path)}
        try:
            sealed = {e.name for e in os.scandir(self.path / "runs") if is_id(e.name)}
        except OSError:
            sealed = set()
        return list(spooled | {run for run in sealed if generation_numbers(self.generations(run))})

    def runs(self) -> list[RunSummary]:
        """Return all runs, oldest first."""
        return sorted((self.summary(run) for run in self.run_ids()), key=lambda s: (s.started_ns, s.id))

    def summary(self, run: str) -> RunSummary:
        """Describe one run from its newest manifest, else from its ``run.json``."""
        try:
            generation = self.newest(run)
        except StoreError:
            generation = None
        spool = self.spool(run)
        if generation is not None:
            return _sealed(generation, spooled=spool.is_dir())
        try:
            return _spooled(Spool.open(spool).run, _state(spool))
        except EvidenceError:
            return RunSummary(run, "", "", "", "", "", "", "", "unreadable", 0, 0, 0, -1, spool.is_dir())

    def resolve(self, name: str | None = None) -> RunSummary:
        """Find one run: by the first digits of its id, its name, or ``last`` (also for None).

        Raises:
            UsageError: none, or several, with what to say instead.
        """
        if name and is_id(name) and name in self.run_ids():
            return self.summary(name)
        found = self.runs()
        if not found:
            raise UsageError(
                f"there are no runs in {self.path}",
                hint="'provio run -- COMMAND' records one; --store or PROVIO_STORE names another store",
            )
        if not name or name == "last":
            return found[-1]
        matching = [s for s in found if s.id.startswith(name.lower())] or [
            s for s in found if s.name == name
        ][-1:]
        if len(matching) == 1:
            return matching[0]
        if matching:
            ids = ", ".join(s.id[:12] for s in matching[:6])
            raise UsageError(f"{name!r} fits {len(matching)} runs: {ids}", hint="give more digits of the id")
        raise UsageError(f"no run {name!r} in {self.path}", hint="'provio runs' lists them")

    def gc(self, *, dry_run: bool = False, only: str | None = None) -> list[Removal]:
        """Remove the spools that a generation covers completely.

        Args:
            dry_run: only tell.
            only: the id of the one run to look at.

        Returns:
            What was (or would be) removed, and what stays with its reason.
        """
        chosen = [path for path in sorted(spools(self.path)) if only in (None, path.name)]
        return [self._collect(path, dry_run=dry_run) for path in chosen]

    def _collect(self, path: Path, *, dry_run: bool) -> Removal:
        run, size = path.name, _size(path)
        reason = self._kept(run, path)
        if reason:
            return Removal(run, str(path), size, removable=False, removed=False, reason=reason)
        if not dry_run:
            # First out of sight in one step, so that a kill leaves no half spool that looks like one.
            gone = path.parent / f".gone-{run}"
            path.rename(gone)
            shutil.rmtree(gone)
        reason = f"covered by {self._covering(run)}"
        return Removal(run, str(path), size, removable=True, removed=not dry_run, reason=reason)

    def _covering(self, run: str) -> str:
        newest = self.newest(run)
        return newest.path.name if newest else ""

    def _kept(self, run: str, path: Path) -> str:
        """Say why a spool must stay, "" if it may go."""
        try:
            newest = self.newest(run)
        except StoreError as error:
            return f"its newest generation cannot be read: {error.message}"
        if newest is None:
            return "never sealed"
        if newest.state == "running":
            return "the run was not over when it was sealed"
        if problems := newest.verify():
            return f"{newest.path.name} is damaged: {problems[0]}"
        covered = newest.manifest.get("spool", {})
        now = _evidence(path)
        grown = [name for name, size in now.items() if covered.get(name, {}).get("size") != size]
        if grown:
            return f"evidence came after {newest.path.name} was sealed: {grown[0]}"
        if any(gap == "still-running" for gap in newest.manifest.get("gaps", {})):
            return "a process was alive when it was sealed"
        return ""


def _evidence(path: Path) -> dict[str, int]:
    """Return the size of every file of a spool that could be evidence."""
    return {
        str(p.relative_to(path)): p.lstat().st_size
        for p in sorted(path.rglob("*"))
        if p.is_file() and not p.name.startswith("seal")
    }


def _size(path: Path) -> int:
    return sum(p.lstat().st_blocks * 512 for p in path.rglob("*") if p.is_file())


def _sealed(generation: Generation, *, spooled: bool) -> RunSummary:
    run = generation.manifest["run"]
    text = {
        k: str(run.get(k) or "")
        for k in ("name", "engine", "engine_version", "workflow", "cwd", "host", "user")
    }
    return RunSummary(
        id=generation.run,
        state=generation.state,
        started_ns=int(run.get("started_ns") or 0),
        ended_ns=int(run.get("ended_ns") or 0),
        generation=generation.number,
        attempts=int(generation.manifest.get("counts", {}).get("attempts", -1)),
        spooled=spooled,
        **text,
    )


def _spooled(run: RunRecord, state: str) -> RunSummary:
    return RunSummary(
        run.run_id, run.name, run.engine, run.engine_version, run.workflow, run.cwd, run.host, run.user,
        state, run.started_real, 0, 0, -1, spooled=True,
    )  # fmt: skip


def _state(spool: Path) -> str:
    """Tell the state of a run that was never sealed, without decoding its evidence.

    ``ended`` if run.end is there; else by its engine's process. What other
    processes still do is found out when it is sealed.
    """
    from provio.engines.host import boot_id, start_ticks

    if any(_says_end(path) for path in sorted((spool / "events").glob("*.jsonl"))):
        return "ended"
    run = Spool.open(spool).run
    if run.boot_id != boot_id():
        return "open"
    alive = start_ticks(run.pid)
    return "running" if alive and alive == run.start_ticks else "ended"


def _says_end(path: Path) -> bool:
    """Tell whether an event file ends a run; read from its tail, where that line is."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 65536))
            lines = file.read().splitlines()
    except OSError:  # reading the evidence says what is wrong with it
        return False
    for line in reversed(lines):
        if b'"run.end"' in line:
            try:
                return bool(json.loads(line).get("type") == "run.end")
            except (ValueError, AttributeError):
                continue
    return False
