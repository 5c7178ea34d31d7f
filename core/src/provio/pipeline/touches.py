"""Handles, operations and loaded objects of the records, as touches in columns.

One HANDLE gives a read row, a write row, both, or one row that says how it was
opened; a handle that came over fork or exec and was not used gives none. MMAP
gives mapped-read and mapped-write rows on its handle's file. Pipes and sockets
give no touches but channel uses (``channels``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from provio.model.wire import HandleFlags, Kind, Op, OpFlags, RecordType
from provio.pipeline.frame import CREATE, MAPPED_READ, MAPPED_WRITE, Frame, join_frames, make_frame
from provio.tracers.records import Ints, Records, Rows, lookup

if TYPE_CHECKING:
    from provio.pipeline.images import ImageTable

_SILENT: Final = (Op.CLOSE, Op.PIPE, Op.SOCKETPAIR, Op.SPAWN, Op.MMAP, Op.MSYNC, Op.IOCTL)
"""Operations that are no touch by themselves (MMAP is made from its handle)."""

_CARRIED: Final = int(HandleFlags.ADOPTED | HandleFlags.INHERITED | HandleFlags.CONTINUED)
_CHANNELS: Final = (Kind.PIPE, Kind.SOCKET)
_PROT_READ, _PROT_WRITE, _MAP_SHARED = 1, 2, 1


@dataclass(slots=True)
class Owners:
    """Image and epoch numbers of the rows of one record type."""

    image: Ints
    epoch: Ints


@dataclass(slots=True)
class Touches:
    """What ``files`` and ``channels`` build on.

    Attributes:
        frame: touches of files, in an order that the files alone decide.
        handles: all handle rows with their owners (for channels); ops: all operations'.
        operations: per epoch, how many operations its records hold.
    """

    frame: Frame
    handles: Owners
    ops: Owners
    operations: Ints


def owners_in_force(records: Records, kind: RecordType) -> tuple[Ints, Ints]:
    """Return the addresses of image and epoch under which each record of a type stands."""
    segments = records.segments
    at = np.searchsorted(segments.addr, records.addr[kind], side="right") - 1
    if not len(at):
        return at, at
    return segments.image[at], segments.epoch[at]


def unknown_owners(records: Records) -> list[tuple[int, int, int]]:
    """Return (file, pid, first time) of records whose image record is not there."""
    known = records.addr[RecordType.IMAGE]
    found: dict[tuple[int, int], int] = {}
    for kind, clock in ((RecordType.HANDLE, "t_open"), (RecordType.OP, "t")):
        image = _image_addr(records, kind)
        lost = np.flatnonzero(lookup(known, image, known) < 0)
        pids, files = _pids(records, kind)[lost], records.file_of(records.addr[kind][lost])
        times = records.rows[kind][clock][lost].astype(np.int64)
        for file, pid, t in zip(files.tolist(), pids.tolist(), times.tolist(), strict=True):
            found[file, pid] = min(t, found.get((file, pid), t))
    return sorted((file, pid, t) for (file, pid), t in found.items())


def _pids(records: Records, kind: RecordType) -> Ints:
    at = np.searchsorted(records.segments.addr, records.addr[kind], side="right") - 1
    return records.segments.pid[at] if len(at) else at


def _image_addr(records: Records, kind: RecordType) -> Ints:
    in_force, _ = owners_in_force(records, kind)
    if kind != RecordType.HANDLE:
        return in_force
    named = records.refs(kind, "image")
    return np.where(named >= 0, named, in_force)


def owners(records: Records, table: ImageTable, kind: RecordType, lost: dict[tuple[int, int], int]) -> Owners:
    """Return image and epoch numbers of the records of a type."""
    addr = _image_addr(records, kind)
    _, epoch = owners_in_force(records, kind)
    if kind == RecordType.HANDLE:
        named = records.refs(kind, "epoch")
        epoch = np.where(named >= 0, named, epoch)
    image = table.image_of(addr)
    missing = np.flatnonzero(image < 0)
    if len(missing) and lost:
        pids, files = _pids(records, kind)[missing], records.file_of(records.addr[kind][missing])
        pairs = zip(files.tolist(), pids.tolist(), strict=True)
        image[missing] = [lost.get(pair, -1) for pair in pairs]
    return Owners(image, table.epoch_of(epoch, image))


def build_touches(
    records: Records, table: ImageTable, boots: Ints, lost: dict[tuple[int, int], int]
) -> Touches:
    """Turn records into touches.

    Args:
        records: the decoded files.
        table: images and epochs.
        boots: number of the boot of each I/O file.
        lost: (file, pid) -> image made up for records without one.
    """
    handle_owners = owners(records, table, RecordType.HANDLE, lost)
    op_owners = owners(records, table, RecordType.OP, lost)
    handles = _handle_frame(records, handle_owners, boots)
    operations = _op_frame(records, op_owners, boots, handles)
    mapped = _mapped(records, table, op_owners, handles)
    used = _uses(records, handles)
    frame = join_frames([*used, operations, *mapped, _objects(records, table, boots)])
    counts = _operations(records, table, handle_owners, op_owners)
    if (frame.epoch < 0).any():
        frame = frame.take(np.flatnonzero(frame.epoch >= 0))
    return Touches(frame, handle_owners, op_owners, counts)


def signed(column: Rows) -> Ints:
    """Return unsigned values as signed ones; the all-ones value means not known and becomes -1."""
    return column.astype(np.int64)


def _handle_frame(records: Records, owner: Owners, boots: Ints) -> Frame:
    """Return one row per handle, without an operation yet."""
    rows, addr = records.rows[RecordType.HANDLE], records.addr[RecordType.HANDLE]
    closed = (rows["flags"] & HandleFlags.CLOSED) != 0
    at_close = {
        f"{name}_close": np.where(closed, signed(rows[f"{name}_close"]), -1)
        for name in ("size", "mtime", "ctime")
    }
    return make_frame(
        len(rows),
        addr=addr,
        image=owner.image,
        epoch=owner.epoch,
        boot=boots[records.file_of(addr)] if len(addr) else addr,
        dev=signed(rows["dev"]),
        ino=signed(rows["ino"]),
        kind=rows["op"],
        opened=signed(rows["t_open"]),
        closed=np.where(closed, signed(rows["t_close"]), 0),
        size_open=signed(rows["size_open"]),
        mtime_open=rows["mtime_open"],
        ctime_open=rows["ctime_open"],
        path=records.texts(RecordType.HANDLE, "path"),
        given=records.texts(RecordType.HANDLE, "given"),
        flags=rows["flags"],
        handle=addr,
        **at_close,
    )


def _uses(records: Records, handles: Frame) -> list[Frame]:
    """Return the read rows, the write rows, and the rows of handles that were only opened."""
    rows = records.rows[RecordType.HANDLE]
    files = ~np.isin(handles.kind, _CHANNELS)
    parts = []
    used = np.zeros(len(rows), dtype=bool)
    for name, op in (("read", Op.READ), ("write", Op.WRITE)):
        mask = files & ((rows[name]["count"] > 0) | (rows[name]["bytes"] > 0))
        used |= mask
        part = handles.take(np.flatnonzero(mask))
        side = rows[name][mask]
        part.op[:] = op
        part.count = np.maximum(signed(side["count"]), 1)
        part.bytes = signed(side["bytes"])
        part.first, part.last = signed(side["first"]), signed(side["last"])
        parts.append(part)
    idle = handles.take(np.flatnonzero(files & ~used & ((handles.flags & _CARRIED) == 0)))
    idle.op = np.where(
        idle.flags & HandleFlags.CREATED,
        CREATE,
        np.where(idle.flags & HandleFlags.TRUNCATED, int(Op.TRUNCATE), int(Op.OPEN)),
    )
    idle.count[:] = 1
    idle.first, idle.last = idle.opened.copy(), idle.opened.copy()
    return [*parts, idle]


def _op_frame(records: Records, owner: Owners, boots: Ints, handles: Frame) -> Frame:
    """Return one row per operation; where it was done through a handle, that tells path and identity.

    A kernel-side copy moves no bytes here: its two handles count them, its row only ties them together.
    """
    rows, addr = records.rows[RecordType.OP], records.addr[RecordType.OP]
    handle = records.refs(RecordType.OP, "handle")
    via = lookup(handles.addr, handle, np.arange(len(handles)))
    path = records.texts(RecordType.OP, "path")
    own = (rows["flags"] & OpFlags.IDENTITY) != 0
    end = signed(rows["t"])
    frame = make_frame(
        len(rows),
        addr=addr,
        image=owner.image,
        epoch=owner.epoch,
        boot=boots[records.file_of(addr)] if len(addr) else addr,
        dev=np.where(own, signed(rows["dev"]), _pick(handles.dev, via, path == 0)),
        ino=np.where(own, signed(rows["ino"]), _pick(handles.ino, via, path == 0)),
        ino2=signed(rows["ino2"]),
        kind=np.where(rows["flags"] & OpFlags.DIRECTORY, Kind.DIRECTORY, _pick(handles.kind, via, path == 0)),
        op=rows["op"],
        count=np.ones(len(rows), dtype=np.int64),
        first=end - rows["dur"].astype(np.int64),
        last=end,
        opened=end - rows["dur"].astype(np.int64),
        closed=end,
        size_close=np.where(own | np.isin(rows["op"], _SIZED), signed(rows["size"]), -1),
        mtime_close=np.where(own, rows["mtime"], -1),
        ctime_close=np.where(own, rows["ctime"], -1),
        path=np.where(path > 0, path, _pick(handles.path, via, path == 0)),
        path2=records.texts(RecordType.OP, "path2"),
        target=_copy_target(records),
        err=rows["err"],
        flags=rows["flags"],
        handle=handle,
    )
    return frame.take(np.flatnonzero(~np.isin(rows["op"], _SILENT) & ~np.isin(frame.kind, _CHANNELS)))


_SIZED: Final = (Op.TRUNCATE, Op.FALLOCATE)


def _pick(column: Ints, via: Ints, where: Any) -> Ints:
    """Return the handles' values of a column where an operation went through one, else 0."""
    if not len(column):
        return np.zeros(len(via), dtype=np.int64)
    return np.where((via >= 0) & where, column[np.maximum(via, 0)], 0)


