"""``provio show``: what a run did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from provio.cli._answers import base_directory, open_run, style
from provio.cli._options import Command, common_options, emit_json, emit_lines

if TYPE_CHECKING:
    from provio.query.files import AttemptFiles, FileUse
    from provio.query.show import ShowAnswer
    from provio.query.source import Source

_CHEAP = 200_000
"""Up to so many accesses the declarations are checked unasked; it takes a moment beyond."""


@click.command(
    cls=Command,
    examples=(
        "provio show                       the last run",
        "provio show 3f2a                  the run whose id begins so",
        "provio show --task sort           one task: its tries and their files",
        "provio show --json | jq .coverage",
    ),
    exits="0 fine, 2 no such run, task or attempt, 4 unreadable evidence, 5 unreadable store.",
)
@click.argument("which", metavar="[RUN]", required=False)
@click.option(
    "--task", metavar="NAME", help="Only this task (rule, or key such as sort:sample=a), with files."
)
@click.option("--attempt", metavar="ID", help="Only this attempt (id or its first digits), with files.")
@click.option("--files", "with_files", is_flag=True, help="List the files of every attempt shown.")
@click.option(
    "--undeclared", is_flag=True, help="Compare declared with observed files, however large the run."
)
@click.option("--all", "every", is_flag=True, help="List every attempt and file, however many.")
@common_options
def command(
    *, which: str | None, task: str | None, attempt: str | None, with_files: bool, undeclared: bool,
    every: bool,
    run: str | None, store: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Show what a run did.

    Its tasks with every try, time, CPU, memory, share of time in I/O, bytes and
    files; what the engine did itself and what no task owns; both coverage
    numbers and the gaps. With --task or --attempt also the files, those read
    but not declared and those declared but never read marked.
    """
    from provio.query.show import show

    source = open_run(store, which or run)
    answer = show(source, task, attempt)
    chosen = [one.id for entry in answer.tasks for one in entry.attempts]
    files = _files(source, chosen) if with_files or task or attempt else []
    found = _findings(source, chosen, wanted=undeclared or bool(files))
    if as_json:
        emit_json(_document(answer, files, found))
    else:
        declares = bool(source.sql("SELECT 1 FROM declared LIMIT 1"))
        _print(answer, files, found, every=every, declares=declares)
    return 0


def _files(source: Source, attempts: list[str]) -> list[AttemptFiles]:
    from provio.query.files import files_of

    return files_of(source, attempts)


def _findings(source: Source, attempts: list[str], *, wanted: bool) -> list[FileUse] | None:
    """Return what was declared wrongly; None where nobody asked and it would take long."""
    from provio.query.files import findings

    if wanted or _access_count(source) <= _CHEAP:
        return findings(source, attempts)
    return None


def _access_count(source: Source) -> int:
    rows = source.manifest.get("rows") or {}
    if "accesses" in rows:
        return int(rows["accesses"])
    return int(source.sql("SELECT count(*) FROM accesses")[0][0])


def _document(
    answer: ShowAnswer, files: list[AttemptFiles], found: list[FileUse] | None
) -> dict[str, object]:
    document: dict[str, object] = answer.to_json()
    document["findings"] = None if found is None else [use.to_json() for use in found]
    if files:
        document["files"] = [entry.to_json() for entry in files]
    return document


def _print(
    answer: ShowAnswer, files: list[AttemptFiles], found: list[FileUse] | None, *, every: bool, declares: bool
) -> None:
    from provio.report.show import attempt_lines, finding_lines, show_lines

    look, base = style(), base_directory(answer.run.cwd)
    lines = show_lines(answer, look, every=every)
    if found is None:
        lines.append("Declared against observed: not compared in a run of this size (--undeclared does).")
    else:
        lines += finding_lines(found, answer.tasks, base, look, declares=declares, every=every)
    by_attempt = {entry.attempt: entry for entry in files}
    for task in answer.tasks if files else ():
        for one in task.attempts:
            lines += attempt_lines(task, one, by_attempt[one.id], base, look, every=every)
    emit_lines(lines)
