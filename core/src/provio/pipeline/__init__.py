"""The pipeline composes readers, reconciler and store; nothing else imports all three.

``seal`` turns a spool into a generation; ``answer`` gives the generation that
answers for a run now: the newest that covers its evidence, sealing first where
that is missing, or a temporary one of a running workflow. Both import the
analysis libraries only when called.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from provio.errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Callable

    from provio.store import Generation, RunSummary, Store

__all__ = ["answer", "seal"]


def seal(
    store: Store, run_id: str, *, force: bool = False, progress: Callable[[int, int], None] | None = None
) -> Generation:
    """Seal a run and return its newest generation.

    Repeatable: the same evidence gives the same tables, and no new generation.
    Atomic: a kill at any point leaves nothing or a whole generation.

    Args:
        store: the store.
        run_id: a full run id.
        force: also seal a run that is not known to be over, and do it anew.
        progress: called with (steps done, steps in all).

    Raises:
        SetupError: the analysis libraries are not installed; the spool stays.
        StoreError: the run is not over, or the store cannot be written.
        EvidenceError: its spool cannot be read.
        UsageError: there is no such run.
    """
    _require_analysis()
    from provio.pipeline.sealing import seal_run

    return seal_run(store, run_id, force=force, progress=progress)


def answer(
    store: Store, run: RunSummary | str | None = None, *, progress: Callable[[int, int], None] | None = None
) -> Generation:
    """Return the generation that answers for a run now.

    Args:
        store: the store.
        run: what ``Store.resolve`` takes: an id, its first digits, a name, ``last`` or None; or its result.
        progress: called with (steps done, steps in all) while sealing.

    A run that is over and not sealed is sealed in the foreground; a running (or
    open) one gives a temporary generation, removed at exit, with state
    ``running`` and an as-of time; so does one whose store cannot be written,
    with the state that it has.

    Raises:
        SetupError, StoreError, EvidenceError, UsageError: as ``seal``.
    """
    run_id = (store.resolve(run) if run is None or isinstance(run, str) else run).id
    covering = _sealed(store, run_id)
    if covering is not None:
        return covering
    _require_analysis()
    from provio.pipeline.liveness import Liveness
    from provio.pipeline.sealing import is_over, live_generation, seal_run

    writable = not store.path.is_dir() or os.access(store.path, os.W_OK | os.X_OK)
    if not store.spool(run_id).is_dir() or (writable and is_over(store.spool(run_id)) == Liveness.OVER):
        return seal_run(store, run_id, progress=progress)
    folder = Path(tempfile.mkdtemp(prefix="provio-live-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return live_generation(store, run_id, folder / "g0")


def _sealed(store: Store, run_id: str) -> Generation | None:
    """Return the newest generation where it covers the evidence; needs no library."""
    newest = store.newest(run_id)
    if newest is None:
        return None
    from provio.pipeline.spoolread import covers

    spool = store.spool(run_id)
    return newest if not spool.is_dir() or covers(newest.manifest, spool) else None


def _require_analysis() -> None:
    missing = []
    for name in ("numpy", "pyarrow"):
        try:
            __import__(name)
        except ImportError:
            missing.append(name)
    if missing:
        raise SetupError(
            f"sealing needs {' and '.join(missing)}; the spool stays as it is",
            hint="pip install 'provio[analyse]' here or where the store can be read, then 'provio seal'",
        )
