"""The Snakemake logger plugin ``provio``: which job really read and wrote which file.

Here: the two classes that Snakemake looks for, and the one line that joins a
Snakemake inside a job (``run:``, ``shadow:``) to the run around it. Snakemake
imports this module in every call, with or without ``--logger provio``: it must
be light and must never raise. What is done is in ``_recorder`` (the main
Snakemake) and ``_inner`` (one inside a job).

No ``from __future__ import annotations`` here: Snakemake calls the types of the
settings as parsers, so that they have to be types.
"""

# ruff: noqa: UP045 - Snakemake reads Optional[X], not X | None

import sys
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from logging import LogRecord
from pathlib import Path
from typing import TYPE_CHECKING, Optional

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase

if TYPE_CHECKING:
    from snakemake_logger_plugin_provio._recorder import Recorder

__all__ = ["LogHandler", "LogHandlerSettings"]


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    """Settings: ``--logger-provio-X``, ``SNAKEMAKE_LOGGER_PROVIO_X``, ``logger-provio-X:`` in a profile."""

    store: Optional[Path] = field(
        default=None,
        metadata={
            "help": "Directory in which provio keeps its runs "
            "(default: the nearest .provio of yours upward from the workflow, else a new one there).",
            "env_var": True,
            "metavar": "DIR",
        },
    )
    name: Optional[str] = field(
        default=None,
        metadata={"help": "A name for this run, for people.", "env_var": True, "metavar": "TEXT"},
    )
    workflow: Optional[str] = field(
        default=None,
        metadata={
            "help": "Identity of the workflow, under which its runs are compared "
            "(default: version-control remote and path, else the Snakefile).",
            "env_var": True,
            "metavar": "ID",
        },
    )
    trace: Optional[str] = field(
        default=None,
        metadata={
            "help": "What is recorded of reads and writes: totals for each open file (aggregate), "
            "or every single one (full); default: what 'provio config' says, else aggregate.",
            "env_var": True,
            "choices": ["aggregate", "full"],
            "metavar": "aggregate|full",
        },
    )
    seal: str = field(
        default="yes",
        metadata={
            "help": "Whether to seal the run in the background when it has ended; "
            "without, the next provio command does it (yes or no).",
            "env_var": True,
            "metavar": "yes|no",
        },
    )


class LogHandler(LogHandlerBase):
    """Records one workflow. Inert on dry runs and on calls that only inform."""

    def __post_init__(self) -> None:
        """Prepare to listen; nothing is written before jobs are about to run."""
        self._recorder: Optional[Recorder] = None
        if getattr(self.common_settings, "dryrun", False):
            return
        try:
            from snakemake_logger_plugin_provio import _recorder

            self._recorder = _recorder.Recorder(self.settings or LogHandlerSettings())
            self._recorder.listen()
        except Exception as error:  # noqa: BLE001 - capture never harms the run
            _say(f"provio: not recording ({type(error).__name__}: {error})")

    def emit(self, record: LogRecord) -> None:
        """Do nothing: this is called late and in another thread; the recorder's own tap is not."""

    def close(self) -> None:
        """End the run. Snakemake calls it twice."""
        recorder, self._recorder = getattr(self, "_recorder", None), None
        if recorder is not None:
            recorder.close()
        super().close()

    @property
    def writes_to_stream(self) -> bool:
        """Leave the terminal to Snakemake's own handler."""
        return False

    @property
    def writes_to_file(self) -> bool:
        """Say no: the run is a directory, not a log."""
        return False

    @property
    def has_filter(self) -> bool:
        """Say yes, or ``--quiet`` would hide jobs from us."""
        return True

    @property
    def has_formatter(self) -> bool:
        """Say yes: messages are not formatted."""
        return True

    @property
    def needs_rulegraph(self) -> bool:
        """Say no: dependencies come from what is really read."""
        return False


def _say(text: str) -> None:
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"{text}\n")


def _inside_a_job(argv: list[str]) -> bool:
    """Tell whether this Snakemake was started by another one, to run a job."""
    return any(flag == "--mode" and mode in {"subprocess", "remote"} for flag, mode in pairwise(argv))


if _inside_a_job(sys.argv):
    try:
        from snakemake_logger_plugin_provio import _inner

        _inner.join()
    except Exception as error:  # noqa: BLE001 - raising here would break every call of Snakemake
        _say(f"provio: this job's inner Snakemake is not told apart ({type(error).__name__}: {error})")
