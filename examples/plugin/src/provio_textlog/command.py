"""``provio textlog FILE``: what a text log holds."""

from __future__ import annotations

from pathlib import Path

import click

from provio.errors import EvidenceError
from provio_textlog.reader import parse


@click.command("textlog")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def textlog(file: Path) -> None:
    """Tell what a text log holds."""
    try:
        processes = parse(file.read_bytes())
    except ValueError as error:
        raise EvidenceError(
            f"{file}: {error}", hint="the format is described in provio_textlog.reader"
        ) from error
    for process in processes:
        program = process.program.decode(errors="replace")
        click.echo(f"process {process.pid} {program}: {len(process.uses)} uses of files")
