from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from provio.engines import Spool, attempt_environment, describe_run, redact, redact_text
from provio.engines.choice import choose
from provio.model.ids import new_attempt_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("PROVIO_TRACE", "PROVIO_REDACT", "PROVIO_ENV_ALLOW"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "store").mkdir()
    yield tmp_path / "store"
    redact._site_endings = ()
    choose.cache_clear()


def make(store: Path, mode: str = "") -> Spool:
    argv = ["x", "--patient-name", "Zqhunter", "--password", "Zqhunter"]
    return Spool.create(
        store, describe_run(engine="t", engine_version="1", workflow="w", argv=argv, mode=mode)
    )


def test_without_settings_a_run_is_recorded_in_sums(store: Path) -> None:
    spool = make(store)
    assert spool.run.mode == "aggregate"
    environment = attempt_environment(spool, spool.run.run_id, new_attempt_id(), {})
    assert environment.keys() - {"LD_PRELOAD"} == {"PROVIO_TASK", "PROVIO_SPOOL", "PROVIO_TRACE"}


def test_mode_of_the_settings_applies_where_none_is_asked_for(store: Path) -> None:
    (store / "config.toml").write_text('trace = "full"\n')
    assert make(store).run.mode == "full"
    assert make(store, "off").run.mode == "off"


def test_words_of_the_settings_are_redacted_and_reach_the_tracer(store: Path) -> None:
    (store / "config.toml").write_text('redact = ["Patient_Name"]\nenvironment = ["MY_*", "HOST"]\n')
    spool = make(store)
    assert "Zqhunter" not in (spool.path / "run.json").read_text()
    assert redact_text("patient-name=Zqhunter") == "patient-name=***"
    environment = attempt_environment(spool, spool.run.run_id, new_attempt_id(), {})
    assert (environment["PROVIO_REDACT"], environment["PROVIO_ENV_ALLOW"]) == ("patient_name", "MY_*,HOST")


def test_settings_that_cannot_be_read_are_said_once_and_the_run_goes_on(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (store / "config.toml").write_text("trace = \n")
    assert json.loads((make(store).path / "run.json").read_text())["mode"] == "aggregate"
    make(store)
    assert capsys.readouterr().err.count("provio:") == 1
