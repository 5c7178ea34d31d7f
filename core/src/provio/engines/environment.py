"""The environment of an attempt: what makes its processes traced and attributed.

Here: which variables are set. How the tracer is found is ``provio.tracers.preload``.
"""

from __future__ import annotations

import functools
import os
import shutil
from typing import TYPE_CHECKING

from provio.engines.choice import choose
from provio.engines.emitter import Emitter, warn
from provio.engines.host import stamp
from provio.model.events import GapSeen
from provio.model.ids import AttemptId, RunId, task_token
from provio.tracers.elf import judge
from provio.tracers.preload import arm, join_preload, part_preload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from provio.engines.spool import Spool
    from provio.model.gaps import GapKind
    from provio.tracers.base import Arming

_armings: dict[tuple[str, str], Arming] = {}


def attempt_environment(
    spool: Spool, run: RunId, attempt: AttemptId, base: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the environment in which a process of an attempt is to be started.

    Args:
        spool: the run's.
        run: goes with the attempt into ``PROVIO_TASK``.
        attempt: the try for which the process works.
        base: what it would have had; None, and only None, means this process's own.
    """
    environment = dict(os.environ if base is None else base)
    environment["PROVIO_TASK"] = task_token(run, attempt)
    environment["PROVIO_SPOOL"] = str(spool.path)
    environment["PROVIO_TRACE"] = spool.run.mode
    environment |= choose(spool.store).wire
    armed = arming(spool)
    if armed.library:
        environment["LD_PRELOAD"] = join_preload(armed.library, environment.get("LD_PRELOAD", ""))
    return environment


@functools.cache
def program_gap(program: str) -> tuple[GapKind, str] | None:
    """Tell why the tracer must not be put into a program, or None where it may go in.

    Args:
        program: a path, or a name to look for in PATH.

    Returns:
        The kind of Gap and the program concerned (the interpreter, for a script).
    """
    found = shutil.which(program)
    verdict = judge(found) if found else None
    if verdict is None or verdict.takes or verdict.gap is None:
        return None
    return verdict.gap, verdict.program


def clean_environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return an environment without the tracer and without identity (for the sealer, for helpers)."""
    environment = dict(os.environ if base is None else base)
    rest = part_preload(environment.pop("LD_PRELOAD", ""))
    if rest:
        environment["LD_PRELOAD"] = rest
    return {name: value for name, value in environment.items() if not name.startswith("PROVIO_")}


def arming(spool: Spool) -> Arming:
    """Return how the tracer is armed for a run; decided once per process."""
    key = (str(spool.path), spool.run.mode)
    if key not in _armings:
        _armings[key] = arm(spool.store, spool.run.mode)
    return _armings[key]


def report_arming(spool: Spool, emitter: Emitter) -> Arming:
    """Put into the events, and say once, if the run goes untraced. Engines call it after the first events."""
    armed = arming(spool)
    if armed.gap is not None:
        gap = armed.gap
        emitter.emit(GapSeen(stamp=stamp(), kind=gap.kind.value, scope=gap.scope, detail=gap.detail))
        warn(f"{gap.detail}; {armed.remedy}")
    return armed
