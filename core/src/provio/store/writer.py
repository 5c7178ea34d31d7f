"""Write a generation: tables as Parquet, then the manifest, then one atomic rename.

The same columns give the same bytes: rows come in a fixed order, Parquet is
written by one thread with fixed encodings, and nothing in the tables depends on
the moment of sealing. A kill at any point leaves either nothing but a
``.new-*`` directory (removed by the next writer) or the whole generation.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from provio.model.tables import TABLES
from provio.store import claims
from provio.store.numbers import generation_numbers

if TYPE_CHECKING:
    from pathlib import Path

_TYPES: Final = {
    "int64": pa.int64(), "int32": pa.int32(), "text": pa.string(), "blob": pa.binary(),
    "bool": pa.bool_(), "json": pa.string(),
}  # fmt: skip
_NEW: Final = ".new-"
_DELTA_FROM: Final = 1000
"""Rows from which integer columns are delta-encoded; below, dictionaries are as small and quicker to read."""

Columns = Mapping[str, Sequence[Any] | np.ndarray[Any, Any] | pa.Array]


def write_tables(folder: Path, tables: Mapping[str, Columns]) -> dict[str, int]:
    """Write every table of ``model.tables`` (one not given is empty); return their numbers of rows."""
    return {name: write_table(folder / f"{name}.parquet", name, tables.get(name, {})) for name in TABLES}


def write_table(path: Path, name: str, columns: Columns) -> int:
    """Write one table; return its number of rows."""
    schema = pa.schema([(c.name, _TYPES[c.type]) for c in TABLES[name]])
    arrays = [_array(columns.get(f.name, ()), f.type) for f in schema]
    table = pa.Table.from_arrays(arrays, schema=schema)
    delta = [f.name for f in schema if pa.types.is_integer(f.type)] if table.num_rows >= _DELTA_FROM else []
    pq.write_table(
        table,
        path,
        version="2.6",
        compression="zstd",
        compression_level=1,
        use_dictionary=[f.name for f in schema if f.name not in delta],
        column_encoding=dict.fromkeys(delta, "DELTA_BINARY_PACKED") or None,
        write_statistics=True,
        store_schema=False,
    )
    return int(table.num_rows)


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.Array):
        return values.cast(kind) if values.type != kind else values
    try:
        return pa.array(values, type=kind)
    except UnicodeEncodeError:
        return pa.array([_printable(value) for value in values], type=kind)


@contextmanager
def new_generation(runs: Path) -> Iterator[Path]:
    """Give an empty directory for the next generation of a run and remove it if that fails."""
    runs.mkdir(parents=True, exist_ok=True, mode=0o700)
    _remove_dead(runs)
    owner = claims.me()
    folder = runs / f"{_NEW}{owner.boot}.{owner.pid}.{owner.start}.{owner.host}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_dead(runs: Path) -> None:
    """Remove what killed writers left."""
    for entry in list(os.scandir(runs)):
        if not entry.name.startswith(_NEW):
            continue
        owner = claims.parse_owner("claim." + entry.name.removeprefix(_NEW))
        if owner and claims.is_dead(owner):
            shutil.rmtree(entry.path, ignore_errors=True)


def publish(folder: Path, runs: Path) -> Path:
    """Make a finished directory the next generation ``g<N>``, durably.

    Another writer may take a number first; then the next one is tried.
    """
    for path in (
        *(p for p in folder.rglob("*") if p.is_file()),
        *(p for p in folder.rglob("*") if p.is_dir()),
        folder,
    ):
        _sync(path)
    number = max(generation_numbers(runs), default=0) + 1
    while True:
        target = runs / f"g{number}"
        try:
            # rename(2) replaces an empty directory only; a generation never is empty.
            folder.rename(target)
        except OSError:
            if not target.exists():
                raise
            number += 1
            continue
        _sync(runs)
        _sync(runs.parent)
        return target


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _printable(value: Any) -> Any:
    """Show bytes of names and arguments that are not UTF-8 (surrogates, as Python reads them) as escapes."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
