"""One generation of a run: its manifest, and questions to its tables.

``sql`` answers from the SQLite index where there is one (see ``index``) and
from DuckDB over the Parquet files otherwise; queries keep to what both
understand. ``rows`` and ``duckdb`` always go to the Parquet files. Both engines
are imported when first needed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from provio.errors import SetupError, StoreError
from provio.model.tables import TABLES
from provio.store.manifest import read_manifest, verify

Row = tuple[Any, ...]


class Generation:
    """A sealed or live generation.

    Attributes:
        path: its directory.
        manifest: what ``manifest.json`` says.

    Raises:
        StoreError: no manifest, a damaged one, or one of a newer provio.
    """

    def __init__(self, path: str | Path, *, index: Path | None = None) -> None:
        self.path = Path(path)
        self.manifest: Mapping[str, Any] = read_manifest(self.path)
        self._index_path = index
        self._index: sqlite3.Connection | None = None
        self._duckdb: Any = None

    @property
    def run(self) -> str:
        """The run's id."""
        return str(self.manifest["run"]["id"])

    @property
    def number(self) -> int:
        """Its number among the generations of its run, 0 for a live one."""
        name = self.path.name
        return int(name[1:]) if name.startswith("g") and name[1:].isdigit() else 0

    @property
    def state(self) -> str:
        """Running, succeeded, failed, cancelled or crashed."""
        return str(self.manifest["state"])

    @property
    def as_of(self) -> int:
        """CLOCK_REALTIME ns of a live answer, 0 where the run is over."""
        return int(self.manifest.get("as_of_ns") or 0)

    def sql(self, query: str, params: Sequence[Any] = ()) -> list[Row]:
        """Run one SELECT over the tables, in SQL that SQLite and DuckDB share.

        Raises:
            StoreError: a table is missing or damaged, or the query fails.
        """
        if self._index is None and self._index_path is not None:
            self._index = self._open_index(self._index_path)
        if self._index is None:
            return self.duckdb_sql(query, params)
        try:
            return self._index.execute(query, tuple(params)).fetchall()
        except sqlite3.DatabaseError:
            self._index, self._index_path = None, None  # damaged: it is only derived
            return self.duckdb_sql(query, params)

    def duckdb_sql(self, query: str, params: Sequence[Any] = ()) -> list[Row]:
        """Run one statement in DuckDB over the Parquet files.

        Raises:
            StoreError: a table is missing or damaged, or the query fails.
            SetupError: DuckDB is not installed.
        """
        connection = self.duckdb()
        import duckdb

        try:
            return [tuple(row) for row in connection.execute(query, list(params)).fetchall()]
        except duckdb.Error as error:
            if problems := verify(self.path, self.manifest):
                raise _damaged(self.path, problems) from error
            raise StoreError(
                f"the query failed: {error}", hint="see docs/reference/tables.md for the tables"
            ) from error

    def rows(self, table: str, columns: Sequence[str] = ()) -> Iterator[Row]:
        """Yield the rows of one table, in their stored order.

        Args:
            table: a name of ``provio.model.tables``.
            columns: which ones, all by default.

        Raises:
            StoreError: no such table or column, or its file is missing or damaged.
        """
        known = [column.name for column in TABLES.get(table, ())]
        chosen = list(columns) or known
        if not known or not set(chosen) <= set(known):
            raise StoreError(
                f"no table {table!r} with columns {', '.join(chosen)}", hint="see docs/reference/tables.md"
            )
        cursor = self.duckdb().cursor()
        names = ", ".join(f'"{name}"' for name in chosen)
        cursor.execute(f'SELECT {names} FROM "{table}"')  # noqa: S608 - both were checked against the schema
        while batch := cursor.fetchmany(10_000):
            yield from batch

    def duckdb(self) -> Any:
        """Return a DuckDB connection with a view per table (and ``records`` in full mode).

        Raises:
            StoreError: a file is missing.
            SetupError: DuckDB is not installed.
        """
        if self._duckdb is None:
            self._duckdb = _connect(self.path, self.manifest)
        return self._duckdb

    def verify(self) -> list[str]:
        """Return what differs from what was sealed, in sentences; empty if nothing does."""
        return verify(self.path, self.manifest)

    def close(self) -> None:
        """Let go of the engines."""
        for connection in (self._index, self._duckdb):
            if connection is not None:
                connection.close()
        self._index, self._duckdb = None, None

    def _open_index(self, path: Path) -> sqlite3.Connection | None:
        from provio.store.index import open_index

        connection = open_index(path, self)
        if connection is None:
            self._index_path = None
        return connection


def _connect(path: Path, manifest: Mapping[str, Any]) -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise SetupError("DuckDB is not installed", hint="pip install 'provio[analyse]'") from error
    missing = [f"{name}.parquet is missing" for name in TABLES if not (path / f"{name}.parquet").is_file()]
    if missing:
        raise _damaged(path, missing)
    connection = duckdb.connect(
        config={"autoinstall_known_extensions": False, "autoload_known_extensions": False, "threads": 2}
    )
    try:
        for name in TABLES:
            connection.execute(_view(name, path / f"{name}.parquet"))
        if any(file.startswith("records/") for file in manifest.get("files", {})):
            connection.execute(_view("records", path / "records" / "*.parquet"))
    except duckdb.Error as error:
        raise _damaged(path, verify(path, manifest) or [str(error)]) from error
    return connection


def _view(name: str, files: Path) -> str:
    quoted = str(files).replace("'", "''")
    return f"CREATE VIEW \"{name}\" AS SELECT * FROM read_parquet('{quoted}')"  # noqa: S608 - quoted


def _damaged(path: Path, problems: Sequence[str]) -> StoreError:
    return StoreError(
        f"{path} is damaged: {'; '.join(problems)}",
        hint="seal the run again with 'provio seal --force' while its spool exists, or restore from a backup",
    )
