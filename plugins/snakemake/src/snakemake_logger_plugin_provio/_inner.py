"""A Snakemake inside a job: ``run:`` and ``shadow:`` jobs are run by a second Snakemake process.

That process loads no logger plugin, but it imports this package, and its
environment says to which attempt of which run it belongs. ``join`` makes it take
part: it is engine runtime except for the body of ``run:``, and its own retries
are attempts of their own, inside the outer one.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from provio.engines import current_context
from provio.engines.spool import Spool
from provio.model.ids import ENGINE, AttemptId
from snakemake_logger_plugin_provio._patches import Patches, patch_processes, patch_threads, wrap_body
from snakemake_logger_plugin_provio._session import Session

if TYPE_CHECKING:
    from collections.abc import Callable


class InnerSession(Session):
    """The part of a Snakemake that was started by an attempt, ``outer``."""

    def __init__(self, spool: Spool, outer: AttemptId) -> None:
        super().__init__(spool, spool.run.cwd)
        self.outer = outer
        self._inside: set[AttemptId] = set()

    def job_id(self, job: Any) -> str:  # noqa: ARG002 - not asked
        """Leave it out: numbers begin anew in here and would be mistaken for the outer ones."""
        return ""

    def begin(self, job: Any) -> AttemptId | None:
        """Return the attempt for a try of a job in here.

        The outer attempt itself, unless this Snakemake will retry on its own:
        then each try is an attempt inside the outer one.
        """
        if job.restart_times:
            attempt = self.started(job, parent=self.outer)
            if attempt is not None:
                self._inside.add(attempt)
            return attempt
        if getattr(job, "shadow_dir", None):  # only in here it is known where it works
            self.started(job, again=self.outer)
        return self.outer

    def end(self, attempt: AttemptId | None, job: Any, error: BaseException | None) -> None:
        """Tell the end of a try that only this process knows; the outer one is ended outside."""
        if attempt is not None and attempt in self._inside:
            self.ended(attempt, job, error)


def join() -> None:
    """Take part in the run around this process, if there is one of Snakemake."""
    context = current_context()
    if context is None or context.attempt == ENGINE:
        return
    spool = Spool.open(context.spool)
    if spool.run.engine != "snakemake":
        return
    from snakemake.executors.local import Executor

    session = InnerSession(spool, context.attempt)
    session.mark_engine()
    patches = Patches()
    patch_processes(patches, session)
    patch_threads(patches, session)
    patches.wrap(Executor, "cached_or_run", lambda original: _inner_job(session, original))


def _inner_job(session: InnerSession, original: Callable[..., Any]) -> Callable[..., Any]:
    def cached_or_run(executor: Any, job: Any, run_func: Any, *args: Any) -> Any:
        session.cwd = os.getcwd()  # noqa: PTH109 - a str is wanted
        attempt = session.begin(job)
        if getattr(job, "is_run", False):
            wrap_body(session, job.rule)
        try:
            with session.working_for(attempt or session.outer):
                result = original(executor, job, run_func, *args)
        except BaseException as error:
            session.end(attempt, job, error)
            raise
        session.end(attempt, job, None)
        return result

    return cached_or_run
