"""Full mode: every read and write as ``records/*.parquet``.

One file per I/O file that has any, streamed in chunks. Columns: image, epoch,
file (numbers of this generation), op (wire.Op), err, t_mono and dur_ns, offset
(-1: a channel) and result (bytes), tid, object. Times and offsets are
delta-encoded, durations split by byte, the rest dictionaries: about 5 bytes a record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from provio.model.wire import RecordType

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from provio.pipeline.assemble import Assembled
    from provio.tracers.records import IoBlock

SCHEMA: Final = pa.schema(
    [
        ("image", pa.int32()),
        ("epoch", pa.int32()),
        ("file", pa.int32()),
        ("op", pa.uint8()),
        ("err", pa.uint16()),
        ("t_mono", pa.int64()),
        ("dur_ns", pa.int32()),
        ("offset", pa.int64()),
        ("result", pa.int64()),
        ("tid", pa.int32()),
        ("object", pa.int32()),
    ]
)
_DELTA: Final = ("t_mono", "offset")
_SPLIT: Final = ("dur_ns",)
_CHUNK: Final = 1 << 20
"""Records per row group."""


class _Owners:
    """From a handle's reference to its image, epoch and file: one table lookup per record."""

    def __init__(self, found: Assembled) -> None:
        self._addr = found.records.addr[RecordType.HANDLE]
        rows = len(self._addr)
        self._columns = np.full((3, rows + 1), -1, dtype=np.int32)
        self._columns[0, :rows], self._columns[1, :rows] = found.handles.image, found.handles.epoch
        frame = found.frame
        at = np.searchsorted(self._addr, frame.handle)
        known = np.flatnonzero((frame.handle >= 0) & (at < rows))
        known = known[self._addr[at[known]] == frame.handle[known]] if rows else known
        self._columns[2, at[known]] = frame.file[known]
        self._base = -1
        self._table = np.empty(0, dtype=np.int64)

    def of(self, block: IoBlock) -> Any:
        """Return three columns for the records of a block."""
        if block.base != self._base:
            self._enter(block.base)
        refs = np.minimum(block.rows["handle"], len(self._table) - 1)
        return self._columns[:, self._table[refs]]

    def _enter(self, base: int) -> None:
        """Make the table of one I/O file: reference → row of its handle, the last row for unknown ones."""
        self._base = base
        first = np.searchsorted(self._addr, base)
        last = np.searchsorted(self._addr, base + (1 << 32))
        refs = self._addr[first:last] - base
        self._table = np.full(int(refs[-1]) + 2 if len(refs) else 1, len(self._addr), dtype=np.int64)
        self._table[refs] = np.arange(first, last)


def write_records(folder: Path, found: Assembled) -> int:
    """Write the I/O records of a full-mode run; return how many there were."""
    folder.mkdir(mode=0o700)
    owners = _Owners(found)
    total = 0
    for number, (_, blocks) in enumerate(_by_file(found)):
        path = folder / f"{number:06d}.parquet"
        with pq.ParquetWriter(path, SCHEMA, **_OPTIONS) as writer:
            for chunk in _chunks(blocks):
                table = pa.Table.from_arrays(_arrays(chunk, owners), schema=SCHEMA)
                writer.write_table(table)
                total += table.num_rows
    return total


_OPTIONS: Final[dict[str, Any]] = {
    "version": "2.6",
    "compression": "zstd",
    "compression_level": 1,
    "use_dictionary": [f.name for f in SCHEMA if f.name not in (*_DELTA, *_SPLIT)],
    "column_encoding": dict.fromkeys(_DELTA, "DELTA_BINARY_PACKED")
    | dict.fromkeys(_SPLIT, "BYTE_STREAM_SPLIT"),
    "store_schema": False,
}


def _by_file(found: Assembled) -> Iterator[tuple[int, Iterator[IoBlock]]]:
    """Group the blocks by I/O file, which the reader gives in order."""
    from itertools import groupby

    return ((base, group) for base, group in groupby(found.records.io_blocks(), key=lambda b: b.base))


def _chunks(blocks: Iterator[IoBlock]) -> Iterator[list[IoBlock]]:
    """Gather blocks into row groups."""
    pending: list[IoBlock] = []
    count = 0
    for block in blocks:
        pending.append(block)
        count += len(block.rows)
        if count >= _CHUNK:
            yield pending
            pending, count = [], 0
    if pending:
        yield pending


_FIELDS: Final = {
    "op": "op", "err": "err", "t_mono": "t", "offset": "offset", "result": "result", "tid": "tid",
    "object": "object",
}  # fmt: skip


def _arrays(blocks: list[IoBlock], owners: _Owners) -> list[pa.Array]:
    """Return the columns of a row group, filled block by block while each is in the processor's cache."""
    total = sum(len(b.rows) for b in blocks)
    columns = {f.name: np.empty(total, dtype=f.type.to_pandas_dtype()) for f in SCHEMA}
    start = 0
    for block in blocks:
        rows, end = block.rows, start + len(block.rows)
        part = owners.of(block)
        for number, name in enumerate(("image", "epoch", "file")):
            columns[name][start:end] = part[number]
        for name, field in _FIELDS.items():
            columns[name][start:end] = rows[field]
        np.minimum(rows["dur"], 0x7FFFFFFF, out=columns["dur_ns"][start:end], casting="unsafe")
        start = end
    return [pa.array(columns[f.name], type=f.type) for f in SCHEMA]
