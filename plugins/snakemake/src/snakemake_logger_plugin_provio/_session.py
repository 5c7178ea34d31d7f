"""A session: how one Snakemake process takes part in a run.

Here: identity of the calling thread, the events of an attempt from its begin to
its end, and the environment of what it starts. The main Snakemake (``_recorder``)
and one inside a job (``_inner``) share this; ``_patches`` calls it from within
Snakemake. Nothing here raises into the workflow: what fails becomes a Gap.
"""

from __future__ import annotations

import functools
import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

from provio.engines import attempt_environment, process_ref, set_task, stamp
from provio.model import events as ev
from provio.model.gaps import GapKind
from provio.model.ids import ENGINE, AttemptId, RunId, new_attempt_id, task_token
from snakemake_logger_plugin_provio import _jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from provio.engines.emitter import Emitter
    from provio.engines.spool import Spool

_INTERRUPTED: Final = frozenset({-signal.SIGINT, 128 + signal.SIGINT})
"""Exit statuses of a command that the user's Ctrl-C reached before it reached Snakemake."""

P = ParamSpec("P")
R = TypeVar("R")


def quietly(
    method: Callable[Concatenate[Session, P], R],
) -> Callable[Concatenate[Session, P], R | None]:
    """Make a method of a session answer None instead of raising; the failure becomes a Gap."""

    def safe(session: Session, /, *args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return method(session, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - capture never harms the run
            session.failed(method.__name__, error)
            return None

    return functools.update_wrapper(safe, method)


class Session:
    """One process's part in a run.

    Attributes:
        active: False once the process has left the run; what remains patched then does nothing.
        cwd: directory to which declared paths are relative.
    """

    def __init__(self, spool: Spool, cwd: str) -> None:
        self.spool = spool
        self.cwd = cwd
        self.active = True
        self._emitter: Emitter = spool.emitter()
        self._here = threading.local()
        self._failures: set[str] = set()
        self._process = process_ref()

    @property
    def run(self) -> RunId:
        """The run's id."""
        return self.spool.run.run_id

    def emit(self, event: ev.Event) -> None:
        """Write an event."""
        self._emitter.emit(event)

    def leave(self) -> None:
        """Stop taking part."""
        self.active = False
        self._emitter.close()

    # who works in this thread

    @property
    def attempt(self) -> AttemptId | None:
        """The attempt that the calling thread works for."""
        return getattr(self._here, "attempt", None)

    @contextmanager
    def working_for(self, attempt: AttemptId | None, *, starts_engine: bool = False) -> Iterator[None]:
        """Say that the calling thread starts processes for an attempt.

        Args:
            attempt: the attempt, None for the engine itself.
            starts_engine: they are a Snakemake (and its shell) that will do the attempt's work.
        """
        before, self._here.attempt = self.attempt, attempt
        self._here.starts_engine = starts_engine
        try:
            yield
        finally:
            self._here.attempt, self._here.starts_engine = before, False

    @contextmanager
    def live(self, attempt: AttemptId) -> Iterator[None]:
        """Say that the calling thread itself does the attempt's work, as in the body of ``run:``."""
        with self.working_for(attempt):
            self._here.live = True
            traced = self._announce(attempt)
            try:
                yield
            finally:
                self._here.live = False
                self._retract(traced=bool(traced))

    @property
    def is_live(self) -> bool:
        """Whether the calling thread is inside ``live``; threads that it starts work for the same."""
        return getattr(self._here, "live", False)

    @quietly
    def _announce(self, attempt: AttemptId) -> bool:
        if set_task(task_token(self.run, attempt)):
            return True
        self._identity(attempt)  # for tracers outside of this process
        return False

    @quietly
    def _retract(self, *, traced: bool) -> None:
        if traced:
            set_task(None)
        else:
            self._identity(ENGINE)

    def _identity(self, attempt: AttemptId) -> None:
        thread = threading.get_native_id()
        self.emit(ev.IdentityChanged(stamp(), attempt=attempt, process=self._process, thread=thread))

    def mark_engine(self) -> None:
        """Say that this process is engine runtime wherever no attempt is live in it."""
        self.emit(ev.IdentityChanged(stamp(), attempt=ENGINE, process=self._process))

    # the life of an attempt

    @quietly
    def started(
        self,
        job: Any,
        *,
        parent: AttemptId | None = None,
        again: AttemptId | None = None,
    ) -> AttemptId:
        """Emit the begin of a job's try; return its new id.

        Args:
            job: Snakemake's job.
            parent: the attempt inside which it runs.
            again: do not mint: say more about this attempt.
        """
        attempt = again or new_attempt_id()
        self.emit(
            ev.TaskStarted(
                stamp(),
                run=self.run,
                attempt=attempt,
                logical=str(job.rule.name),
                physical=_jobs.physical_key(job),
                ordinal=int(job.attempt),
                kind=_jobs.kind(job),
                cwd=self._directory(job),
                process=self._process,
                job=self.job_id(job),
                command=self._tried(lambda: _jobs.command(job), ""),
                declared=self._tried(lambda: _jobs.declared(job, self.cwd), ()),
                attributes=self._tried(lambda: _jobs.attributes(job), {}),
                parent=parent,
            )
        )
        return attempt

    @quietly
    def ended(
        self,
        attempt: AttemptId,
        job: Any,
        error: BaseException | None,
        message: str = "",
        *,
        cancelled: bool = False,
    ) -> None:
        """Emit the end of a try: its true moment, state, exit status, error text.

        Args:
            attempt: which try.
            job: Snakemake's job.
            error: with which it failed, None if it succeeded.
            message: what else is to be said of a success.
            cancelled: the user stopped the workflow; a failure now is no fault of the job.
        """
        status = 0 if error is None else _jobs.exit_status(error)
        cancelled = cancelled or status in _INTERRUPTED or isinstance(error, (KeyboardInterrupt, SystemExit))
        state = "succeeded" if error is None else "cancelled" if cancelled else "failed"
        self.emit(
            ev.TaskEnded(
                stamp(),
                attempt=attempt,
                state=state,
                cwd=self._directory(job),
                process=self._process,
                exit_code=status if status is not None and status >= 0 else None,
                signal=-status if status is not None and status < 0 else None,
                message=message if error is None else _jobs.error_text(error),
            )
        )

    @quietly
    def environment(self, base: Mapping[Any, Any] | None) -> dict[str, str]:
        """Return the environment for a process that the calling thread is about to start.

        Args:
            base: the environment it was to have; None means this process's own.
        """
        names = None if base is None else {os.fsdecode(k): os.fsdecode(v) for k, v in base.items()}
        return attempt_environment(self.spool, self.run, self.attempt or ENGINE, names)

    @quietly
    def spawned(self, pid: int, command: Any) -> None:
        """Emit that a process was started for the attempt of the calling thread."""
        if self.attempt is None:
            return
        process = process_ref(pid)
        argv = [command] if isinstance(command, (str, bytes, os.PathLike)) else list(command)
        text = tuple(os.fsdecode(part) for part in argv)
        self.emit(ev.ProcessStarted(stamp(), attempt=self.attempt, process=process, argv=text))
        if getattr(self._here, "starts_engine", False):
            self.emit(ev.IdentityChanged(stamp(), attempt=ENGINE, process=process))

    @quietly
    def engine_file(self, action: str, path: Any, attempt: AttemptId | None) -> None:
        """Emit that Snakemake itself did something to a file."""
        full = os.path.abspath(os.fspath(path))  # noqa: PTH100 - the name as it is, no link resolved
        self.emit(ev.EngineFile(stamp(), action=action, path=full, attempt=attempt))

    def gap(self, kind: GapKind, detail: str, scope: str = "run") -> None:
        """Emit that something is not known."""
        self.emit(ev.GapSeen(stamp(), kind=kind.value, scope=scope, detail=detail))

    def failed(self, what: str, error: Exception) -> None:
        """Turn a failure of ours into a Gap, once per place."""
        if what not in self._failures:
            self._failures.add(what)
            self.gap(GapKind.PLUGIN_FAILED, f"snakemake plugin, {what}: {type(error).__name__}: {error}")

    def job_id(self, job: Any) -> str:
        """Return Snakemake's number of a job."""
        return str(job.jobid)

    def _directory(self, job: Any) -> str:
        shadow = getattr(job, "shadow_dir", None)
        return os.path.join(self.cwd, str(shadow)) if shadow else self.cwd  # noqa: PTH118

    def _tried(self, value: Callable[[], R], otherwise: R) -> R:
        """Return a value that may depend on users' code, or the other one."""
        try:
            return value()
        except Exception as error:  # noqa: BLE001 - an attempt without its declarations is still an attempt
            self.failed("describing a job", error)
            return otherwise
