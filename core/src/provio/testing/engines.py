"""What every engine plugin must keep to. The promises are the names of the tests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

from provio.engines import Spool, spools
from provio.importers.events import read_spool_events
from provio.model.events import Event, RunEnded, RunStarted, TaskEnded, TaskStarted
from provio.model.ids import is_id

if TYPE_CHECKING:
    from collections.abc import Sequence

SECRET = "hunter2-of-the-contract"  # noqa: S105 - it must not be found anywhere
E = TypeVar("E", bound=Event)


class EngineContract(ABC):
    """Contract of an engine plugin.

    ``run_workflow`` executes a small workflow once per test class member, with
    at least one task, and with ``--password SECRET`` in some command or setting
    if the engine has such.
    """

    @abstractmethod
    def run_workflow(self, store: Path, directory: Path) -> None:
        """Run a workflow to its end in ``directory``, recorded in ``store``."""

    @pytest.fixture
    def spool(self, tmp_path: Path) -> Path:
        """Return the spool of one run of the workflow."""
        directory = tmp_path / "work"
        directory.mkdir()
        self.run_workflow(tmp_path / "store", directory)
        (found,) = spools(tmp_path / "store")
        return Path(found)

    def test_run_record_names_engine_and_process(self, spool: Path) -> None:
        """``run.json`` is there and whole."""
        record = Spool.open(spool).run
        assert record.engine
        assert record.pid > 0
        assert is_id(record.run_id)

    def test_every_event_can_be_read(self, spool: Path) -> None:
        """No line is torn or unknown."""
        events, gaps = read_spool_events(spool)
        assert events
        assert not gaps

    def test_run_begins_and_ends_once(self, spool: Path) -> None:
        """The answers need a begin and a state."""
        assert len(_of(spool, RunStarted)) == 1
        (end,) = _of(spool, RunEnded)
        assert end.state in {"succeeded", "failed", "cancelled"}

    def test_every_try_has_an_id_of_its_own_and_an_end(self, spool: Path) -> None:
        """Tries are not merged, and none stays open after the run."""
        tries = [task.attempt for task in _of(spool, TaskStarted)]
        assert tries
        assert len(set(tries)) == len(tries)
        assert {end.attempt for end in _of(spool, TaskEnded)} == set(tries)

    def test_every_task_says_where_it_ran(self, spool: Path) -> None:
        """Directory and process are evidence for whose a process is."""
        for task in _of(spool, TaskStarted):
            assert Path(task.cwd).is_absolute()
            assert task.process is not None
            assert task.process.pid > 0

    def test_ends_come_after_begins(self, spool: Path) -> None:
        """On the monotonic clock of the host."""
        begun = {task.attempt: task.stamp.mono for task in _of(spool, TaskStarted)}
        assert all(end.stamp.mono >= begun[end.attempt] for end in _of(spool, TaskEnded))

    def test_secret_reaches_no_file_of_the_spool(self, spool: Path) -> None:
        """Redaction happens before anything is written."""
        leaks = [p.name for p in spool.rglob("*") if p.is_file() and SECRET.encode() in p.read_bytes()]
        assert not leaks


def _of(spool: Path, kind: type[E]) -> Sequence[E]:
    events, _ = read_spool_events(spool)
    return [event for event in events if isinstance(event, kind)]
