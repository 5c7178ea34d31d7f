"""The built-in parts as a plugin: they use the hooks that everybody uses.

Here: only the connections. The parts themselves know nothing of hooks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from provio.plugins.marker import hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import click

    from provio.engines.checks import Check
    from provio.tracers.base import TracerReader

BATCH_VARIABLES: Final = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID")
"""Where batch systems tell a process its job; engines record the same id with the attempt."""


@hookimpl
def provio_tracers() -> Sequence[TracerReader]:
    """Read the preload library's files, which are in wire format already."""
    from provio.tracers import preload
    from provio.tracers.base import TracerReader

    return [TracerReader(name="preload", suffix="preload", availability=preload.availability)]


@hookimpl(trylast=True)
def provio_attempt_of(epoch: Mapping[str, Any], attempts: Sequence[Mapping[str, Any]]) -> str | None:
    """Tie a process to the attempt whose batch job it runs in, if that is one attempt only."""
    environment = epoch.get("environment", {})
    job = next((environment[name] for name in BATCH_VARIABLES if environment.get(name)), None)
    if job is None:
        return None
    owners = [a["attempt"] for a in attempts if str(a.get("attributes", {}).get("external_jobid", "")) == job]
    return owners[0] if len(owners) == 1 else None


@hookimpl
def provio_redact(text: str) -> str:
    """Hide what the documented patterns know."""
    from provio.engines.redact import redact_text

    return redact_text(text)


@hookimpl
def provio_commands() -> Sequence[click.Command]:
    """Return the commands of ``provio.cli``."""
    from importlib import import_module

    cli = import_module("provio.cli")  # by name: below the command line nobody imports it
    found = {name: import_module(f"provio.cli.{name}").command for name in cli.COMMANDS}
    for name, command in found.items():
        command.name = name  # each is called "command" in its module
    return list(found.values())


@hookimpl
def provio_doctor(directory: str) -> Sequence[Check]:
    """Look at machine, installation and directory."""
    from provio.engines.checks import all_checks

    return all_checks(directory)
