"""One generation of a run: its manifest, and questions to its tables.

DuckDB over the Parquet files answers; a table becomes a view when a query first
names it. At 10,000 attempts and a million accesses a lineage step costs about
20 ms, of which a derived index would save less than building it costs at seal.
DuckDB is imported when first needed, and never fetches an extension.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from provio.errors import SetupError, StoreError
from provio.model.tables import TABLES
from provio.store.manifest import check_file, read_manifest, verify

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

Row = tuple[Any, ...]
RECORDS: Final = "records"
"""View over ``records/*.parquet``, which full mode has."""
_HASHED: Final = 64 << 20
"""Tables up to this size (bytes) are compared with their SHA-256 before the first query, at 1 ms per MiB."""


class Generation:
    """A sealed or live generation.

    Attributes:
        path: its directory.
        manifest: what ``manifest.json`` says.

    Raises:
        StoreError: no manifest, a damaged one, or one of a newer provio.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.manifest: Mapping[str, Any] = read_manifest(self.path)
        self._duckdb: Any = None
        self._views: set[str] = set()

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
        """Run one statement over the tables of ``provio.model.tables`` (and ``records`` in full mode).

        Raises:
            StoreError: a table is missing or damaged, or the query fails.
            SetupError: DuckDB is not installed.
        """
        connection = self.connect(t for t in (*TABLES, RECORDS) if t in query)
        duckdb = _duckdb_module()
        try:
            cursor = connection.execute(query, list(params))
            return [tuple(row) for row in cursor.fetchall()]
        except duckdb.Error as error:
            raise self._failed(error) from error

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
        cursor = self.connect([table]).cursor()
        names = ", ".join(f'"{name}"' for name in chosen)
        # Both names were checked against the schema.
        cursor.execute(f'SELECT {names} FROM "{table}"')  # noqa: S608 - checked or quoted above
        while batch := cursor.fetchmany(10_000):
            yield from batch

    def connect(self, tables: Iterable[str] = (*TABLES, RECORDS)) -> Any:
        """Return a DuckDB connection with a view of each of these tables.

        Raises:
            StoreError: a file is missing or no Parquet.
            SetupError: DuckDB is not installed.
        """
        if self._duckdb is None:
            self._duckdb = _open_duckdb()
        for name in tables:
            if name not in self._views:
                self._view(name)
        return self._duckdb

    def verify(self) -> list[str]:
        """Return what differs from what was sealed, in sentences; empty if nothing does."""
        return verify(self.path, self.manifest)

    def close(self) -> None:
        """Let go of DuckDB."""
        if self._duckdb is not None:
            self._duckdb.close()
        self._duckdb = None
        self._views.clear()

    def _view(self, name: str) -> None:
        duckdb = _duckdb_module()
        files = self.path / f"{name}.parquet"
        if name == RECORDS:
            files = self.path / "records" / "*.parquet"
            if not any(file.startswith("records/") for file in self.manifest.get("files", {})):
                return
        elif problem := check_file(self.path, files.name, self.manifest, hash_up_to=_HASHED):
            raise _damaged(self.path, [problem])
        quoted = _pattern(files, self.path)
        try:
            self._duckdb.execute(f"CREATE VIEW \"{name}\" AS SELECT * FROM read_parquet('{quoted}')")  # noqa: S608 - checked or quoted above
        except duckdb.Error as error:
            raise self._failed(error) from error
        self._views.add(name)

    def _failed(self, error: Exception) -> StoreError:
        """Tell a damaged generation from a bad query."""
        if problems := self.verify():
            return _damaged(self.path, problems)
        return StoreError(f"the query failed: {error}", hint="see docs/reference/tables.md for the tables")


def _open_duckdb() -> Any:
    try:
        duckdb = _duckdb_module()
    except ImportError as error:
        raise SetupError("DuckDB is not installed", hint="pip install 'provio[analyse]'") from error
    return duckdb.connect(
        config={"autoinstall_known_extensions": False, "autoload_known_extensions": False, "threads": 2}
    )


def _duckdb_module() -> Any:
    """Return DuckDB's extension module, without the package around it where that is possible.

    The package adds data frames, expressions and its version: 60 ms that an
    answer does not use. Before 1.4 the module had another name.
    """
    try:
        return import_module("_duckdb")
    except ImportError:
        return import_module("duckdb")


def _pattern(files: Path, folder: Path) -> str:
    """Return a file pattern for SQL: what is special in the folder's own name is taken literally."""
    literal = re.sub(r"([*?\[])", r"[\1]", str(folder))
    return f"{literal}/{files.relative_to(folder)}".replace("'", "''")


def _damaged(path: Path, problems: Sequence[str]) -> StoreError:
    return StoreError(
        f"{path} is damaged: {'; '.join(problems)}",
        hint="seal the run again with 'provio seal --force' while its spool exists, or restore from a backup",
    )
