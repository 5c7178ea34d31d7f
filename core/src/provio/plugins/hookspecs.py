"""The hooks, documented. Bodies are docstrings only.

A plugin is a module or object, named by an entry point in the group
``provio``, with functions marked ``@provio.hookimpl`` that bear these names. A
function may leave out arguments that it does not need. What a hook is called
with is plain data or a public type; a later minor version may add arguments
and fields, never take one away.

A hook is added only with two users, one of them outside the core: the built-in
parts (``builtins``) and ``examples/plugin`` are those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from provio.plugins.marker import hookspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import click

    from provio.engines.checks import Check
    from provio.tracers.base import TracerReader


@hookspec
def provio_tracers() -> Sequence[TracerReader]:
    """Return the tracers whose files this plugin can read.

    A reader turns one I/O file of a spool (``io/<id>.<suffix>``) into provio's
    wire format; see ``provio.tracers.base.TracerReader`` and
    ``provio.testing.TracerContract``. Called when a run is sealed or examined.
    """


@hookspec(firstresult=True)
def provio_attempt_of(epoch: Mapping[str, Any], attempts: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the id of the attempt that an epoch of a process belongs to, or None.

    A rule of your site: a variable that your launcher sets, a directory per job.
    Called while a run is sealed, only for epochs that no built-in evidence
    decides; the first plugin that answers wins. It must depend on its arguments
    alone: the same evidence gives the same facts.

    Args:
        epoch: of a process: ``pid``, ``ppid``, ``host``, ``argv`` (bytes), ``exe`` and
            ``cwd`` (bytes), ``cgroup_path``, ``environment`` (the recorded variables).
        attempts: of the run, each with ``attempt`` (the id to return), ``logical``,
            ``physical``, ``job``, ``cwd``, ``command``, ``host``, ``attributes`` and
            ``started`` (CLOCK_MONOTONIC ns).
    """


@hookspec
def provio_redact(text: str) -> str:
    """Return a command, parameter or message without secrets that only your site knows.

    Called before anything reaches a spool, after the built-in patterns. Must be
    fast and must not raise: one that raises is left out for the rest of the run,
    which the answers say.
    """


@hookspec
def provio_commands() -> Sequence[click.Command]:
    """Return commands that ``provio`` shall have, too. A built-in name cannot be taken."""


@hookspec
def provio_doctor(directory: str) -> Sequence[Check]:
    """Return further checks for ``provio doctor``: what you looked at, the state, a remedy.

    Args:
        directory: where the command was called.
    """
