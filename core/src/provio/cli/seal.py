"""``provio seal``: turn the recorded evidence of runs into generations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from provio.cli._answers import open_store
from provio.cli._options import Command, common_options, emit_json, emit_lines, note, progress
from provio.errors import ProvioError, UsageError

if TYPE_CHECKING:
    from provio.store import Generation, RunSummary, Store

VERSION = 1


@click.command(
    cls=Command,
    examples=(
        "provio seal                       the last run",
        "provio seal 3f2a                  the run whose id begins so",
        "provio seal --all                 every run that is over and not sealed yet",
        "provio seal 3f2a --force          a run of another host that never said its end",
    ),
    exits="0 fine, 2 no such run, 3 the analysis libraries are missing, 4 unreadable evidence, "
    "5 the run is not over, or the store cannot be written.",
)
@click.argument("which", metavar="[RUN]", required=False)
@click.option("--all", "every", is_flag=True, help="Seal every run that is over and not sealed yet.")
@click.option("--force", is_flag=True, help="Seal also what is not known to be over, and seal anew.")
@click.option(
    "--detached", is_flag=True, help="Say nothing on success; for engines that start this at their end."
)
@common_options
def command(
    *, which: str | None, every: bool, force: bool, detached: bool, run: str | None, store: str | None,
    as_json: bool,
) -> int:  # fmt: skip
    """Seal a run.

    Reads the run's spool, decides which task did what, and writes the next
    generation of its answers, atomically. Sealing again without new evidence
    changes nothing. Other commands seal by themselves where needed.
    """
    if every and (which or run):
        raise UsageError("--all and a run exclude each other", hint="name a run, or use --all")
    opened = open_store(store)
    runs = _unsealed(opened) if every else [opened.resolve(which or run)]
    done, failed = _seal(opened, runs, force=force, alone=not every)
    if as_json:
        emit_json({"version": VERSION, "sealed": [_described(g) for g in done], "failed": failed})
    elif not detached:
        emit_lines(_line(g) for g in done)
        if every and not done:
            note("nothing to seal")
    return int(failed[0]["exit_code"]) if failed else 0


def _unsealed(store: Store) -> list[RunSummary]:
    """Return the runs that have evidence to seal: over, or with evidence that came later."""
    return [s for s in store.runs() if s.spooled and s.state not in ("running", "open", "unreadable")]


def _seal(
    store: Store, runs: list[RunSummary], *, force: bool, alone: bool
) -> tuple[list[Generation], list[dict[str, Any]]]:
    """Seal runs; of several, one that fails does not keep the others from it."""
    from provio.pipeline import seal

    done: list[Generation] = []
    failed: list[dict[str, Any]] = []
    for one in runs:
        try:
            with progress(f"sealing {one.id[:12]}") as update:
                done.append(seal(store, one.id, force=force, progress=update))
        except ProvioError as error:
            if alone:
                raise
            note(f"provio: run {one.id[:12]}: {error.message}\nhint: {error.hint}")
            failed.append({"id": one.id, "message": error.message, "exit_code": error.exit_code})
    return done, failed


def _described(generation: Generation) -> dict[str, Any]:
    return {
        "id": generation.run,
        "generation": generation.number,
        "path": str(generation.path),
        "state": generation.state,
        "counts": dict(generation.manifest["counts"]),
        "gaps": dict(generation.manifest["gaps"]),
    }


def _line(generation: Generation) -> str:
    counts = generation.manifest["counts"]
    return (
        f"{generation.run[:12]}  {generation.state}  generation {generation.number}: "
        f"{counts['attempts']} attempts, "
        f"{counts['processes']} processes, {counts['versions']} file versions"
    )
