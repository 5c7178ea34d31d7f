"""The store: listing and finding runs, collecting spools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from provio.errors import UsageError
from provio.store import Store
from provio.store.manifest import FORMAT, VERSION, describe_files, write_manifest
from provio.store.writer import new_generation, publish, write_tables
from spoolmaker import Bench

if TYPE_CHECKING:
    from pathlib import Path

ONE, TWO, THREE = "a1" * 16, "a2" * 16, "b3" * 16


def sealed(store: Store, run_id: str, spool: Path | None = None, **values: Any) -> None:
    covered = {} if spool is None else {
        str(p.relative_to(spool)): {"size": p.stat().st_size} for p in spool.rglob("*") if p.is_file()
    }  # fmt: skip
    runs = store.generations(run_id)
    with new_generation(runs) as folder:
        write_tables(folder, {})
        described = {"id": run_id, "engine": "e", "started_ns": 1, "ended_ns": 2, **values.pop("run", {})}
        base = {"format": FORMAT, "version": VERSION, "run": described, "state": "succeeded", "gaps": {},
                "counts": {"attempts": 3}, "files": describe_files(folder), "spool": covered}  # fmt: skip
        write_manifest(folder, {**base, **values})
        publish(folder, runs)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / ".provio")


def test_runs_come_from_manifests_and_spools_oldest_first(tmp_path: Path, store: Store) -> None:
    Bench(tmp_path, ONE, started_real=30, name="live")
    sealed(store, TWO, run={"started_ns": 20, "name": "night"})
    sealed(store, THREE, run={"started_ns": 10}, state="failed")
    found = store.runs()
    assert [(s.id, s.state, s.generation) for s in found] == [
        (THREE, "failed", 1), (TWO, "succeeded", 1), (ONE, "running", 0),
    ]  # fmt: skip
    assert [s.attempts for s in found] == [3, 3, -1]


@pytest.mark.parametrize(
    ("record", "state"),
    [
        ({}, "running"),
        ({"pid": 2**22 - 1}, "ended"),
        ({"start_ticks": 1}, "ended"),
        ({"boot_id": "ff" * 16}, "open"),
    ],
)
def test_the_state_of_a_run_that_was_never_sealed(
    tmp_path: Path, store: Store, record: dict[str, Any], state: str
) -> None:
    Bench(tmp_path, ONE, **record)
    assert store.runs()[0].state == state


def test_a_run_that_said_its_end_is_over_even_if_its_engine_lives(tmp_path: Path, store: Store) -> None:
    Bench(tmp_path, ONE).over()
    assert store.runs()[0].state == "ended"


def test_an_unreadable_spool_is_listed_as_such(tmp_path: Path, store: Store) -> None:
    (Bench(tmp_path, ONE).path / "run.json").write_text("{")
    assert store.runs()[0].state == "unreadable"


@pytest.mark.parametrize(
    ("name", "expected"),
    [(None, THREE), ("last", THREE), ("b3", THREE), (TWO, TWO), ("A2A2", TWO), ("night", TWO)],
)
def test_runs_are_found_by_digits_name_or_last(store: Store, name: str | None, expected: str) -> None:
    sealed(store, ONE, run={"started_ns": 1})
    sealed(store, TWO, run={"started_ns": 2, "name": "night"})
    sealed(store, THREE, run={"started_ns": 3})
    assert store.resolve(name).id == expected


@pytest.mark.parametrize(("name", "words"), [("a", "fits 2 runs"), ("zzz", "no run")])
def test_an_ambiguous_or_unknown_run_is_a_usage_error(store: Store, name: str, words: str) -> None:
    sealed(store, ONE)
    sealed(store, TWO)
    with pytest.raises(UsageError, match=words):
        store.resolve(name)


def test_an_empty_store_says_how_to_record_a_run(store: Store) -> None:
    assert store.runs() == []
    with pytest.raises(UsageError, match="no runs") as caught:
        store.resolve()
    assert "provio run" in caught.value.hint


def test_a_covered_spool_goes(tmp_path: Path, store: Store) -> None:
    bench = Bench(tmp_path, ONE)
    bench.over()
    sealed(store, ONE, bench.path)
    (planned,) = store.gc(dry_run=True)
    assert (planned.removable, planned.removed) == (True, False)
    assert bench.path.exists()
    (done,) = store.gc()
    assert (done.removed, done.reason) == (True, "covered by g1")
    assert not bench.path.exists()
    assert not list(bench.path.parent.iterdir())
    assert store.runs()[0].spooled is False


def test_a_spool_stays_where_no_generation_covers_it(tmp_path: Path, store: Store) -> None:
    bench = Bench(tmp_path, ONE)
    bench.over()
    assert [r.reason for r in store.gc()] == ["never sealed"]
    sealed(store, ONE, bench.path)
    bench.over()  # more evidence
    (kept,) = store.gc()
    assert "events/engine.jsonl" in kept.reason
    assert bench.path.exists()


@pytest.mark.parametrize(
    ("values", "words"),
    [({"state": "running"}, "not over"), ({"gaps": {"still-running": 1}}, "alive")],
)
def test_a_spool_stays_while_something_may_still_write_to_it(
    tmp_path: Path, store: Store, values: dict[str, Any], words: str
) -> None:
    bench = Bench(tmp_path, ONE)
    sealed(store, ONE, bench.path, **values)
    (kept,) = store.gc()
    assert words in kept.reason


def test_a_spool_stays_where_its_generation_is_damaged(tmp_path: Path, store: Store) -> None:
    bench = Bench(tmp_path, ONE)
    sealed(store, ONE, bench.path)
    (store.generations(ONE) / "g1" / "files.parquet").write_bytes(b"")
    (kept,) = store.gc()
    assert "damaged" in kept.reason
    assert bench.path.exists()
