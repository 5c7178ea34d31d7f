"""What a question may ask of a generation, and small helpers for its SQL.

``Source`` is the part of ``provio.store.generation.Generation`` that queries
rely on: the tables of ``provio.model.tables`` by name, in SQL that both DuckDB
(over Parquet) and SQLite (the index) understand: ``?`` parameters, no list
types, JSON columns as text.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

Row = tuple[Any, ...]

_CHUNK = 10_000
"""Parameters per statement (SQLite allows 32,766): every chunk is one pass over the table."""


class Source(Protocol):
    """A generation of a run, sealed or live."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """The manifest: ``run`` (id, engine, workflow, cwd, times), ``coverage``, counts."""

    @property
    def state(self) -> str:
        """Running, succeeded, failed, cancelled or crashed."""

    @property
    def as_of(self) -> int:
        """CLOCK_REALTIME ns of a live answer, 0 where the run is over."""

    def sql(self, query: str, params: Sequence[Any] = ()) -> list[Row]:
        """Run one SELECT over the tables."""


def select_in(source: Source, query: str, values: Iterable[Any], params: Sequence[Any] = ()) -> list[Row]:
    """Run ``query`` with its ``{}`` replaced by placeholders for ``values``, in chunks.

    Args:
        source: the generation.
        query: SQL with ``... IN ({})``; ``params`` are bound before the values.
        values: any number of them, duplicates are removed.
        params: parameters that stand before the ``IN``.
    """
    rows: list[Row] = []
    for chunk in _chunks(list(dict.fromkeys(values))):
        marks = ",".join("?" * len(chunk))
        rows += source.sql(query.replace("{}", marks), [*params, *chunk])
    return rows


def _chunks(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]


def parsed(text: Any, default: Any) -> Any:
    """Return the value of a JSON column; ``default`` where it is NULL or empty."""
    if text is None or text == "":
        return default
    return json.loads(text) if isinstance(text, (str, bytes)) else text


def known(value: Any) -> int | None:
    """Return a number, or None where the table says -1 or NULL: not known."""
    return None if value is None or value < 0 else int(value)


def moment(value: Any) -> int | None:
    """Return a time, or None where the table says 0, -1 or NULL: not known."""
    return None if not value or value < 0 else int(value)
