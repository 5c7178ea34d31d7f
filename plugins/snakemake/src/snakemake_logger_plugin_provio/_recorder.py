"""The main Snakemake's part: begin a run when jobs are about to run, follow each job, end the run.

Theory of operation. The recorder hears Snakemake's log synchronously (a handler
on its logger; plugin handlers themselves are called late, in another thread).
``workflow_started`` says what runs, ``run_info`` that jobs will run: only then is
the spool made and are the job functions wrapped, before any hook, helper or job
can start. The end of ``Workflow.execute`` says how the workflow ended; ``close``,
after Snakemake's last act, ends the run and starts the sealer.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from typing import TYPE_CHECKING, Any, Final

from provio.engines import (
    current_context,
    describe_run,
    find_store,
    host_event,
    report_arming,
    stamp,
    start_sealer,
)
from provio.engines.spool import Spool
from provio.errors import ProvioError
from provio.model import events as ev
from provio.model.gaps import GapKind
from snakemake_logger_plugin_provio import _jobs, _workflow
from snakemake_logger_plugin_provio._patches import (
    Patches,
    patch_engine_files,
    patch_processes,
    patch_threads,
    wrap_body,
)
from snakemake_logger_plugin_provio._session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from provio.model.ids import AttemptId

NO_JOBS: Final = frozenset({"dryrun", "touch"})
"""Executors that run nothing."""

ON_USER_REQUEST: Final = "Terminating processes on user request"
"""How Snakemake's scheduler begins its message about Ctrl-C."""

NO: Final = frozenset({"no", "false", "0", "off"})


class Tap(logging.Handler):
    """Gives the recorder every record of Snakemake's logger, in the thread that logs."""

    def __init__(self, heard: Callable[[logging.LogRecord], None]) -> None:
        super().__init__()
        self._heard = heard

    def emit(self, record: logging.LogRecord) -> None:
        """Pass the record on; never raise into Snakemake."""
        try:
            self._heard(record)
        except Exception:  # noqa: BLE001 - capture never harms the run
            self.setLevel(logging.CRITICAL + 1)


class Recorder:
    """Records the one workflow of a log handler."""

    def __init__(self, settings: Any) -> None:
        self._settings = settings
        self._session: MainSession | None = None
        self._patches = Patches()
        self._header: logging.LogRecord | None = None
        self._workflow: Any = None
        self._inert = False
        self._interrupted = False
        self._outcome: tuple[str, int] | None = None
        self._tap = Tap(self._heard)

    def listen(self) -> None:
        """Hear the log and learn how the workflow ends; nothing is written yet."""
        from snakemake.logging import logger
        from snakemake.workflow import Workflow

        logger.addHandler(self._tap)
        self._patches.wrap(Workflow, "execute", self._executing)

    def close(self) -> None:
        """End the run and let go of Snakemake; the second call does nothing."""
        from snakemake.logging import logger

        logger.removeHandler(self._tap)
        self._patches.undo()
        session, self._session = self._session, None
        if session is None:
            return
        state, code = self._outcome or ("failed", 1)
        session.emit(ev.RunEnded(stamp(), run=session.run, state=state, exit_code=code))
        session.leave()
        if str(self._settings.seal).lower() not in NO:
            start_sealer(session.spool)

    def _heard(self, record: logging.LogRecord) -> None:
        event = getattr(record, "event", None)
        name = str(getattr(event, "value", event))
        if name == "workflow_started":
            self._header = record
        elif name == "run_info" and self._session is None and not self._inert and self._header:
            self._begin(self._header)
        elif name == "error" and self._session is not None:
            self._session.last_error(record)
        elif name == "None" and str(record.msg).startswith(ON_USER_REQUEST):
            self._interrupted = True  # Snakemake swallows the KeyboardInterrupt itself

    def _executing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def execute(workflow: Any, executor_plugin: Any, *args: Any, **kwargs: Any) -> Any:
            self._workflow = workflow
            self._inert = getattr(executor_plugin, "name", "") in NO_JOBS
            try:
                result = original(workflow, executor_plugin, *args, **kwargs)
            except BaseException as error:
                self._ended(error)
                raise
            self._ended(None)
            return result

        return execute

    def _ended(self, error: BaseException | None) -> None:
        """Note how the workflow ended, and tell the user where to ask."""
        killed = self._interrupted or isinstance(error, KeyboardInterrupt) or _user_kill(self._workflow)
        self._outcome = ("succeeded", 0) if error is None else ("cancelled" if killed else "failed", 1)
        if self._session is not None:
            _log(f"provio: run {self._session.run}; ask: provio show")

    def _begin(self, header: logging.LogRecord) -> None:
        """Make the spool and hook in; where that is not possible, warn once and record nothing."""
        try:
            session = self._open(header)
        except (ProvioError, OSError) as error:
            self._inert = True
            _log(f"provio: not recording ({error}); the workflow goes on", warn=True)
            return
        except Exception as error:  # noqa: BLE001 - capture never harms the run
            self._inert = True
            _log(f"provio: not recording ({type(error).__name__}: {error})", warn=True)
            return
        self._session = session
        self._hook(session)

    def _open(self, header: logging.LogRecord) -> MainSession:
        cwd = os.getcwd()  # noqa: PTH109 - a str is wanted
        place = find_store(cwd, self._settings.store)
        if place.notice:
            _log(f"provio: {place.notice}", warn=True)
        run = describe_run(
            engine="snakemake",
            engine_version=str(getattr(header, "snakemake_version", "")),
            workflow=_workflow.identity(str(getattr(header, "snakefile_main", "")), self._settings.workflow),
            cwd=cwd,
            argv=sys.argv,
            name=self._settings.name or "",
            mode=self._settings.trace or "",
            tracers=("preload",),
            attributes={"snakefile": str(getattr(header, "snakefile_main", ""))},
        )
        session = MainSession(Spool.create(place.path, run), cwd)
        session.introduce(_workflow.configuration(self._workflow, header))
        return session

    def _hook(self, session: MainSession) -> None:
        from snakemake.executors.local import Executor
        from snakemake.scheduling.job_scheduler import JobScheduler

        patch_processes(self._patches, session)
        patch_threads(self._patches, session)
        patch_engine_files(self._patches, session, session.attempt_of)
        wanted = (
            (Executor, "cached_or_run", session.running),
            (JobScheduler, "_handle_error", session.handling_error),
        )
        for owner, name, wrap in wanted:
            if not self._patches.wrap(owner, name, wrap):
                session.gap(GapKind.EVENTS_MISSING, f"this Snakemake has no {owner.__name__}.{name}")


