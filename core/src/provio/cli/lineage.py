"""``provio lineage FILE``: what it was made from, or what was made from it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from provio.cli._answers import base_directory, open_for, other_runs, style
from provio.cli._options import Command, common_options, emit_json, emit_lines, note
from provio.errors import UsageError

if TYPE_CHECKING:
    from provio.query.lineage import LineageAnswer


@click.command(
    cls=Command,
    examples=(
        "provio lineage fig.png                        the task that made it, and its inputs",
        "provio lineage fig.png --depth 0              all the way up",
        "provio lineage raw/a.dat --down --depth 3     what was made from it",
        "provio lineage fig.png --depth 0 --svg fig.svg",
    ),
    exits="0 fine, 2 no such file or run, 4 unreadable evidence, 5 unreadable store.",
)
@click.argument("file", type=click.Path(path_type=bytes))
@click.option("--up", "direction", flag_value="up", default="up", help="What it was made from (the default).")
@click.option("--down", "direction", flag_value="down", help="What was made from it.")
@click.option("--depth", type=click.IntRange(min=0), default=1, show_default=True, metavar="N",
              help="Levels to follow; 0 for all.")  # fmt: skip
@click.option("--possible", is_flag=True, help="Also what the order of events allows but nothing proves.")
@click.option(
    "--all-runs", is_flag=True, help="Look for the makers of what was there before in the other runs."
)
@click.option("--dot", "form", flag_value="dot", help="Print the graph for Graphviz.")
@click.option("--mermaid", "form", flag_value="mermaid", help="Print the graph for Mermaid.")
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Write the graph as a self-contained picture ('-': to stdout).")  # fmt: skip
@click.option("--force", is_flag=True, help="Let --svg replace a file that exists.")
@common_options
def command(
    *, file: bytes, direction: str, depth: int, possible: bool, all_runs: bool, form: str | None,
    svg: Path | None, force: bool, run: str | None, store: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Show what a file was made from (--up), or what was made from it (--down).

    FILE is a path as seen from here or from the run's directory, or the end of
    one. Only proved derivations are followed: the reading process, or one that
    it handed data to, wrote the output afterwards. One level is one task.
    """
    from provio.query.lineage import lineage

    if sum((as_json, form is not None, svg is not None)) > 1:
        raise UsageError(
            "choose one of --json, --dot, --mermaid, --svg", hint="run the command once for each"
        )
    source, found = open_for(file, store, run)
    others = other_runs(store, source.run) if all_runs else ()
    answer = lineage(source, found, direction=direction, depth=depth, possible=possible, others=others)
    if svg is not None:
        _write_svg(answer, svg, force=force)
    elif as_json:
        emit_json(answer.to_json())
    else:
        _print(answer, form)
    return 0


def _print(answer: LineageAnswer, form: str | None) -> None:
    from provio.report.lineage import dot, mermaid, tree_lines

    base = base_directory(answer.run.cwd)
    if form == "dot":
        emit_lines([dot(answer, base)])
    elif form == "mermaid":
        emit_lines([mermaid(answer, base)])
    else:
        emit_lines(tree_lines(answer, style(), base))


def _write_svg(answer: LineageAnswer, target: Path, *, force: bool) -> None:
    from provio.report.svg import svg

    picture = svg(answer, base_directory(answer.run.cwd))
    if str(target) == "-":
        emit_lines([picture.rstrip("\n")])
        return
    if target.exists() and not force:
        raise UsageError(f"{target} exists", hint="--force replaces it")
    try:
        target.write_text(picture, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"cannot write {target}: {os.strerror(error.errno or 0)}", hint="choose another --svg FILE"
        ) from None
    note(f"Wrote {target} ({len(answer.nodes)} nodes).")
