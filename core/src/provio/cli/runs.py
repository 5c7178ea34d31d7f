"""``provio runs``: list the runs of the store."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from provio.cli._answers import open_store
from provio.cli._options import Command, common_options, emit_json, emit_lines, note

if TYPE_CHECKING:
    from provio.store import RunSummary

VERSION = 1
_HEADINGS = ("RUN", "STATE", "STARTED", "TOOK", "TRIES", "ENGINE", "WORKFLOW")


@click.command(
    cls=Command,
    examples=(
        "provio runs                       newest last",
        "provio runs --limit 5             only the last five",
        "provio runs --json | jq '.runs[] | select(.state == \"failed\").id'",
    ),
    exits="0 fine, 5 unreadable store.",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the last N runs.")
@click.option("--state", metavar="STATE", help="Only runs in this state, such as failed or running.")
@common_options
def command(
    *, limit: int | None, state: str | None, run: str | None, store: str | None, as_json: bool
) -> int:
    """List the runs, oldest first.

    A sealed run is succeeded, failed, cancelled or crashed (it ended without
    saying so); one that is not sealed yet is running, ended, open (it runs on
    another host) or unreadable.
    """
    opened = open_store(store)
    found = [opened.resolve(run)] if run else opened.runs()
    found = [one for one in found if state in (None, one.state)]
    found = found[-limit:] if limit else found
    if as_json:
        emit_json({"version": VERSION, "store": str(opened.path), "runs": [one.to_json() for one in found]})
        return 0
    if not found:
        note(f"no runs in {opened.path}")
        return 0
    emit_lines(_table([_HEADINGS, *map(_row, found)]))
    return 0


def _row(run: RunSummary) -> tuple[str, ...]:
    return (
        run.id[:12],
        run.state,
        _moment(run.started_ns),
        _duration(run.ended_ns - run.started_ns) if run.ended_ns else "-",
        str(run.attempts) if run.attempts >= 0 else "-",
        f"{run.engine} {run.engine_version}".strip() or "-",
        _printable(run.name or run.workflow) or "-",
    )


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADINGS) - 1)]
    return ["  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[-1]]) for row in rows]


def _moment(ns: int) -> str:
    return datetime.fromtimestamp(ns // 10**9).astimezone().strftime("%Y-%m-%d %H:%M:%S") if ns else "-"


def _duration(ns: int) -> str:
    seconds = ns / 10**9
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
