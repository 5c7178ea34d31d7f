"""Generations on disk: written once, atomically; read, verified, refused when newer or damaged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from provio.errors import StoreError
from provio.model.tables import TABLES
from provio.store import Generation, Store
from provio.store.manifest import FORMAT, VERSION, describe_files, write_manifest
from provio.store.writer import new_generation, publish, write_tables

if TYPE_CHECKING:
    from pathlib import Path

RUN = "ab" * 16
GAPS = {
    "kind": ["killed"],
    "scope": ["image:1"],
    "since_mono": [0],
    "until_mono": [0],
    "count": [1],
    "detail": ["x"],
}


def manifest(files: dict[str, Any], **values: Any) -> dict[str, Any]:
    run = {"id": RUN, "engine": "local", "workflow": "w", "started_ns": 5, "ended_ns": 9, "name": "night"}
    base = {
        "format": FORMAT,
        "version": VERSION,
        "run": run,
        "state": "succeeded",
        "files": files,
        "counts": {},
    }
    return {**base, "gaps": {}, "spool": {}, **values}


def make(store: Store, **values: Any) -> Path:
    runs = store.generations(RUN)
    with new_generation(runs) as folder:
        write_tables(folder, {"gaps": GAPS})
        write_manifest(folder, manifest(describe_files(folder), **values))
        return publish(folder, runs)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / ".provio")


def test_every_table_of_the_model_is_there_with_its_columns(store: Store) -> None:
    generation = Generation(make(store))
    for name, columns in TABLES.items():
        described = generation.sql(f"DESCRIBE {name}")
        assert [row[0] for row in described] == [c.name for c in columns]
    assert generation.sql("SELECT kind, count FROM gaps WHERE count = ?", [1]) == [("killed", 1)]
    assert list(generation.rows("gaps", ["kind", "detail"])) == [("killed", "x")]
    assert not generation.verify()


def test_the_same_tables_are_the_same_bytes(store: Store) -> None:
    one, two = Generation(make(store)), Generation(make(store))
    assert (one.number, two.number) == (1, 2)
    assert one.manifest["files"] == two.manifest["files"]


def test_generations_count_up_and_the_newest_answers(store: Store) -> None:
    make(store)
    make(store, state="failed")
    newest = store.newest(RUN)
    assert newest is not None
    assert (newest.number, newest.state) == (2, "failed")
    assert sorted(p.name for p in store.generations(RUN).iterdir()) == ["g1", "g2"]


def test_a_writer_that_fails_leaves_nothing(store: Store) -> None:
    with pytest.raises(FileNotFoundError), new_generation(store.generations(RUN)) as folder:
        (folder / "half" / "table").touch()
    assert not list(store.generations(RUN).iterdir())


def test_what_a_killed_writer_left_is_removed_by_the_next(store: Store) -> None:
    dead = store.generations(RUN) / ".new-ff.1.1.elsewhere"
    ours = store.generations(RUN) / f".new-{'f' * 32}.99.1.{_host()}"
    for path in (dead, ours):
        path.mkdir(parents=True)
    make(store)
    assert dead.exists()  # of another host: nobody here can tell
    assert not ours.exists()


def _host() -> str:
    from provio.engines.host import host_name

    return host_name()


@pytest.mark.parametrize("name", ["it's", "a[1]*?", "new\nline", "späce d"])
def test_a_store_may_lie_anywhere(tmp_path: Path, name: str) -> None:
    generation = Generation(make(Store(tmp_path / name)))
    assert generation.sql("SELECT count(*) FROM gaps") == [(1,)]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda g: (g / "gaps.parquet").unlink(), "gaps.parquet is missing"),
        (lambda g: (g / "gaps.parquet").write_bytes(b"PAR1"), "instead of"),
        (lambda g: _flip(g / "gaps.parquet"), "SHA-256 differs"),
    ],
)
def test_a_damaged_table_is_named_with_a_remedy(store: Store, damage: Any, words: str) -> None:
    path = make(store)
    damage(path)
    generation = Generation(path)
    assert words in generation.verify()[0]
    with pytest.raises(StoreError, match=r"gaps\.parquet") as caught:
        generation.sql("SELECT * FROM gaps")
    assert "seal" in caught.value.hint


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[10] ^= 0xFF
    path.write_bytes(data)


def test_a_newer_format_is_refused_with_what_to_do(store: Store) -> None:
    path = make(store, version=VERSION + 1)
    with pytest.raises(StoreError, match=f"version {VERSION + 1}") as caught:
        Generation(path)
    assert "upgrade" in caught.value.hint


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format": "other", "version": 1}'])
def test_a_foreign_or_torn_manifest_is_refused(store: Store, content: bytes) -> None:
    path = make(store)
    (path / "manifest.json").write_bytes(content)
    with pytest.raises(StoreError):
        Generation(path)


def test_a_directory_without_a_manifest_is_no_generation(store: Store) -> None:
    path = store.generations(RUN) / "g7"
    path.mkdir(parents=True)
    with pytest.raises(StoreError, match="no manifest"):
        store.newest(RUN)


def test_a_bad_query_is_told_from_a_damaged_store(store: Store) -> None:
    with pytest.raises(StoreError, match="the query failed"):
        Generation(make(store)).sql("SELECT nothing FROM gaps")


def test_unknown_tables_and_columns_are_refused(store: Store) -> None:
    generation = Generation(make(store))
    for table, columns in (("nope", []), ("gaps", ["nope"])):
        with pytest.raises(StoreError, match="no table"):
            list(generation.rows(table, columns))


def test_no_extension_is_ever_fetched(store: Store) -> None:
    generation = Generation(make(store))
    settings = dict(
        generation.sql("SELECT name, value FROM duckdb_settings() WHERE name LIKE 'auto%extensions'")
    )
    assert set(settings.values()) == {"false"}


def test_manifests_are_plain_sorted_json(store: Store) -> None:
    path = make(store)
    data = json.loads((path / "manifest.json").read_text())
    assert data["format"] == "provio.generation"
    assert list(data) == sorted(data)
    assert set(data["files"]) == {f"{name}.parquet" for name in TABLES}