class MainSession(Session):
    """The main Snakemake's part in its run."""

    def __init__(self, spool: Spool, cwd: str) -> None:
        super().__init__(spool, cwd)
        self._tries: dict[str, tuple[AttemptId, str]] = {}
        self._errors: dict[int, str] = {}

    def introduce(self, config: dict[str, Any]) -> None:
        """Emit what there is to say before the first job."""
        run = self.spool.run
        self.emit(
            ev.RunStarted(
                stamp(),
                run=run.run_id,
                engine=run.engine,
                engine_version=run.engine_version,
                workflow=run.workflow,
                cwd=run.cwd,
                argv=run.argv,
                process=self._process,
                config=config,
            )
        )
        self.emit(host_event())
        report_arming(self.spool, self._emitter)
        if current_context() is None:
            detail = (
                "Snakemake's own process is not traced; start it as 'provio run -- snakemake ...' to see it"
            )
            self.gap(GapKind.ENGINE_NOT_TRACED, detail)

    def attempt_of(self, job: Any) -> AttemptId | None:
        """Return the latest attempt of a job (or group) of Snakemake."""
        try:
            return self._tries.get(_jobs.physical_key(job), (None, ""))[0]
        except Exception:  # noqa: BLE001 - a group job has no key
            return None

    def last_error(self, record: logging.LogRecord) -> None:
        """Remember the text of an error until the job is known that it belongs to."""
        self._errors[threading.get_ident()] = str(record.msg)[: _jobs.TEXT_LIMIT]

    def running(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap ``cached_or_run``: begin and end of each try, in the thread that does it."""

        def cached_or_run(executor: Any, job: Any, run_func: Callable[..., Any], *args: Any) -> Any:
            if not self.active:
                return original(executor, job, run_func, *args)
            ran: list[bool] = []

            def noted(*arguments: Any) -> Any:
                ran.append(True)
                return run_func(*arguments)

            attempt = self._job_began(job, run_func)
            try:
                with self.working_for(attempt, starts_engine=_name(run_func) == "spawn_job"):
                    result = original(executor, job, noted, *args)
            except BaseException as error:
                self._job_ended(attempt, job, error)
                raise
            self._job_ended(attempt, job, None, "" if ran else "taken from the between-workflow cache")
            return result

        return cached_or_run

    def handling_error(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap ``_handle_error``: a try whose command succeeded can still have failed (missing output)."""

        def _handle_error(scheduler: Any, job: Any, *args: Any, **kwargs: Any) -> Any:
            self._job_rejected(job)
            return original(scheduler, job, *args, **kwargs)

        return _handle_error

    def _job_began(self, job: Any, run_func: Callable[..., Any]) -> AttemptId | None:
        attempt = self.started(job)
        if attempt is None:
            return None
        self._tried(lambda: self._tries.update({_jobs.physical_key(job): (attempt, "running")}), None)
        if _name(run_func) == "run_wrapper" and _jobs.kind(job) == "run":
            wrap_body(self, job.rule)
            if current_context() is None:
                detail = "the body of run: was executed by Snakemake's own, untraced process"
                self.gap(GapKind.ENGINE_NOT_TRACED, detail, f"attempt:{attempt}")
        return attempt

    def _job_ended(
        self, attempt: AttemptId | None, job: Any, error: BaseException | None, message: str = ""
    ) -> None:
        if attempt is not None:
            state = "succeeded" if error is None else "failed"
            self._tries[_jobs.physical_key(job)] = (attempt, state)
            self.ended(attempt, job, error, message, cancelled=_user_kill(job.dag.workflow))

    def _job_rejected(self, job: Any) -> None:
        for member in job if job.is_group() else (job,):
            attempt, state = self._tries.get(_jobs.physical_key(member), (None, ""))
            if attempt is not None and state == "succeeded":
                text = self._errors.pop(threading.get_ident(), "") or "Snakemake rejected the result"
                self._tries[_jobs.physical_key(member)] = (attempt, "failed")
                self.emit(ev.TaskEnded(stamp(), attempt=attempt, state="failed", cwd=self.cwd, message=text))


def _user_kill(workflow: Any) -> bool:
    """Tell whether the user asked the workflow to stop."""
    return bool(getattr(getattr(workflow, "scheduler", None), "_user_kill", None))


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", "")


def _log(text: str, *, warn: bool = False) -> None:
    """Say one line through Snakemake's log, so that its ``--quiet`` holds for us too."""
    from snakemake.logging import logger
    from snakemake.settings.enums import Quietness

    if warn:
        logger.warning(text)
    else:
        logger.info(text, extra={"quietness": Quietness.PROGRESS})
