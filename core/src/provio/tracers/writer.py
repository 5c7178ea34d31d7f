"""Write provio's wire format: for readers of other tracers' files, and for tests.

Independent of the decoder (``records``): layouts are struct formats taken from
``record.h``. A ``Writer`` is one file; ``image()``, ``epoch()``, ``handle()``,
``op()`` return references; ``bytes()`` gives the file.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from provio.model.wire import (
    BLOCK_MAGIC,
    FILE_MAGIC,
    HEADER_SIZE,
    BlockKind,
    End,
    HandleFlags,
    Kind,
    Layout,
    Op,
    OpFlags,
    Origin,
    RecordType,
    Tracer,
)

if TYPE_CHECKING:
    from pathlib import Path

HEADER = struct.Struct("<8sHHIBBHI16s16s16sQQ64sQQQ")
BLOCK = struct.Struct("<IIIHHIIIIQQQQ")
IMAGE = struct.Struct("<BBHIIIIIQQQIIIIIIIIIIII16s16sQQI12x")
IMAGE_END = struct.Struct("<BBHIQQQQQQQQQIiQ")
EPOCH = struct.Struct("<BBHIIIQQ16s16s")
DIRECTION = struct.Struct("<10Q")
HANDLE = struct.Struct("<BBHIIIIIIIIiIIIIIIQQQQqqqqQQ80s80sQQ")
EXTENTS = struct.Struct("<BBHIII256s")
OP = struct.Struct("<BBHHHQIIIIIIqQQQQqq")
IO = struct.Struct("<BBHIQIIqqII")
GAP = struct.Struct("<BBHIQIIQ")

BOOT = "b0" * 16
"""Boot id where none is given."""
RUN = "aa" * 16
"""Run id where none is given."""


def direction(count: int = 0, size: int = 0, first: int = 0, last: int = 0, lo: int = 0) -> bytes:
    """One direction of a handle."""
    return DIRECTION.pack(size, count, max(count - 1, 0), first, last, lo, lo + size, lo + size, 0, 0)


class Writer:
    """One I/O file under construction; blocks are closed by ``block()`` or at the end."""

    def __init__(self, attempt: str = "", *, layout: Layout = Layout.ARENA, **header: Any) -> None:
        self.data = bytearray(HEADER_SIZE)
        self.attempt = attempt
        self.layout = layout
        self.header: dict[str, Any] = {
            "boot": BOOT,
            "run": RUN,
            "host": b"node1",
            "major": 1,
            "minor": 0,
        } | header
        self.strings: dict[bytes, int] = {}
        self._block = 0
        self._thread: tuple[int, int, int, int] = (1, 1, 0, 0)
        self._io_block = 0
        self._last_image = 0
        self._last_epoch = 0

    # blocks

    def block(
        self, *, pid: int = 1, tid: int = 1, image: int = 0, epoch: int = 0, kind: int = BlockKind.MIXED
    ) -> None:
        """Close the current block and begin another."""
        self.close()
        self._block = len(self.data)
        self.data += BLOCK.pack(BLOCK_MAGIC, 0, 0, kind, 0, pid, tid, image, epoch, 0, 0, 0, 0)

    def close(self, *, length: int | None = None, used: int | None = None) -> None:
        """Set the current block's length (padded with zeros) and used bytes."""
        if not self._block:
            return
        size = len(self.data) - self._block
        if length is not None:
            self.data += bytes(length - size)
        struct.pack_into("<II", self.data, self._block + 4, length or size, size if used is None else used)
        self._block = 0

    def put(self, record: bytes) -> int:
        """Append a record to the current block; return its reference."""
        if not self._block:
            self.block(image=self._last_image, epoch=self._last_epoch)
        at = len(self.data)
        self.data += record
        return at // 16

    def string(self, text: bytes | str) -> int:
        """Intern bytes."""
        raw = text.encode() if isinstance(text, str) else text
        if not raw:
            return 0
        if raw not in self.strings:
            units = -(-(8 + len(raw)) // 16)
            body = struct.pack("<BBHI", RecordType.STRING, 0, units, len(raw)) + raw
            self.strings[raw] = self.put(body.ljust(units * 16, b"\0"))
        return self.strings[raw]

    # records

    def image(
        self,
        pid: int = 100,
        *,
        t: int = 1_000,
        parent: int = 0,
        parent_file: str = "",
        origin: int = Origin.EXEC,
        ppid: int = 1,
        execs: int = 0,
        start: int = 7,
        argv: bytes = b"",
        env: bytes = b"",
        exe: bytes = b"/bin/x",
        cwd: bytes = b"/w",
        cgroup: bytes = b"",
        objects: bytes = b"",
        ancestors: bytes = b"",
        attempt: str | None = None,
        run: str | None = None,
        rchar: int = 0,
        wchar: int = 0,
        rank: int = 0,
    ) -> int:
        """A process image; the current block belongs to it from here on."""
        self.block(pid=pid, tid=pid)
        refs = [self.string(s) for s in (parent_file, argv, env, exe, cwd, cgroup, objects, ancestors)]
        attempt = self.attempt if attempt is None else attempt
        run = self.header["run"] if run is None else run
        ref = self.put(
            IMAGE.pack(
                RecordType.IMAGE,
                origin,
                10,
                0,
                pid,
                ppid,
                pid,
                execs,
                start,
                t,
                4026531836,
                parent,
                *refs,
                1000,
                1000,
                1000,
                _id(run if attempt else ""),
                _id(attempt),
                rchar,
                wchar,
                rank,
            )
        )
        self._last_image = ref
        self.epoch(ref, t=t, attempt=attempt, live=False)
        return ref

    def epoch(
        self, image: int, *, t: int, attempt: str, live: bool = True, tid: int = 0, previous: int = 0
    ) -> int:
        """An epoch; the current block continues under it."""
        self._last_epoch = self.put(
            EPOCH.pack(
                RecordType.EPOCH,
                2 if live else 1,
                4,
                image,
                tid,
                previous,
                t,
                0,
                _id(self.header["run"]),
                _id(attempt),
            )
        )
        return self._last_epoch

    def end(
        self,
        image: int,
        *,
        t: int = 9_000,
        why: int = End.EXIT,
        rchar: int = 0,
        wchar: int = 0,
        utime: int = 0,
        stime: int = 0,
        maxrss: int = 0,
        objects: bytes = b"",
    ) -> int:
        """The end of an image."""
        objects_ref = self.string(objects)
        return self.put(
            IMAGE_END.pack(
                RecordType.IMAGE_END,
                why,
                6,
                image,
                t,
                rchar,
                wchar,
                utime,
                stime,
                0,
                0,
                maxrss,
                0,
                objects_ref,
                0,
                0,
            )
        )

    def handle(
        self,
        path: bytes | str,
        ino: int,
        *,
        read: bytes = b"",
        write: bytes = b"",
        image: int = 0,
        epoch: int = 0,
        flags: int = HandleFlags.CLOSED,
        kind: int = Kind.FILE,
        dev: int = 1,
        t_open: int = 2_000,
        t_close: int = 8_000,
        size_open: int = 0,
        size_close: int = 0,
        mtime_open: int = 1,
        mtime_close: int = 1,
        ctime_open: int = 1,
        ctime_close: int = 1,
        fd: int = 3,
        parent: int = 0,
        tid: int = 0,
        oflags: int = 0,
        given: bytes = b"",
    ) -> int:
        """An open file."""
        path_ref, given_ref = self.string(path), self.string(given)
        return self.put(
            HANDLE.pack(
                RecordType.HANDLE,
                kind,
                20,
                flags,
                image or self._last_image,
                epoch or self._last_epoch,
                parent,
                0,
                path_ref,
                given_ref,
                tid,
                fd,
                oflags,
                0o100644,
                0,
                0,
                0,
                0,
                dev,
                ino,
                size_open,
                size_close,
                mtime_open,
                mtime_close,
                ctime_open,
                ctime_close,
                t_open,
                t_close,
                read or direction(),
                write or direction(),
                10,
                0,
            )
        )

    def op(
        self,
        op: Op,
        path: bytes | str = b"",
        path2: bytes | str = b"",
        *,
        t: int = 3_000,
        err: int = 0,
        ino: int = 0,
        ino2: int = 0,
        dev: int = 1,
        flags: int | None = None,
        handle: int = 0,
        arg: int = 0,
        size: int = 0,
        result: int = 0,
        mtime: int = 0,
        ctime: int = 0,
    ) -> int:
        """An operation; with ``ino`` the identity flag is set."""
        refs = self.string(path), self.string(path2)
        if flags is None:
            flags = OpFlags.IDENTITY if ino and op not in (Op.PIPE, Op.SOCKETPAIR) else 0
        return self.put(
            OP.pack(
                RecordType.OP,
                op,
                6,
                err,
                flags,
                t,
                5,
                arg,
                *refs,
                handle,
                0,
                result,
                dev if ino else 0,
                ino,
                ino2,
                size,
                mtime,
                ctime,
            )
        )

    def gap(
        self, kind: int, *, image: int = 0, path: bytes = b"", t: int = 100, arg: int = 0, count: int = 1
    ) -> int:
        """A gap."""
        ref = self.string(path)
        return self.put(GAP.pack(RecordType.GAP, kind, 2, image or self._last_image, t, ref, arg, count))

    def io(
        self, handle: int, op: Op, offset: int, result: int, *, t: int, dur: int = 100, tid: int = 1
    ) -> None:
        """A read or write of full mode, collected in IO blocks."""
        if not self._block or self._block != self._io_block:
            self.block(kind=BlockKind.IO)
            self._io_block = self._block
        self.data += IO.pack(RecordType.IO, op, 0, dur, t, handle, 0, offset, result, tid, 0)

    # the file

    def bytes(self) -> bytes:
        """The whole file."""
        self.close()
        h = self.header
        HEADER.pack_into(
            self.data,
            0,
            FILE_MAGIC,
            h["major"],
            h["minor"],
            HEADER_SIZE,
            Tracer.PRELOAD,
            self.layout,
            0,
            0,
            _id(h["run"]),
            _id(self.attempt),
            _id(h["boot"]),
            h.get("realtime", 10**18),
            h.get("monotonic", 0),
            h["host"],
            h.get("next", len(self.data)),
            h.get("dropped", 0),
            h.get("reasons", 0),
        )
        return bytes(self.data)

    def write(self, path: Path) -> Path:
        """Store the file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.bytes())
        return path


def _id(text: str) -> bytes:
    return bytes.fromhex(text) if text else bytes(16)
