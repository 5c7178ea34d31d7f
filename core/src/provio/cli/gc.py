"""``provio gc``: remove the spools that sealed generations cover."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from provio.cli._answers import open_store
from provio.cli._options import Command, common_options, emit_json, emit_lines, note

if TYPE_CHECKING:
    from provio.store import Removal

VERSION = 1
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


@click.command(
    cls=Command,
    examples=(
        "provio gc --dry-run               what would go, what stays and why",
        "provio gc                         remove the evidence that sealed answers cover",
    ),
    exits="0 fine, 5 the store cannot be written.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@common_options
def command(*, dry_run: bool, run: str | None, store: str | None, as_json: bool) -> int:
    """Remove evidence that is not needed any more.

    A spool goes only where a whole, verified generation covers every file of it
    at its present size, and nothing of the run was alive when that was sealed.
    Sealed answers stay. A run without its spool cannot be sealed anew.
    """
    opened = open_store(store)
    only = opened.resolve(run).id if run else None
    removals = opened.gc(dry_run=dry_run, only=only)
    if as_json:
        emit_json({"version": VERSION, "dry_run": dry_run, "spools": [r.to_json() for r in removals]})
        return 0
    emit_lines(_line(r, dry_run=dry_run) for r in removals)
    if not removals:
        note("there are no spools")
    return 0


def _line(removal: Removal, *, dry_run: bool) -> str:
    goes = removal.removed or (dry_run and removal.removable)
    word = ("would remove" if dry_run else "removed") if goes else "kept"
    return f"{word:12}  {removal.run[:12]}  {_size(removal.bytes):>10}  {removal.reason}"


def _size(size: int) -> str:
    value, unit = float(size), _UNITS[0]
    for unit in _UNITS:
        if value < 1024 or unit == _UNITS[-1]:
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
