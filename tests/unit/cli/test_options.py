"""Progress: one line on a terminal, nothing elsewhere."""

from __future__ import annotations

import io
import sys

import pytest

from provio.cli._options import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_drawn_on_a_terminal_and_taken_away_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    with progress("sealing") as update:
        update(1, 4)
    assert screen.getvalue() == "\r\x1b[2Ksealing  25 %\r\x1b[2K"


def test_nothing_is_drawn_where_there_was_nothing_to_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    with progress("sealing"):
        pass
    assert screen.getvalue() == ""


def test_nothing_is_drawn_off_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", log := io.StringIO())
    with progress("sealing") as update:
        update(1, 4)
    assert log.getvalue() == ""


def test_progress_is_taken_away_when_the_work_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", screen := Terminal())

    def work() -> None:
        with progress("sealing") as update:
            update(1, 2)
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        work()
    assert screen.getvalue().endswith("\r\x1b[2K")
