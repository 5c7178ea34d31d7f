"""Where provio hooks into Snakemake, and how it lets go again.

Theory of operation. Snakemake's log events name jobs but no processes, and
arrive in another thread. Two functions are therefore wrapped:
``local.Executor.cached_or_run``, which runs in the thread that does the job and
has the live job, and ``subprocess.Popen.__init__``, through which every process
of a job is born in that same thread. So identity is a thread-local value and
there is no race. A few more wraps tell what Snakemake does to files itself.

Each wrap calls the original with the same arguments and lets every result and
error pass. A function that is missing in some version of Snakemake is a Gap.
"""

from __future__ import annotations

import functools
import inspect
import os
import subprocess
import threading
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from provio.engines import program_gap
from provio.model.gaps import GapKind

if TYPE_CHECKING:
    from provio.model.ids import AttemptId
    from snakemake_logger_plugin_provio._session import Session

Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


class Patches:
    """Wrapped functions, to be put back in reverse order."""

    def __init__(self) -> None:
        self._done: list[tuple[Any, str, Any, Any]] = []

    def wrap(self, owner: Any, name: str, wrap: Wrap) -> bool:
        """Replace ``owner.name``; tell whether it existed."""
        original = getattr(owner, name, None)
        if not callable(original):
            return False
        ours = functools.wraps(original)(wrap(original))
        setattr(owner, name, ours)
        self._done.append((owner, name, original, ours))
        return True

    def undo(self) -> None:
        """Put the originals back, except where somebody wrapped ours in turn."""
        while self._done:
            owner, name, original, ours = self._done.pop()
            if getattr(owner, name, None) is ours:
                setattr(owner, name, original)


def patch_processes(patches: Patches, session: Session) -> None:
    """Give every process that is started the identity of the thread that starts it."""
    signature = inspect.signature(subprocess.Popen.__init__)

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - it is one
            bound = _with_environment(signature, session, (self, *args), kwargs) if session.active else None
            if bound is None:
                original(self, *args, **kwargs)
                return
            original(*bound.args, **bound.kwargs)
            session.spawned(self.pid, bound.arguments.get("args", ()))

        return __init__

    patches.wrap(subprocess.Popen, "__init__", wrap)


def _with_environment(
    signature: inspect.Signature, session: Session, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> inspect.BoundArguments | None:
    """Return the call with our environment, or None where it has to go on as it is."""
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:  # the original says it better
        return None
    environment = session.environment(bound.arguments.get("env"))
    if environment is None or "env" not in signature.parameters:
        return None
    gap = program_gap(_program(bound.arguments))
    if gap is None:
        bound.arguments["env"] = environment
    else:
        session.gap(gap[0], f"{gap[1]} ran untraced")
    return bound


def _program(arguments: Mapping[str, Any]) -> str:
    """Return the program that a Popen call starts."""
    if arguments.get("executable"):
        return os.fsdecode(arguments["executable"])
    if arguments.get("shell"):
        return "/bin/sh"
    argv = arguments["args"]
    return os.fsdecode(argv if isinstance(argv, (str, bytes, os.PathLike)) else next(iter(argv), ""))


def patch_threads(patches: Patches, session: Session) -> None:
    """Let threads that the body of a ``run:`` starts work for the same attempt."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def start(thread: threading.Thread) -> None:
            attempt = session.attempt
            if session.active and session.is_live and attempt is not None:
                thread.run = _carrying(session, attempt, thread.run)  # type: ignore[method-assign]
            original(thread)

        return start

    patches.wrap(threading.Thread, "start", wrap)


def _carrying(session: Session, attempt: AttemptId, run: Callable[[], None]) -> Callable[[], None]:
    def carried() -> None:
        with session.live(attempt):
            run()

    return carried


def wrap_body(session: Session, rule: Any) -> None:
    """Make the body of a rule's ``run:`` live: what its thread does is the attempt's own work."""
    body = rule.run_func
    if body is None or getattr(body, "_provio", None) is session:
        return

    @functools.wraps(body)
    def live_body(*args: Any, **kwargs: Any) -> Any:
        attempt = session.attempt
        if not session.active or attempt is None:
            return body(*args, **kwargs)
        with session.live(attempt):
            return body(*args, **kwargs)

    live_body._provio = session  # type: ignore[attr-defined]  # noqa: SLF001 - our own mark
    rule.run_func = live_body


_cause: ContextVar[tuple[str, AttemptId | None]] = ContextVar("provio_cause", default=("delete", None))
"""Why Snakemake removes files at this moment, and for which attempt."""


def patch_engine_files(
    patches: Patches, session: Session, attempt_of: Callable[[Any], AttemptId | None]
) -> None:
    """Tell what Snakemake itself does to files: temp deletion, protection, touch, clean-up."""
    from snakemake.io import _IOFile
    from snakemake.jobs import Job

    def caused(action: str) -> Wrap:
        def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
            async def within(job: Any, *args: Any, **kwargs: Any) -> Any:
                token = _cause.set((action, attempt_of(job)))
                try:
                    return await original(job, *args, **kwargs)
                finally:
                    _cause.reset(token)

            return within

        return wrap

    wanted: list[tuple[Any, str, Wrap]] = [
        (Job, "postprocess", caused("delete")),
        (Job, "cleanup", caused("clean")),
        (_IOFile, "remove", lambda original: _removing(session, original)),
        (_IOFile, "protect", lambda original: _doing(session, "protect", original)),
        (_IOFile, "touch", lambda original: _doing(session, "touch", original)),
        (_IOFile, "touch_or_create", lambda original: _creating(session, original)),
    ]
    for owner, name, wrap in wanted:
        if not patches.wrap(owner, name, wrap):
            session.gap(GapKind.ENGINE_NOT_TRACED, f"this Snakemake has no {owner.__name__}.{name}")


def _removing(session: Session, original: Callable[..., Any]) -> Callable[..., Any]:
    async def remove(file: Any, *args: Any, **kwargs: Any) -> Any:
        existed = os.path.lexists(file)  # noqa: ASYNC240 - as Snakemake itself does here
        result = await original(file, *args, **kwargs)
        if session.active and existed and not os.path.lexists(file):  # noqa: ASYNC240
            session.engine_file(_cause.get()[0], file, _cause.get()[1])
        return result

    return remove


def _doing(session: Session, action: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def act(file: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(file, *args, **kwargs)
        if session.active:
            session.engine_file(action, file, _cause.get()[1])
        return result

    return act


def _creating(session: Session, original: Callable[..., Any]) -> Callable[..., Any]:
    def touch_or_create(file: Any, *args: Any, **kwargs: Any) -> Any:
        existed = os.path.lexists(file)  # if so, the original calls touch, which tells
        result = original(file, *args, **kwargs)
        if session.active and not existed:
            session.engine_file("touch", file, _cause.get()[1])
        return result

    return touch_or_create
