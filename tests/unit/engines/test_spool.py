from __future__ import annotations

import dataclasses
import json
import os
import stat
from pathlib import Path

import pytest

from provio.engines import Spool, describe_run, find_store, spools
from provio.errors import EvidenceError
from provio.model.ids import new_attempt_id, new_run_id
from provio.model.runs import RunRecord


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return find_store(tmp_path).path


def record(**more: object) -> RunRecord:
    return describe_run(engine="test", engine_version="1", workflow="w", **more)  # type: ignore[arg-type]


def test_spool_has_its_record_and_directories_from_the_start_and_is_private(store: Path) -> None:
    spool = Spool.create(store, record())
    assert spool.path == store / "spool" / spool.run.run_id
    assert sorted(p.name for p in spool.path.iterdir()) == ["events", "io", "run.json"]
    assert stat.S_IMODE(spool.path.stat().st_mode) == 0o700
    assert spools(store) == [spool.path]


def test_record_read_back_equals_the_one_written(store: Path) -> None:
    outer = (new_run_id(), new_attempt_id())
    run = record(argv=["a", "b\udc80"], parent=outer, attributes={"k": 1})
    spool = Spool.create(store, run)
    assert Spool.open(spool.path).run == spool.run == dataclasses.replace(run, mode="aggregate")
    assert (run.parent_run, run.parent_attempt) == outer


def test_record_says_who_and_where(store: Path) -> None:
    data = json.loads((Spool.create(store, record()).path / "run.json").read_bytes())
    assert (data["format"], data["version"]) == ("provio.run", 1)
    assert (data["pid"], data["uid"], data["cwd"]) == (os.getpid(), os.geteuid(), str(Path.cwd()))
    assert len(data["boot_id"]) == 32
    assert data["start_ticks"] > 0
    assert data["pidns"] > 0
    assert data["started"]["real"] > data["started"]["mono"] > 0
    assert data["libc"].startswith("glibc ")


def test_secrets_do_not_reach_the_record(store: Path) -> None:
    argv = ["x", "--password", "hunter2x", "https://me:hunter2x@h/"]
    spool = Spool.create(store, record(argv=argv, name="token=hunter2x"))
    assert "hunter2x" not in (spool.path / "run.json").read_text()


def test_run_that_exists_is_not_overwritten(store: Path) -> None:
    run = record()
    spool = Spool.create(store, run)
    (spool.events / "x.jsonl").write_text("")
    with pytest.raises(OSError, match=r"not empty|exists"):
        Spool.create(store, run)
    assert (spool.events / "x.jsonl").exists()
    assert len(list((store / "spool").iterdir())) == 1


def test_spool_that_cannot_be_made_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        Spool.create(tmp_path / "absent", record())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Expecting value"),
        ("[]", "run.json"),
        ("{}", "format is None"),
        ('{"format": "provio.run", "version": 2}', "version is 2"),
        ('{"format": "provio.run", "version": 1}', "missing"),
        ('{"format": "provio.run", "version": 1, "started": 3}', "'started'"),
        ('{"format": "provio.run"', "run.json"),
    ],
)
def test_record_that_cannot_be_read_is_an_error_that_names_the_file(
    tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(EvidenceError, match=said) as caught:
        Spool.open(tmp_path)
    assert str(tmp_path / "run.json") in caught.value.message


def test_field_of_a_later_minor_version_is_ignored(store: Path) -> None:
    run = record()
    assert RunRecord.from_json(run.to_json() | {"later": 1}) == run


def test_directory_without_spools_has_none(tmp_path: Path) -> None:
    assert spools(tmp_path) == []
