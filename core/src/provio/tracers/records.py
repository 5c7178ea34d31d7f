"""Decode I/O files into numpy columns: every record of a spool, by type, with global addresses.

An *address* is the position of a record in units of 16 bytes, counted through
all files of one reading in order of name: ``file.base + reference``. With it a
reference of any file is one integer, and because records are found in order of
position, every column is sorted by address and looked up by binary search.

MIXED blocks are walked once (``walk``), which yields the positions of each type;
the records are then gathered with numpy. IO blocks (full mode) are arrays already
and are given block by block, see ``Records.io_blocks``.

Damage: a block that cannot be followed is left and the walk goes on at the
next block header (``Damage`` says how many bytes were passed over). A torn
record (type 0) is stepped over as ``record.h`` says. Not here: what records
mean (``provio.pipeline``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from provio.errors import EvidenceError
from provio.model.wire import Layout, RecordType
from provio.tracers.layout import IO, RECORDS, UNIT
from provio.tracers.spool_files import Batch, IoFile, open_io_file
from provio.tracers.walk import Damage, SpoolFile, Walker

if TYPE_CHECKING:
    import mmap
    from collections.abc import Iterator, Sequence
    from pathlib import Path

Ints: TypeAlias = NDArray[np.int64]
Rows: TypeAlias = NDArray[Any]

_BATCH: Final = 384 << 20
"""Bytes of small files that are decoded together."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Columns that say under which thread, image and epoch the records from ``addr`` on stand.

    ``image`` and ``epoch`` are addresses, -1 for none.
    """

    addr: Ints
    pid: Ints
    tid: Ints
    image: Ints
    epoch: Ints


@dataclass(frozen=True, slots=True)
class IoBlock:
    """The I/O records of one block; ``base`` is the address base of their file."""

    base: int
    rows: Rows


@dataclass(frozen=True, slots=True)
class Records:
    """Everything that a set of I/O files holds.

    Attributes:
        files: accepted files in order of name.
        rows: structured array per record type (STRING excluded), sorted by address.
        addr: the addresses of those rows.
        strings: distinct byte strings; number 0 is the empty string. More may be appended.
        string_addr, string_id: address of each STRING record and its number in ``strings``.
        truncated: numbers of strings that the tracer had to cut.
        segments: who wrote the records from an address on.
        damage: what could not be read.
        io_files: files with IO blocks (kept open for ``io_blocks``).
    """

    files: Sequence[SpoolFile]
    rows: dict[RecordType, Rows]
    addr: dict[RecordType, Ints]
    strings: list[bytes]
    string_addr: Ints
    string_id: Ints
    truncated: frozenset[int]
    segments: Segment
    damage: Sequence[Damage]
    io_files: Sequence[tuple[SpoolFile, IoFile, Sequence[tuple[int, int]]]]

    def file_of(self, addr: Ints) -> Ints:
        """Return the index of the file in which each address lies."""
        bases = np.array([f.base for f in self.files], dtype=np.int64)
        return np.searchsorted(bases, addr, side="right") - 1

    def bases(self, kind: RecordType) -> Ints:
        """Return for each row of a type the base of its file, to be added to its references."""
        bases = np.array([f.base for f in self.files], dtype=np.int64)
        if not len(bases):
            return np.empty(0, dtype=np.int64)
        return bases[self.file_of(self.addr[kind])]

    def text(self, addr: Ints) -> Ints:
        """Return the string numbers at addresses; 0 (empty) where there is no string."""
        return lookup(self.string_addr, addr, self.string_id, missing=0)

    def refs(self, kind: RecordType, name: str) -> Ints:
        """Return a reference column as addresses, -1 for none."""
        ref = self.rows[kind][name].astype(np.int64)
        return np.where(ref > 0, ref + self.bases(kind), -1)

    def texts(self, kind: RecordType, name: str) -> Ints:
        """Return a column of string references as string numbers."""
        return self.text(self.refs(kind, name))

    def io_blocks(self) -> Iterator[IoBlock]:
        """Yield the I/O records of full mode, block by block, torn ones left out."""
        for spool, file, spans in self.io_files:
            for start, end in spans:
                count = (end - start) // IO.itemsize
                rows = np.frombuffer(file.data, dtype=IO, count=count, offset=start)
                whole = rows["type"] == RecordType.IO
                kept = rows if whole.all() else rows[whole]
                if len(kept):
                    yield IoBlock(spool.base, kept)


def lookup(keys: Ints, wanted: Ints, values: Ints, *, missing: int = -1) -> Ints:
    """Return ``values`` at the positions where sorted ``keys`` equal ``wanted``, else ``missing``."""
    if not len(keys):
        return np.full(len(wanted), missing, dtype=np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, values[at], missing)


def read_records(paths: Sequence[Path]) -> Records:
    """Decode I/O files.

    A file that is refused because it is foreign or cut becomes ``Damage``; one of a
    newer major version is an error, because a newer provio could read it.

    Raises:
        EvidenceError: a file of a newer format.
    """
    reader = _Reader()
    for path in sorted(paths):
        try:
            reader.add(path)
        except EvidenceError as error:
            if "format version" in error.message:
                raise
            reader.damage.append(Damage(path, 0, 0, error.message))
    return reader.finish()


class _Reader:
    """Collects files into batches and decodes each batch with a constant number of numpy calls."""

    def __init__(self) -> None:
        self.damage: list[Damage] = []
        self._files: list[SpoolFile] = []
        self._io: list[tuple[SpoolFile, IoFile, Sequence[tuple[int, int]]]] = []
        self._batch = Batch(_BATCH)
        self._pending: list[tuple[SpoolFile, IoFile]] = []
        self._batch_base = self._next_base = 0
        self._parts: dict[RecordType, list[Rows]] = {t: [] for t in RECORDS if t != RecordType.STRING}
        self._addrs: dict[RecordType, list[Ints]] = {t: [] for t in RECORDS}
        self._numbers: dict[bytes, int] = {b"": 0}
        self._string_ids: list[Ints] = []
        self._truncated: set[int] = set()
        self._segments: list[tuple[int, int, int, int, int]] = []

    def add(self, path: Path) -> None:
        """Take a file; it is decoded with its neighbours when the batch is full."""
        file = open_io_file(path, self._batch)
        if file is None:
            return
        self._see_cut(file)
        if file.data is self._batch.data:
            spool = SpoolFile(file.header, self._batch_base + file.offset // UNIT, file.size)
            self._next_base = self._batch_base + self._batch.used // UNIT
            self._files.append(spool)
            self._pending.append((spool, file))
            return
        self._flush()
        spool = SpoolFile(file.header, self._next_base, file.size)
        self._next_base += -(-file.size // UNIT) + 1
        self._batch_base = self._next_base
        self._files.append(spool)
        self._decode(file.data, spool.base, [(spool, file)])

    def _see_cut(self, file: IoFile) -> None:
        """Note an arena that ends before its blocks do (a tracer that cannot grow it says so)."""
        header = file.header
        if header.layout != Layout.ARENA or header.dropped or header.next <= file.size:
            return
        if 0 < (missing := header.next - header.path.stat().st_size) < 1 << 40:  # it may have grown since
            self.damage.append(Damage(header.path, header.next - missing, missing, "the file was cut"))

    def _flush(self) -> None:
        """Decode what is pending; a batch that holds I/O blocks stays until they were asked for."""
        if self._pending:
            self._decode(self._batch.data, self._batch_base, self._pending)
            self._pending, self._batch = [], Batch(_BATCH)
        self._batch_base = self._next_base

    def _decode(self, data: mmap.mmap, shift: int, placed: Sequence[tuple[SpoolFile, IoFile]]) -> None:
        """Decode files that lie in one piece of memory, whose first byte has the address ``shift``."""
        walker = Walker(data, shift, self.damage)
        for spool, file in placed:
            spans = walker.file(spool, file.offset)
            if spans:
                self._io.append((spool, file, spans))
        found, segments = walker.records()
        self._segments.extend(segments)
        for kind, layout in RECORDS.items():
            at = found[kind]
            self._addrs[kind].append(at + shift)
            rows = _gather(data, at, layout)
            if kind == RecordType.STRING:
                self._intern(data, at, rows)
            else:
                self._parts[kind].append(rows)
        walker.release()

    def _intern(self, data: mmap.mmap, at: Ints, rows: Rows) -> None:
        """Number the distinct strings; a length beyond its record is cut to the record."""
        starts = at * UNIT + 8
        room = rows["units"].astype(np.int64) * UNIT - 8
        ends = starts + np.minimum(rows["length"].astype(np.int64), room)
        numbers = self._numbers
        ids = [
            numbers.setdefault(data[a:b], len(numbers))
            for a, b in zip(starts.tolist(), ends.tolist(), strict=True)
        ]
        column = np.array(ids, dtype=np.int64)
        self._string_ids.append(column)
        self._truncated.update(column[(rows["op"] & 1) == 1].tolist())

    def finish(self) -> Records:
        """Decode the rest and join the batches."""
        self._flush()
        segments = np.array(self._segments, dtype=np.int64).reshape(-1, 5)
        addr = {t: _join(a, np.dtype(np.int64)) for t, a in self._addrs.items()}
        return Records(
            files=self._files,
            rows={t: _join(p, RECORDS[t]) for t, p in self._parts.items()},
            addr=addr,
            strings=list(self._numbers),
            string_addr=addr[RecordType.STRING],
            string_id=_join(self._string_ids, np.dtype(np.int64)),
            truncated=frozenset(self._truncated),
            segments=Segment(*(segments[:, i] for i in range(5))),
            damage=self.damage,
            io_files=self._io,
        )


def _join(parts: Sequence[Rows], dtype: np.dtype[Any]) -> Rows:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)


def _gather(data: mmap.mmap, at: Ints, layout: np.dtype[Any]) -> Rows:
    """Copy records at unit positions into a structured array."""
    width = layout.itemsize // UNIT
    if not len(at):
        return np.empty(0, dtype=layout)
    # Every unit as the begin of a record: overlapping views, of which only true ones are taken.
    raw = np.dtype(f"V{layout.itemsize}")
    overlapping = np.ndarray((len(data) // UNIT - width + 1,), dtype=raw, buffer=data, strides=(UNIT,))
    return overlapping[at].view(layout)
