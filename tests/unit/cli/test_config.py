"""Settings: shown, changed, and where each comes from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from provio.cli import call
from provio.engines.settings import SETTINGS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for setting in SETTINGS:
        monkeypatch.delenv(setting.variable, raising=False)
    monkeypatch.delenv("PROVIO_STORE", raising=False)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return tmp_path


def config(capsys: pytest.CaptureFixture[str], *args: str, code: int = 0) -> str:
    assert call(["config", *args]) == code
    captured = capsys.readouterr()
    return captured.err if code else captured.out


def settings(capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[object, str]]:
    document = json.loads(config(capsys, "--json"))
    assert document["version"] == 1
    return {one["name"]: (one["value"], one["origin"]) for one in document["settings"]}


def test_every_setting_is_listed_with_its_origin(capsys: pytest.CaptureFixture[str]) -> None:
    assert settings(capsys) == {
        "trace": ("aggregate", "default"),
        "digest_limit": (1 << 30, "default"),
        "redact": ([], "default"),
        "environment": ([], "default"),
    }
    assert config(capsys) == config(capsys, "list")


def test_environment_beats_store_beats_user_beats_default(
    capsys: pytest.CaptureFixture[str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config(capsys, "set", "digest_limit", "1KiB")
    assert settings(capsys)["digest_limit"] == (1024, str(home / "config/provio/config.toml"))
    config(capsys, "set", "digest_limit", "2KiB", "--project")
    assert settings(capsys)["digest_limit"] == (2048, str(home / "work/.provio/config.toml"))
    monkeypatch.setenv("PROVIO_DIGEST_LIMIT", "3K")
    assert settings(capsys)["digest_limit"] == (3072, "environment (PROVIO_DIGEST_LIMIT)")


def test_setting_one_keeps_the_other_lines_and_comments(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    file = home / "config/provio/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('# mine\ntrace = "full"  # all of it\nredact = ["a"]\n')
    config(capsys, "set", "redact", "b,c")
    assert file.read_text() == '# mine\ntrace = "full"  # all of it\nredact = ["b", "c"]\n'


def test_value_that_another_origin_overrides_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROVIO_REDACT", "x")
    assert call(["config", "set", "redact", "y"]) == 0
    assert "environment (PROVIO_REDACT) says 'x' and comes first" in capsys.readouterr().err


def test_get_prints_the_bare_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert config(capsys, "get", "trace") == "aggregate\n"


def test_path_names_the_files_and_whether_they_exist(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    config(capsys, "set", "trace", "full")
    assert config(capsys, "path").splitlines() == [
        f"{home}/work/.provio/config.toml  (does not exist)",
        f"{home}/config/provio/config.toml",
    ]


def test_asking_makes_no_store(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    config(capsys)
    config(capsys, "path")
    assert list((home / "work").iterdir()) == []


def test_unknown_setting_is_an_error_with_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean 'trace'" in config(capsys, "get", "trac", code=2)
    assert "there is no setting 'zzz'" in config(capsys, "set", "zzz", "1", code=2)


def test_unknown_setting_in_a_file_names_the_file(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    file = home / "config/provio/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("digst_limit = 5\n")
    shown = config(capsys, code=2)
    assert f"{file}: there is no setting 'digst_limit'" in shown
    assert "did you mean 'digest_limit'" in shown


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("trace", "everything"),
        ("digest_limit", "-1"),
        ("digest_limit", "lots"),
        ("redact", '["a b"]'),
        ("trace", "3"),
    ],
)
def test_wrong_value_is_an_error_that_says_what_it_takes(
    name: str, value: str, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    assert f"hint: {name} is" in config(capsys, "set", "--", name, value, code=2)
    assert not (home / "config").exists()


def test_file_that_is_no_toml_is_an_error_that_names_it(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    file = home / "config/provio/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("trace = = full\n")
    assert f"{file} is not TOML" in config(capsys, code=2)
    assert f"{file} is not TOML" in config(capsys, "set", "trace", "full", code=2)


def test_value_over_several_lines_is_left_to_the_person(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    file = home / "config/provio/config.toml"
    file.parent.mkdir(parents=True)
    text = 'redact = [\n  "a",\n]\n'
    file.write_text(text)
    assert "several lines" in config(capsys, "set", "redact", "b", code=2)
    assert file.read_text() == text
