"""The command line: one file per command, each parses, calls, prints and returns its exit code.

Here: the group that imports a command only when it is asked for, and ``main``,
the single place that prints errors. Options that all commands share are in
``_options``. Not here: what a command says (``provio.report``) and how it is
found out (``provio.query``, ``provio.pipeline``).
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, Final, NoReturn

import click

from provio import __version__
from provio.errors import ProvioError, SetupError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141
"""128 + SIGPIPE: the reader of our output went away, as with any Unix tool."""

_EXTRAS: Final = {
    "duckdb": "analyse",
    "numpy": "analyse",
    "pyarrow": "analyse",
    "rich": "analyse",
    "snakemake": "snakemake",
}

COMMANDS: Final[dict[str, str]] = {
    "demo": "Run a small real workflow and show what provio finds in it.",
    "run": "Run a command and record which files it reads and writes.",
    "runs": "List the runs in the store.",
    "show": "Show what a run did: tasks, attempts, files, bytes, coverage.",
    "lineage": "Show what a file was made from, or what was made from it.",
    "why": "Tell the story of one file in sentences.",
    "seal": "Turn the recorded evidence of a run into its answers.",
    "gc": "Remove evidence that sealed answers cover.",
    "doctor": "Check this machine and say what to do about each problem.",
    "config": "Show or change settings, with where each one comes from.",
    "plugins": "List the plugins in use and the hooks they implement.",
}
"""Every built-in command with its line in ``provio --help`` (kept here so that help imports none)."""


class LazyGroup(click.Group):
    """A group whose commands are modules of this package, imported when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the commands in the order of ``COMMANDS``."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command, or ask the plugins for a name that is not ours."""
        if cmd_name not in COMMANDS:
            return _plugin_command(cmd_name)
        module = importlib.import_module(f"provio.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of ``args``; an unknown one gets a suggestion."""
        if args and self.get_command(ctx, args[0]) is None:
            raise UsageError(f"there is no command {args[0]!r}", hint=_suggestion(args[0]))
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Begin with an example, as every command does."""
        formatter.write("Example:\n  provio run -- ./my-script.sh data.csv   record one command\n")
        formatter.write("  provio why result.csv                   tell how a file came to be\n\n")
        super().format_help(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands from the table, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _plugin_command(name: str) -> click.Command | None:
    """Return the command a plugin adds under that name (hook ``provio_commands``), or None."""
    from provio.plugins.manager import plugin_commands

    found: click.Command | None = plugin_commands().get(name)
    return found


def _suggestion(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, n=1)
    return f"did you mean 'provio {near[0]}'?" if near else "'provio --help' lists the commands"


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 fine, 1 findings or differences, 2 usage, 3 set-up, 4 evidence, 5 store, 6 plugin, "
    "130 interrupted. 'provio run' returns the command's own. Plugins may add commands: 'provio plugins'.",
)
@click.version_option(__version__, "-V", "--version", message="provio %(version)s")
@click.pass_context
def provio(ctx: click.Context) -> None:
    """Record which task of a workflow read and wrote which file, and answer questions about it."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit; errors become a message, a hint and an exit code."""
    sys.exit(call(args))


def call(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        code = _invoke(sys.argv[1:] if args is None else args)
        if sys.stdout:  # None where the caller closed it
            sys.stdout.flush()
        return code
    except ProvioError as error:
        return _say(error.message, error.hint, error.exit_code)
    except click.UsageError as error:
        return _say(error.format_message(), _usage_hint(error), UsageError.exit_code)
    except click.ClickException as error:
        return _say(error.format_message(), "see --help", error.exit_code)
    except ModuleNotFoundError as error:
        return _missing(error)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        return _reader_gone()


def _invoke(args: Sequence[str]) -> int:
    """Run the group; not by its ``main``, which makes a closed pipe exit code 1: "findings" here."""
    if "_PROVIO_COMPLETE" in os.environ:
        provio.main(prog_name="provio")  # answers the shell's completion and exits
    try:
        with provio.make_context("provio", list(args)) as ctx:
            code = provio.invoke(ctx)
    except click.exceptions.Exit as done:
        return done.exit_code
    return code if isinstance(code, int) else 0


def _say(message: str, hint: str, code: int) -> int:
    """Print what happened and the remedy to stderr, free of terminal control bytes."""
    for line in (f"provio: {message}", f"hint: {hint}" if hint else ""):
        if line:
            clean = "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in line)
            print(clean, file=sys.stderr)
    return code


def _missing(error: ModuleNotFoundError) -> int:
    """Name the extra that brings a library; one of our own missing is a defect."""
    name = (error.name or "").partition(".")[0]
    extra = _EXTRAS.get(name)
    if extra is None:
        raise error
    hint = f"python -m pip install 'provio[{extra}]'"
    return _say(f"this needs {name}, which is not installed", hint, SetupError.exit_code)


def _usage_hint(error: click.UsageError) -> str:
    path = error.ctx.command_path if error.ctx else "provio"
    return f"'{path} --help' shows how it is called"


def _reader_gone() -> int:
    """Keep the interpreter's own flush at exit from failing on the closed pipe."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
    return BROKEN_PIPE
