"""From ``--store`` and ``--run`` to a generation, and how answers reach the terminal. No facts here."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from provio.cli._options import note, progress, wants_color
from provio.errors import StoreError
from provio.report.text import Style

if TYPE_CHECKING:
    from collections.abc import Iterator

    from provio.query.paths import FoundFile
    from provio.store import Generation, Store


def open_run(store: str | None, run: str | None) -> Generation:
    """Return the generation that answers for a run: sealed, or live where it still runs."""
    from provio.pipeline import answer

    with progress("reading the evidence") as update:
        return answer(open_store(store), run, progress=update)


def open_store(store: str | None) -> Store:
    """Return the store to ask; where it is another than one may expect, say so."""
    from provio.engines.place import find_store
    from provio.store import Store

    place = find_store(Path.cwd(), store, create=False)
    if place.notice:
        note(f"provio: {place.notice}")
    return Store(place.path)


def open_for(file: bytes, store: str | None, run: str | None) -> tuple[Generation, FoundFile]:
    """Return the generation that answers for a file, and the file in it.

    Without ``--run`` that is the last run, else the newest that met a file of
    just that path; then a line says which.

    Raises:
        UsageError: no such run, or no run met the file.
    """
    from provio.query.paths import NeverMetError, find, resolve

    source = open_run(store, run)
    try:
        return source, resolve(source, file)
    except NeverMetError:
        for other in other_runs(store, source.run) if run is None else ():
            if found := find(other, file):
                note(f"provio: the last run never met it; this is run {other.run[:8]}")
                return other, found
        raise


def other_runs(store: str | None, run: str) -> Iterator[Generation]:
    """Yield the generations of the other runs, newest first; one that cannot be read is said and left out."""
    opened = open_store(store)
    for summary in reversed(opened.runs()):
        if summary.id == run or not summary.generation:
            continue
        try:
            generation = opened.newest(summary.id)
        except StoreError as error:
            note(f"provio: run {summary.id[:8]} is left out: {error.message}")
            continue
        if generation is not None:
            yield generation


def style() -> Style:
    """Return the terminal's width and whether to colour."""
    return Style(color=wants_color(), width=max(60, shutil.get_terminal_size((100, 24)).columns))


def base_directory(run_cwd: str) -> bytes:
    """Return the directory to which paths are shown: here if inside the run's directory, else that."""
    here, there = os.fsencode(Path.cwd()), os.fsencode(run_cwd)
    return here if not there or here == there or here.startswith(there.rstrip(b"/") + b"/") else there
