"""The index: a SQLite copy of a generation's tables in the user's cache directory.

Derived and disposable: it is stamped with the manifest's SHA-256 and the format
of this module, rebuilt when they differ, and never needed for an answer. It is
here because importing sqlite3 and looking up a row take a hundredth of what
DuckDB over Parquet takes. Nothing here may fail a command.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Final

from provio.model.tables import TABLES, TABLES_VERSION

if TYPE_CHECKING:
    from provio.store.generation import Generation

INDEX_VERSION: Final = 1
_SQLITE: Final = {
    "int64": "INTEGER",
    "int32": "INTEGER",
    "text": "TEXT",
    "blob": "BLOB",
    "bool": "INTEGER",
    "json": "TEXT",
}
_INDEXES: Final = {
    "attempts": ("attempt",),
    "files": ("path", "file"),
    "versions": ("version", "file", "writer_attempt"),
    "accesses": ("version", "attempt", "file"),
    "derivations": ("output", "input"),
    "declared": ("attempt",),
    "attributions": ("epoch", "attempt"),
    "epochs": ("epoch",),
    "processes": ("image", "attempt"),
}


def cache_directory() -> Path:
    """Return the user's cache directory for provio."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not base.startswith("/"):  # the XDG rules: a relative value is ignored
        base = str(Path("~/.cache").expanduser())
    return Path(base) / "provio"


def index_path(generation: Path) -> Path:
    """Return the place of a generation's index."""
    digest = hashlib.sha256(os.fsencode(generation)).hexdigest()[:32]
    return cache_directory() / "index" / f"{digest}.sqlite"


def open_index(path: Path, generation: Generation) -> sqlite3.Connection | None:
    """Open the index of a generation, None if there is none that fits it."""
    if not path.is_file():
        return None
    try:
        connection = sqlite3.connect(f"file:{_uri(path)}?mode=ro&immutable=1", uri=True)
        row = connection.execute("SELECT stamp FROM provio_index").fetchone()
    except sqlite3.Error:
        return None
    if row is None or row[0] != stamp(generation.path):
        connection.close()
        return None
    return connection


def stamp(generation: Path) -> str:
    """Return what an index must say to belong to a generation."""
    digest = hashlib.sha256((generation / "manifest.json").read_bytes()).hexdigest()
    return f"{INDEX_VERSION}.{TABLES_VERSION}:{digest}"


def _uri(path: Path) -> str:
    from urllib.parse import quote

    return quote(str(path))


def build_index(path: Path, generation: Generation) -> None:
    """Copy a generation's tables into its index; on any trouble there is just none."""
    beside = path.with_suffix(f".{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside.unlink(missing_ok=True)
        connection = sqlite3.connect(beside)
        try:
            _fill(connection, generation)
        finally:
            connection.close()
        beside.replace(path)
    except (OSError, sqlite3.Error):
        beside.unlink(missing_ok=True)


def _fill(connection: sqlite3.Connection, generation: Generation) -> None:
    import pyarrow.parquet as pq

    connection.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA page_size=8192;")
    for name, columns in TABLES.items():
        kinds = ", ".join(f'"{c.name}" {_SQLITE[c.type]}' for c in columns)
        connection.execute(f'CREATE TABLE "{name}" ({kinds})')
        insert = f'INSERT INTO "{name}" VALUES ({",".join("?" * len(columns))})'  # noqa: S608 - our schema
        table = pq.read_table(generation.path / f"{name}.parquet")
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        connection.executemany(insert, rows)
    for name, indexed in _INDEXES.items():
        for column in indexed:
            connection.execute(f'CREATE INDEX "{name}_{column}" ON "{name}" ("{column}")')
    connection.execute("CREATE TABLE provio_index (stamp TEXT)")
    connection.execute("INSERT INTO provio_index VALUES (?)", (stamp(generation.path),))
    connection.commit()
