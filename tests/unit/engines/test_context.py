from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from provio.engines import current_context, describe_run, set_task
from provio.model.ids import new_attempt_id, new_run_id

if TYPE_CHECKING:
    from pathlib import Path


def test_process_outside_of_any_run_has_no_context(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROVIO_TASK", raising=False)
    assert current_context() is None
    assert describe_run(engine="t", engine_version="1", workflow="w").parent_run is None


def test_untraced_process_knows_its_attempt_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run, attempt = new_run_id(), new_attempt_id()
    monkeypatch.setenv("PROVIO_TASK", f"{run}/{attempt}")
    monkeypatch.setenv("PROVIO_SPOOL", str(tmp_path))
    assert current_context() == (run, attempt, tmp_path)
    inner = describe_run(engine="t", engine_version="1", workflow="w")
    assert (inner.parent_run, inner.parent_attempt) == (run, attempt)


@pytest.mark.parametrize("token", ["", "x", "a/b", "0" * 32, f"{'0' * 32}/", "é/ü"])
def test_token_that_somebody_set_by_hand_is_no_context(monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    monkeypatch.setenv("PROVIO_TASK", token)
    monkeypatch.setenv("PROVIO_SPOOL", "/tmp")
    assert current_context() is None


def test_untraced_process_cannot_take_an_identity() -> None:
    assert set_task(f"{new_run_id()}/{new_attempt_id()}") is False