def _copy_target(records: Records) -> Ints:
    """Return the address of the target handle of a kernel-side copy."""
    rows = records.rows[RecordType.OP]
    arg = rows["arg"].astype(np.int64)
    return np.where((rows["op"] == Op.COPY_RANGE) & (arg > 0), arg + records.bases(RecordType.OP), -1)


def _mapped(records: Records, table: ImageTable, owner: Owners, handles: Frame) -> list[Frame]:
    """Return rows for mappings: a private or read-only one reads, a shared writable one may do both."""
    rows, addr = records.rows[RecordType.OP], records.addr[RecordType.OP]
    handle = records.refs(RecordType.OP, "handle")
    via = lookup(handles.addr, handle, np.arange(len(handles)))
    prot, flags = rows["arg"] & 0xFFFF, rows["arg"] >> 16
    shared_write = ((prot & _PROT_WRITE) != 0) & ((flags & _MAP_SHARED) != 0)
    done = (rows["op"] == Op.MMAP) & (rows["err"] == 0) & (via >= 0)
    reads = (prot & _PROT_READ) != 0
    until = np.array([i.until for i in table.images] or [0], dtype=np.int64)
    parts = []
    for mask, op in ((done & (reads | ~shared_write), MAPPED_READ), (done & shared_write, MAPPED_WRITE)):
        at = np.flatnonzero(mask)
        part = handles.take(via[at])
        part.addr, part.image, part.epoch = addr[at], owner.image[at], owner.epoch[at]
        part.op[:] = op
        part.count[:] = 1
        part.bytes = np.zeros(len(at), dtype=np.int64)
        part.first = signed(rows["t"][at])
        # Nobody tells when a mapping was last used: at the latest when the image ended.
        part.last = np.maximum(np.maximum(part.first, part.closed), until[part.image])
        parts.append(part)
    return parts


