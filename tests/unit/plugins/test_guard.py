"""While a run is recorded or sealed, a plugin that fails is left out and becomes a gap."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from provio.engines import redact
from provio.model.events import ProcessRef, Stamp, TaskStarted
from provio.model.gaps import GapKind
from provio.plugins import hookimpl
from provio.plugins.capture import add_redactors
from provio.plugins.guard import Guard, site_rule
from provio.plugins.manager import Plugins

if TYPE_CHECKING:
    from provio.model.ids import AttemptId, RunId

A: AttemptId = "a" * 32  # type: ignore[assignment]
R: RunId = "b" * 32  # type: ignore[assignment]
TASK = TaskStarted(
    Stamp(1, 2, "c" * 32, "node", 3, 3), R, A, "sort", "sort:x", 1, "shell", "/w", ProcessRef(3),
    attributes={"external_jobid": "77"},
)  # fmt: skip


def with_plugin(**hooks: Any) -> Plugins:
    found = Plugins()
    marked = {name: hookimpl(function) for name, function in hooks.items()}
    found.register(SimpleNamespace(**marked), "mine")
    return found


def test_hook_that_raises_is_called_once_and_becomes_one_gap() -> None:
    calls: list[int] = []

    def fails(epoch: Any) -> None:
        calls.append(1)
        raise RuntimeError("no")

    guard = Guard(with_plugin(provio_attempt_of=fails))
    rule = site_rule(guard, [TASK])
    assert [rule({"environment": {}}) for _ in range(3)] == [None] * 3
    assert len(calls) == 1
    assert [(gap.kind, "mine" in gap.detail) for gap in guard.gaps] == [(GapKind.PLUGIN_FAILED, True)]


def test_built_in_rule_still_answers_where_a_plugin_failed() -> None:
    guard = Guard(with_plugin(provio_attempt_of=lambda: 1 / 0))
    assert site_rule(guard, [TASK])({"environment": {"SLURM_JOB_ID": "77"}}) == A


def test_attempt_that_is_none_of_the_run_is_a_failure_of_the_plugin() -> None:
    guard = Guard(with_plugin(provio_attempt_of=lambda: "f" * 32))
    assert site_rule(guard, [TASK])({"environment": {}}) is None
    assert "no attempt of the run" in guard.gaps[0].detail


def test_plugin_answers_before_the_built_in_rule() -> None:
    other = TaskStarted(TASK.stamp, R, "d" * 32, "plot", "plot", 1, "shell", "/w")  # type: ignore[arg-type]
    guard = Guard(with_plugin(provio_attempt_of=lambda attempts: attempts[1]["attempt"]))
    assert site_rule(guard, [TASK, other])({"environment": {"SLURM_JOB_ID": "77"}}) == other.attempt


@pytest.fixture
def _redactors_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redact, "_redactors", [])


@pytest.mark.usefixtures("_redactors_put_back")
def test_redactor_of_a_plugin_joins_the_built_in_patterns() -> None:
    add_redactors(with_plugin(provio_redact=lambda text: text.replace("badge", "***")), [].append)
    assert redact.redact_text("badge --password x") == "*** --password ***"


@pytest.mark.usefixtures("_redactors_put_back")
def test_redactor_that_raises_is_reported_once_and_the_text_still_redacted() -> None:
    reports: list[str] = []
    add_redactors(with_plugin(provio_redact=lambda: 1 / 0), reports.append)
    assert [redact.redact_text("--password x") for _ in range(3)] == ["--password ***"] * 3
    assert len(reports) == 1
    assert "mine" in reports[0]
