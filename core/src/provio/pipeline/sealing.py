"""Seal a run: spool → evidence → facts → a new generation, or the one that says the same already.

Theory of operation. (1) If the newest generation covers every byte of the
spool and nothing of it was alive then, it is the answer. (2) Otherwise claim
the run, so that two sealers do not do the same work. (3) List the evidence with
its sizes, read it, reconcile it. (4) Take digests. (5) Write the tables beside,
compare with the newest generation, and only if something differs rename into
place. A kill anywhere leaves what was there before or the whole new generation.

``build`` is also what answers for a running workflow, see ``live``.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from provio import __version__
from provio.engines.host import boot_id
from provio.engines.spool import Spool
from provio.errors import StoreError, UsageError
from provio.importers.events import read_spool_events
from provio.model.events import RunEnded
from provio.pipeline.assemble import Assembled, assemble, no_collection
from provio.pipeline.digests import take_digests
from provio.pipeline.liveness import Liveness
from provio.pipeline.retouched import explained_times
from provio.pipeline.spoolread import SpoolListing, covers, described, io_changed, list_spool
from provio.pipeline.tables import build_tables, coverage_json
from provio.plugins.guard import open_guard, site_rule
from provio.reconcile import reconcile
from provio.store import Generation, Store
from provio.store.claims import claimed
from provio.store.manifest import FORMAT, VERSION, describe_files, write_manifest
from provio.store.writer import new_generation, publish, write_tables

if TYPE_CHECKING:
    from pathlib import Path

    from provio.model.facts import Facts

Progress = Callable[[int, int], None]
_STEPS = 5


def _no_progress(done: int, total: int) -> None:
    """Show nothing."""


@dataclass(slots=True)
class Built:
    """What a generation is made of, before it is written."""

    found: Assembled
    facts: Facts
    listing: SpoolListing
    io_changed: int
    digests: Mapping[int, str]


def seal_run(store: Store, run: str, *, force: bool = False, progress: Progress | None = None) -> Generation:
    """Seal one run; see ``provio.pipeline.seal``."""
    step = progress or _no_progress
    spool = store.spool(run)
    if not spool.is_dir():
        return _without_spool(store, run)
    covering = _covering(store, run, spool, force=force)
    if covering is not None:
        return covering
    runs = store.generations(run)
    with claimed(runs, done=lambda: _covering(store, run, spool, force=force) is not None) as mine:
        if not mine:
            return _newest(store, run)
        step(0, _STEPS)
        with no_collection():
            built = build(spool, force=force, step=step)
            if built.found.liveness != Liveness.OVER and not force:
                raise _not_over(run, built.found.liveness)
            generation = _write(store, run, built)
        step(_STEPS, _STEPS)
        return generation


def build(spool: Path, *, force: bool = False, digests: bool = True, step: Progress | None = None) -> Built:
    """Read a spool and reconcile it; nothing is written but digests into the spool."""
    step = step or _no_progress
    changed = io_changed(spool)
    listing = list_spool(spool)
    record = Spool.open(spool).run
    events, gaps = read_spool_events(spool)
    guard = open_guard()
    found = assemble(record, events, gaps, listing, guard)
    if force and found.liveness != Liveness.OVER:
        found.evidence = replace(found.evidence, over=True)
    step(1, _STEPS)
    facts = reconcile(found.evidence, [site_rule(guard, found.evidence.events)])
    facts = replace(facts, gaps=(*facts.gaps, *guard.gaps))
    step(3, _STEPS)
    taken: dict[int, str] = {}
    if digests:
        files = {f.file: f for f in found.evidence.files}
        taken = take_digests(spool, facts.versions, files, explained_times(found))
    step(4, _STEPS)
    return Built(found, facts, listing, changed, taken)


def write_generation(folder: Path, built: Built, *, as_of_ns: int = 0, sealed_ns: int = 0) -> None:
    """Write the tables and the manifest of a generation into an empty folder."""
    rows = write_tables(folder, build_tables(built.found, built.facts, built.digests))
    if built.found.run.mode == "full":
        from provio.pipeline.operations import write_records

        write_records(folder / "records", built.found)
    manifest = manifest_of(built, describe_files(folder), as_of_ns=as_of_ns, sealed_ns=sealed_ns)
    write_manifest(folder, manifest | {"rows": rows})


def manifest_of(built: Built, files: Mapping[str, Any], *, as_of_ns: int, sealed_ns: int) -> dict[str, Any]:
    """Return the manifest of what was built."""
    found, facts, run = built.found, built.facts, built.found.run
    ends = [e.stamp.real for e in found.evidence.events if isinstance(e, RunEnded) and e.run == run.run_id]
    gaps: dict[str, int] = {}
    for gap in facts.gaps:
        gaps[str(gap.kind)] = gaps.get(str(gap.kind), 0) + 1
    plain = run.to_json()
    kept = ("name", "engine", "engine_version", "workflow", "cwd", "argv", "host", "user", "uid", "mode",
            "tracers", "parent_run", "parent_attempt", "provio_version", "libc", "kernel")  # fmt: skip
    started = {"started_ns": run.started_real, "ended_ns": max(ends, default=0)}
    return {
        "format": FORMAT,
        "version": VERSION,
        "run": {"id": run.run_id, **{k: plain[k] for k in kept}, **started},
        "state": facts.state,
        "as_of_ns": as_of_ns,
        "sealed_ns": sealed_ns,
        "coverage": coverage_json(facts),
        "counts": {
            "attempts": len(facts.attempts), "processes": len(found.evidence.images),
            "files": len(found.files.seen), "versions": len(facts.versions),
            "touches": len(found.frame), "derivations": len(facts.derivations),
        },
        "gaps": gaps,
        "tools": _tools(),
        "parents": [run.parent_run] if run.parent_run else [],
        "spool": described(built.listing),
        "settled": _settled(built),
        "alive": sorted({(i.pid, i.start_ticks) for i in found.alive}),
        "files": dict(files),
    }  # fmt: skip


def _settled(built: Built) -> int | None:
    """Return since when no I/O file can change any more (see ``io_changed``), None where one may."""
    own = {image.boot for image in built.found.evidence.images} <= {boot_id()}
    over = built.found.liveness == Liveness.OVER
    return built.io_changed if own and over and not built.found.alive else None


def _tools() -> dict[str, str]:
    import numpy as np
    import pyarrow as pa

    return {"provio": __version__, "numpy": np.__version__, "pyarrow": pa.__version__}


def _write(store: Store, run: str, built: Built) -> Generation:
    runs = store.generations(run)
    with new_generation(runs) as folder:
        write_generation(folder, built, sealed_ns=time.time_ns())
        newest = _readable(store, run)
        if newest is not None and _same(newest, folder):
            return newest
        return Generation(publish(folder, runs))


def _same(newest: Generation, folder: Path) -> bool:
    """Tell whether a generation just written says nothing new (and the old one is intact)."""
    new = Generation(folder).manifest
    old = newest.manifest
    keys = ("files", "state", "coverage", "gaps", "run", "spool", "version")
    return all(old.get(k) == new.get(k) for k in keys) and not newest.verify()


def _readable(store: Store, run: str) -> Generation | None:
    try:
        return store.newest(run)
    except StoreError:
        return None  # a damaged or newer generation stays where it is; a new one is made after it


def _covering(store: Store, run: str, spool: Path, *, force: bool) -> Generation | None:
    """Return the newest generation if it covers the spool as it is now."""
    if force:
        return None
    newest = _readable(store, run)
    return newest if newest is not None and covers(newest.manifest, spool) else None


def _newest(store: Store, run: str) -> Generation:
    newest = store.newest(run)
    if newest is None:
        raise StoreError(f"{store.generations(run)} lost its generation", hint="seal the run again")
    return newest


def _without_spool(store: Store, run: str) -> Generation:
    """Return what was sealed of a run whose spool is gone."""
    newest = store.newest(run)
    if newest is None:
        raise UsageError(f"there is no run {run} in {store.path}", hint="'provio runs' lists them")
    return newest


def _not_over(run: str, state: Liveness) -> StoreError:
    if state == Liveness.OPEN:
        return StoreError(
            f"nobody on this host can tell whether run {run[:12]} is over: it runs on another one",
            hint="seal it there, or with --force if it is over",
        )
    return StoreError(
        f"run {run[:12]} is not over: its processes are alive",
        hint="'provio show' answers from the live records; --force seals what is there now",
    )


def live_generation(store: Store, run: str, folder: Path) -> Generation:
    """Write a generation of a running workflow into a temporary folder and open it."""
    as_of = time.time_ns()
    built = build(store.spool(run), digests=False)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    write_generation(folder, built, as_of_ns=as_of)
    return Generation(folder)


def is_over(spool: Path) -> Liveness:
    """Tell whether a run is over from its events and processes, without decoding records."""
    from provio.pipeline.liveness import liveness

    events, _ = read_spool_events(spool)
    return liveness(Spool.open(spool).run, events, _images_of(spool))


def _images_of(spool: Path) -> Sequence[Any]:
    """Return the process images of a spool (their records are few beside the rest)."""
    from provio.pipeline.images import build_images
    from provio.tracers.records import read_records

    return build_images(read_records(list_spool(spool).io), ()).images
