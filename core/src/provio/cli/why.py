"""``provio why FILE``: one file's story in sentences."""

from __future__ import annotations

import click

from provio.cli._answers import base_directory, open_for, other_runs, style
from provio.cli._options import Command, common_options, emit_json, emit_lines


@click.command(
    cls=Command,
    examples=(
        "provio why fig.png            who made it, when, by which program, from what, on what evidence",
    ),
    exits="0 fine, 2 no such file or run, 4 unreadable evidence, 5 unreadable store.",
)
@click.argument("file", type=click.Path(path_type=bytes))
@click.option(
    "--all-runs", is_flag=True, help="Look for the maker of what was there before in the other runs."
)
@common_options
def command(*, file: bytes, all_runs: bool, run: str | None, store: str | None, as_json: bool) -> int:
    """Tell the story of one file in sentences.

    Which task and try wrote it, when, by which program and on what evidence;
    from which inputs and their makers, declared or not; its former names and
    contents; who read it since; and what limits the answer.
    """
    from provio.query.why import looked_at, why
    from provio.report.why import sentences, why_lines

    source, found = open_for(file, store, run)
    others = other_runs(store, source.run) if all_runs else ()
    answer = looked_at(why(source, found, others))
    base = base_directory(answer.run.cwd)
    if as_json:
        emit_json(answer.to_json() | {"sentences": sentences(answer, base=base)})
    else:
        emit_lines(why_lines(answer, style(), base))
    return 0
