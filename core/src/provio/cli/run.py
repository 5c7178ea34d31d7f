"""``provio run``: record one command. What is recorded is ``provio.engines.local``."""

from __future__ import annotations

import json

import click

from provio.cli._options import Command, note

PASS_THROUGH = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@click.command(
    cls=Command,
    context_settings=PASS_THROUGH,
    examples=(
        "provio run -- sort -o sorted.txt words.txt     record one command",
        "provio run --name nightly -- ./pipeline.sh     give the run a name",
        "provio run -- snakemake --cores 4              see what Snakemake itself reads, too",
    ),
    exits="the command's own; 127 if it is not found, 126 if it cannot be executed.",
)
@click.option(
    "--store",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="The store to use (default: PROVIO_STORE, else the .provio found upward from here).",
)
@click.option("--name", default="", help="A name for the run (default: the program's).")
@click.option(
    "--trace",
    type=click.Choice(["aggregate", "full"]),
    help="How much is recorded; full also keeps every single read and write (default: 'provio config').",
)
@click.option("--no-trace", is_flag=True, help="Record the command and its resources, but no file access.")
@click.option("--seal/--no-seal", default=True, help="Work out the answers at the end, in the background.")
@click.option("-v", "--verbose", is_flag=True, help="Say the run id on stderr at the end.")
@click.option(
    "--json", "as_json", is_flag=True, help="Say run id, store and exit as JSON on stderr at the end."
)
@click.argument("argv", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND [ARGUMENT]...")
def command(
    argv: tuple[str, ...],
    *,
    store: str | None,
    name: str,
    trace: str | None,
    no_trace: bool,
    seal: bool,
    verbose: bool,
    as_json: bool,
) -> int:
    """Run COMMAND and record which files it and its children read and write.

    Its input, output, error messages, signals and exit code are passed through
    unchanged. If nothing can be recorded, it runs all the same.
    """
    from provio.engines.local import Options, run_command
    from provio.engines.supervise import end_like

    if argv[0].startswith("-"):  # no program's name: an option that is misspelt
        raise click.NoSuchOption(argv[0])
    mode = "off" if no_trace else trace or ""
    options = Options(store=store, name=name, mode=mode, seal=seal)
    ended, recording = run_command(argv, options)
    if recording and as_json:
        place = {"version": 1, "run": recording.run, "store": str(recording.spool.store)}
        note(json.dumps(place | {"exit_code": ended.exit_code, "signal": ended.signal}))
    elif recording and verbose:
        note(f"provio: run {recording.run} recorded in {recording.spool.store}")
    return end_like(ended)
