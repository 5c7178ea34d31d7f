"""``provio doctor``: show the checks. What is looked at is ``provio.engines.checks``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from provio.cli._options import Command, common_options, emit_json, emit_lines
from provio.engines.checks import Check, State, all_checks
from provio.errors import PluginError, SetupError

_MARKS = {State.OK: "ok", State.NOTE: "-", State.WARNING: "!", State.PROBLEM: "!!"}


@click.command(
    cls=Command,
    examples=(
        "provio doctor            look at this machine, installation and directory",
        "provio doctor --json     the same for a program",
    ),
    exits="0 nothing needed is missing, 3 something needed is missing.",
)
@common_options
def command(*, run: str | None, store: str | None, as_json: bool) -> int:
    """Check this machine and say what to do about each problem.

    Marks: "ok"; "-" is a note; "!" is a warning, something will be missing from
    the answers; "!!" is a problem, nothing can be recorded until it is solved.
    """
    del run  # every command takes it; here nothing depends on a run
    checks = all_checks(Path.cwd(), store) + _from_plugins()
    failed = any(check.state is State.PROBLEM for check in checks)
    if as_json:
        emit_json({"version": 1, "ok": not failed, "checks": [asdict(check) for check in checks]})
    else:
        emit_lines(line for check in checks for line in _lines(check))
    return SetupError.exit_code if failed else 0


def _lines(check: Check) -> list[str]:
    lines = [f"{_MARKS[check.state]:>2}  {check.name}: {check.text}"]
    return [*lines, f"      -> {check.remedy}"] if check.remedy else lines


def _from_plugins() -> list[Check]:
    """Return the checks of plugins (hook ``provio_doctor``); that they cannot be loaded is one, too."""
    from provio.plugins.manager import plugin_checks

    try:
        return plugin_checks(str(Path.cwd()))
    except PluginError as error:
        return [Check("plugins", State.PROBLEM, error.message, error.hint)]
