"""One I/O file: open it, check its header, give its bytes. Nothing is decoded beyond the header.

Whole files are trusted or refused here; damage inside is the business of
``records``. The file itself is never changed.
"""

from __future__ import annotations

import mmap
import os
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from provio.errors import EvidenceError
from provio.model.wire import FILE_MAGIC, FORMAT_MAJOR, HEADER_SIZE, Layout

if TYPE_CHECKING:
    from pathlib import Path

_HEADER: Final = struct.Struct("<8sHHIBBHI16s16s16sQQ64sQQQ")
OLDEST_MAJOR: Final = 1
"""Readers accept the current major version and the one before (there is none before 1)."""

UNIT: Final = 16
"""Bytes per unit of a reference, and the alignment of everything."""

MAP_FROM: Final = 32 << 20
"""Bytes from which a file is memory-mapped instead of read."""


@dataclass(frozen=True, slots=True)
class Header:
    """The header of an I/O file. Ids are hexadecimal text, "" where all bytes are zero."""

    path: Path
    minor: int
    tracer: int
    layout: int
    run: str
    attempt: str
    boot: str
    realtime: int
    monotonic: int
    host: str
    next: int
    dropped: int
    drop_reasons: int

    @property
    def name(self) -> str:
        """The file's name, by which other files refer to it."""
        return self.path.name


@dataclass(frozen=True, slots=True)
class IoFile:
    """An I/O file that was accepted.

    Attributes:
        header: its header.
        data: memory that holds its used bytes (header included) from ``offset`` on.
        size: how many.
    """

    header: Header
    data: mmap.mmap
    offset: int
    size: int


class Batch:
    """Memory into which many small files are read one after the other, each at a multiple of 16 bytes.

    Anonymous and untouched until used; slices of it are ``bytes``, as of a mapped file.
    """

    def __init__(self, room: int) -> None:
        self.data = mmap.mmap(-1, room)
        self.data.madvise(mmap.MADV_HUGEPAGE)
        self.used = 0
        self._room = room

    def fits(self, size: int) -> bool:
        """Tell whether a file of so many bytes can be added."""
        return self.used + size + UNIT <= self._room

    def read(self, descriptor: int, first: bytes, size: int) -> tuple[int, int]:
        """Read a file whose first bytes are known; return where it stands and how long it is."""
        offset = self.used
        self.data[offset : offset + len(first)] = first
        done = len(first)
        with memoryview(self.data) as view:
            while done < size:
                got = os.preadv(descriptor, [view[offset + done : offset + size]], done)
                if not got:
                    break
                done += got
        self.used += -(-done // UNIT) * UNIT + UNIT  # a unit of zeros keeps files apart
        return offset, done


def open_io_file(path: Path, batch: Batch) -> IoFile | None:
    """Open one I/O file: read it into the batch, or map it if it is large or does not fit.

    Returns:
        The file, or None where a tracer made it and wrote nothing yet (all
        zeros, or empty): no operation came before the header.

    Raises:
        EvidenceError: not a file of ours, cut within its header, or newer than
            this version reads.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise EvidenceError(
            f"{path}: cannot be opened: {error.strerror}", hint="check the permissions of the store"
        ) from error
    try:
        return _accept(path, descriptor, batch)
    finally:
        os.close(descriptor)


def _accept(path: Path, descriptor: int, batch: Batch) -> IoFile | None:
    size = os.fstat(descriptor).st_size
    first = os.pread(descriptor, HEADER_SIZE, 0)
    if not any(first[:16]):
        _check_unwritten(path, descriptor, size)
        return None
    header = _parse(path, first)
    used = _used(header, size)
    if used >= MAP_FROM or not batch.fits(used):
        return IoFile(header, mmap.mmap(descriptor, size, access=mmap.ACCESS_READ), 0, used)
    return IoFile(header, batch.data, *batch.read(descriptor, first, used))


def _used(header: Header, size: int) -> int:
    """Return how many bytes hold blocks: an arena is sparse beyond ``next``."""
    if header.layout == Layout.ARENA and HEADER_SIZE <= header.next < size:
        return header.next
    return size


def _check_unwritten(path: Path, descriptor: int, size: int) -> None:
    """Accept a file without a header only if nothing at all is in it."""
    try:
        start = os.lseek(descriptor, 0, os.SEEK_DATA)
    except OSError:  # only a hole
        return
    position = start
    while position < size:
        chunk = os.pread(descriptor, 1 << 20, position)
        if not chunk:
            return
        if any(chunk):
            raise EvidenceError(
                f"{path}: the header is missing (zeros) but data follows",
                hint="the file was damaged or cut by a copy; take it again from the node that wrote it",
            )
        position += len(chunk)


def _parse(path: Path, first: bytes) -> Header:
    if not first.startswith(FILE_MAGIC):
        hint = "move it out of the spool's io directory"
        if first.startswith(FILE_MAGIC.replace(b"\r\n", b"\n")):
            hint = "it was copied in text mode, which changes bytes; copy it again in binary mode"
        raise EvidenceError(f"{path}: not an I/O file of provio (it begins with {first[:8]!r})", hint=hint)
    if len(first) < HEADER_SIZE:
        raise EvidenceError(
            f"{path}: cut after {len(first)} bytes, within its header of {HEADER_SIZE}",
            hint="copy it again from the node that wrote it",
        )
    (_, major, minor, _, tracer, layout, _, _, run, attempt, boot, real, mono, host, after, dropped, why) = (
        _HEADER.unpack_from(first)
    )
    if not OLDEST_MAJOR <= major <= FORMAT_MAJOR:
        raise EvidenceError(
            f"{path}: format version {major}.{minor}; this provio reads major version {FORMAT_MAJOR}",
            hint="read it with the version of provio that wrote it, or a newer one",
        )
    return Header(
        path, minor, tracer, layout, hex_id(run), hex_id(attempt), hex_id(boot), real, mono,
        host.split(b"\0", 1)[0].decode("utf-8", "backslashreplace"), after, dropped, why,
    )  # fmt: skip


def hex_id(raw: bytes) -> str:
    """Return an id's hexadecimal text, "" for zero bytes."""
    return raw.hex() if any(raw) else ""
