"""What engine plugins call: store, spool, Emitter, attempt environment, redaction, sealer.

Stdlib only; imports in < 30 ms, so every name is loaded at its first use. An
engine's life::

    place = find_store(workflow_directory)
    spool = Spool.create(place.path, describe_run(engine="mine", engine_version="1", workflow="main.wf"))
    emitter = spool.emitter()
    emitter.emit(RunStarted(...)); emitter.emit(host_event()); report_arming(spool, emitter)
    for each try:  emitter.emit(TaskStarted(...))
                   Popen(..., env=attempt_environment(spool, run, attempt, base=env))
                   emitter.emit(TaskEnded(...))
    emitter.emit(RunEnded(...)); emitter.close(); start_sealer(spool)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from provio.engines.context import Context as Context
    from provio.engines.context import current_context as current_context
    from provio.engines.context import set_task as set_task
    from provio.engines.emitter import Emitter as Emitter
    from provio.engines.emitter import warn as warn
    from provio.engines.environment import arming as arming
    from provio.engines.environment import attempt_environment as attempt_environment
    from provio.engines.environment import clean_environment as clean_environment
    from provio.engines.environment import program_gap as program_gap
    from provio.engines.environment import report_arming as report_arming
    from provio.engines.host import host_event as host_event
    from provio.engines.host import process_ref as process_ref
    from provio.engines.host import stamp as stamp
    from provio.engines.place import StorePlace as StorePlace
    from provio.engines.place import find_store as find_store
    from provio.engines.redact import redact_argv as redact_argv
    from provio.engines.redact import redact_config as redact_config
    from provio.engines.redact import redact_text as redact_text
    from provio.engines.sealer import start_sealer as start_sealer
    from provio.engines.spool import Spool as Spool
    from provio.engines.spool import describe_run as describe_run
    from provio.engines.spool import spools as spools
    from provio.model.runs import RunRecord as RunRecord

_HOME: Final = {
    "Context": "context",
    "Emitter": "emitter",
    "RunRecord": "",
    "Spool": "spool",
    "StorePlace": "place",
    "arming": "environment",
    "attempt_environment": "environment",
    "clean_environment": "environment",
    "program_gap": "environment",
    "current_context": "context",
    "describe_run": "spool",
    "find_store": "place",
    "host_event": "host",
    "process_ref": "host",
    "redact_argv": "redact",
    "redact_config": "redact",
    "redact_text": "redact",
    "report_arming": "environment",
    "set_task": "context",
    "spools": "spool",
    "stamp": "host",
    "start_sealer": "sealer",
    "warn": "emitter",
}

__all__ = [*_HOME]  # noqa: PLE0604 - the keys are strings


def __getattr__(name: str) -> Any:
    """Load a name from its module."""
    if name not in _HOME:
        raise AttributeError(f"module 'provio.engines' has no attribute {name!r}")
    home = f"provio.engines.{_HOME[name]}" if _HOME[name] else "provio.model.runs"
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
