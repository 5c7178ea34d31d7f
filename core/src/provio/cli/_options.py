"""What commands share: options, the help layout, and writing to the terminal.

A command is ``command = click.Command`` made by ``@click.command(cls=Command,
examples=(...))``, takes ``@common_options`` and returns its exit code. stdout
is data, stderr is talk. How answers look is in ``provio.report``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


class _Examples(click.Command):
    """Help that begins with examples and ends with the exit codes."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), exits: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)
        self.exits = exits

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write examples, usage, text, options, exit codes."""
        if self.examples:
            title = "Example:" if len(self.examples) == 1 else "Examples:"
            formatter.write("\n".join((title, *(f"  {line}" for line in self.examples))) + "\n\n")
        super().format_help(ctx, formatter)
        if self.exits:
            formatter.write_paragraph()
            formatter.write_text(f"Exit codes: {self.exits}")


class Command(_Examples):
    """A command whose help begins with examples and ends with its exit codes.

    Args:
        examples: lines ``provio show   what it does``, printed as given.
        exits: what its exit codes mean, beyond the common ones.
    """


class Group(_Examples, click.Group):
    """A command with sub-commands, with the same help."""


def json_option(function: F) -> F:
    """Add ``--json``."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print JSON (docs/reference/json.md) instead of text."
    )(function)


def store_option(function: F) -> F:
    """Add ``--store``."""
    return click.option(
        "--store",
        type=click.Path(file_okay=False),
        envvar="PROVIO_STORE",
        metavar="DIR",
        help="The store to use (default: PROVIO_STORE, else the .provio found upward from here).",
    )(function)


def run_option(function: F) -> F:
    """Add ``--run``."""
    return click.option(
        "--run", "run", metavar="RUN", help="A run id, its first digits, or 'last' (the default)."
    )(function)


def common_options(function: F) -> F:
    """Add ``--run``, ``--store`` and ``--json``, which every command takes."""
    return run_option(store_option(json_option(function)))


def emit_json(value: Any) -> None:
    """Print one JSON document to stdout: indented on a terminal, else on one line (a tenth of the time)."""
    indent = 2 if sys.stdout.isatty() else None
    sys.stdout.write(
        json.dumps(value, indent=indent, ensure_ascii=False, default=_plain)
        .encode("utf-8", "backslashreplace")
        .decode()
        + "\n"
    )


def _plain(value: Any) -> Any:
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, bytes):
        return os.fsdecode(value).encode("utf-8", "backslashreplace").decode()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def emit_lines(lines: Iterable[str]) -> None:
    """Print lines to stdout; what the terminal's encoding cannot show is escaped."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    for line in lines:
        sys.stdout.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def note(text: str) -> None:
    """Say something to the person: one line on stderr."""
    print(text, file=sys.stderr)


def wants_color(stream: TextIO | None = None) -> bool:
    """Tell whether to colour: a terminal, and neither NO_COLOR nor TERM=dumb."""
    stream = stream or sys.stdout
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Give a function ``update(done, total)`` that draws one line on stderr if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return

    drawn = False

    def update(done: int, total: int) -> None:
        nonlocal drawn
        drawn = True
        share = f"{100 * done // total:3d} %" if total > 0 else f"{done}"
        sys.stderr.write(f"\r\x1b[2K{what} {share}")
        sys.stderr.flush()

    try:
        yield update
    finally:
        if drawn:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