def _objects(records: Records, table: ImageTable, boots: Ints) -> Frame:
    """Return mapped-read rows for the shared objects that the link map named."""
    image, path = [], []
    numbers = {text: n for n, text in enumerate(records.strings)}
    expanded: dict[int, list[int]] = {}
    for number, strings in enumerate(table.objects):
        for string in strings:
            if string not in expanded:
                expanded[string] = _names(records.strings[string], numbers, records.strings)
            image.extend([number] * len(expanded[string]))
            path.extend(expanded[string])
    images = np.array(image, dtype=np.int64)
    since = np.array([i.since for i in table.images], dtype=np.int64)
    files = np.array(table.file, dtype=np.int64)
    moment = since[images] if len(images) else images
    return make_frame(
        len(images),
        addr=table.image_addr[images] if len(images) else images,
        image=images,
        epoch=table.default_epoch[images] if len(images) else images,
        boot=boots[files[images]] if len(images) else images,
        kind=np.full(len(images), Kind.FILE),
        op=np.full(len(images), MAPPED_READ),
        count=np.ones(len(images), dtype=np.int64),
        first=moment,
        last=moment,
        opened=moment,
        closed=moment,
        path=np.array(path, dtype=np.int64),
    )


def _names(raw: bytes, numbers: dict[bytes, int], strings: list[bytes]) -> list[int]:
    """Return the numbers of the paths in a NUL-separated list; new ones are appended to ``strings``."""
    found = []
    for name in raw.split(b"\0"):
        if not name.startswith(b"/"):
            continue  # linux-vdso.so.1
        if name not in numbers:
            numbers[name] = len(strings)
            strings.append(name)
        found.append(numbers[name])
    return found


def _operations(records: Records, table: ImageTable, handle: Owners, op: Owners) -> Ints:
    """Count the operations of each epoch: calls on handles (an idle own open counts once) and OP records.

    A kernel-side copy is counted by its two handles already.
    """
    rows = records.rows[RecordType.HANDLE]
    calls = signed(rows["read"]["count"]) + signed(rows["write"]["count"])
    opened = (calls == 0) & ((rows["flags"] & _CARRIED) == 0)
    counts = np.zeros(len(table.epochs), dtype=np.int64)
    known = handle.epoch >= 0
    np.add.at(counts, handle.epoch[known], (calls + opened)[known])
    noted = (op.epoch >= 0) & ~np.isin(records.rows[RecordType.OP]["op"], (Op.SPAWN, Op.COPY_RANGE))
    np.add.at(counts, op.epoch[noted], 1)
    return counts
