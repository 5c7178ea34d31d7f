"""Who am I: the attempt that this process, or this thread, works for.

The preload library takes ``PROVIO_*`` out of the environment before the program
starts, so a traced process has to ask it; elsewhere the environment says it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from provio.errors import UsageError
from provio.model.ids import AttemptId, RunId, parse_task_token

_ROOM = 8192


class Context(NamedTuple):
    """The run and attempt in force here, and the run's spool."""

    run: RunId
    attempt: AttemptId
    spool: Path


def current_context() -> Context | None:
    """Return the attempt this thread works for; None outside of any run."""
    token = _library_text("provio_task_get") or os.environ.get("PROVIO_TASK", "")
    spool = _library_text("provio_spool_get") or os.environ.get("PROVIO_SPOOL", "")
    if not token or not spool:
        return None
    try:
        return Context(*parse_task_token(token), Path(spool))
    except UsageError:  # set by hand; being nested is an ornament, not a reason to fail
        return None


def set_task(token: str | None) -> bool:
    """Let this thread, and what it starts, work for another attempt from now on.

    Args:
        token: ``<run-id>/<attempt-id>``; None: for the engine itself.

    Returns:
        Whether a tracer took it; False in a process that is not traced.
    """
    function = _library_function("provio_task_set")
    if function is None:
        return False
    return bool(function(None if token is None else token.encode("ascii")) == 0)


def _library_text(name: str) -> str:
    function = _library_function(name)
    if function is None:
        return ""
    import ctypes

    buffer = ctypes.create_string_buffer(_ROOM)
    function(buffer, ctypes.c_size_t(_ROOM))
    return os.fsdecode(buffer.value)


def _library_function(name: str) -> Any:
    """Return a function of the preload library if it is loaded in this process."""
    try:
        import ctypes  # not at the top: 10 ms that an untraced engine need not spend

        return getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError, ImportError):
        return None
