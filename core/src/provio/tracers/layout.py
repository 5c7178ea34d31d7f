"""The wire records as numpy types: the layout of ``core/native/common/record.h``, field by field.

Here: only shapes. The walk over a file is in ``records``; the meaning of the
numbers is in ``provio.model.wire``. A test compares sizes and offsets with the
C compiler's.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from provio.model.wire import RecordType

UNIT: Final = 16
"""Bytes per unit of a reference."""

ID: Final = "V16"

FILE_HEADER: Final = np.dtype(
    [
        ("magic", "S8"),
        ("major", "<u2"),
        ("minor", "<u2"),
        ("header_size", "<u4"),
        ("tracer", "u1"),
        ("layout", "u1"),
        ("flags", "<u2"),
        ("reserved0", "<u4"),
        ("run", ID),
        ("attempt", ID),
        ("boot", ID),
        ("realtime", "<u8"),
        ("monotonic", "<u8"),
        ("host", "S64"),
        ("next", "<u8"),
        ("dropped_records", "<u8"),
        ("drop_reasons", "<u8"),
    ]
)

BLOCK: Final = np.dtype(
    [
        ("magic", "<u4"),
        ("length", "<u4"),
        ("used", "<u4"),
        ("kind", "<u2"),
        ("reserved0", "<u2"),
        ("pid", "<u4"),
        ("tid", "<u4"),
        ("image", "<u4"),
        ("epoch", "<u4"),
        ("realtime", "<u8"),
        ("monotonic", "<u8"),
        ("reserved1", "<u8", (2,)),
    ]
)

_HEAD: Final[list[tuple[Any, ...]]] = [("type", "u1"), ("op", "u1"), ("units", "<u2")]

STRING: Final = np.dtype([*_HEAD, ("length", "<u4"), ("start", "V8")])

IMAGE: Final = np.dtype(
    [
        *_HEAD,
        ("flags", "<u4"),
        ("pid", "<u4"),
        ("ppid", "<u4"),
        ("nspid", "<u4"),
        ("execs", "<u4"),
        ("start_ticks", "<u8"),
        ("t", "<u8"),
        ("pidns", "<u8"),
        ("parent", "<u4"),
        ("parent_file", "<u4"),
        ("argv", "<u4"),
        ("env", "<u4"),
        ("exe", "<u4"),
        ("cwd", "<u4"),
        ("cgroup", "<u4"),
        ("objects", "<u4"),
        ("ancestors", "<u4"),
        ("uid", "<u4"),
        ("euid", "<u4"),
        ("gid", "<u4"),
        ("run", ID),
        ("attempt", ID),
        ("rchar", "<u8"),
        ("wchar", "<u8"),
        ("rank", "<u4"),
        ("reserved", "<u4", (3,)),
    ]
)

IMAGE_END: Final = np.dtype(
    [
        *_HEAD,
        ("image", "<u4"),
        ("t", "<u8"),
        ("rchar", "<u8"),
        ("wchar", "<u8"),
        ("utime", "<u8"),
        ("stime", "<u8"),
        ("read_bytes", "<u8"),
        ("write_bytes", "<u8"),
        ("maxrss", "<u8"),
        ("io_time", "<u8"),
        ("objects", "<u4"),
        ("status", "<i4"),
        ("own_read", "<u4"),
        ("own_written", "<u4"),
    ]
)

EPOCH: Final = np.dtype(
    [
        *_HEAD,
        ("image", "<u4"),
        ("tid", "<u4"),
        ("previous", "<u4"),
        ("t", "<u8"),
        ("reserved", "<u8"),
        ("run", ID),
        ("attempt", ID),
    ]
)

DIRECTION: Final = np.dtype(
    [
        (name, "<u8")
        for name in (
            "bytes", "count", "sequential", "first", "last", "lo", "hi", "next", "sampled", "sampled_ns",
        )
    ]
)  # fmt: skip

HANDLE: Final = np.dtype(
    [
        *_HEAD,
        ("flags", "<u4"),
        ("image", "<u4"),
        ("epoch", "<u4"),
        ("parent", "<u4"),
        ("parent_file", "<u4"),
        ("path", "<u4"),
        ("given", "<u4"),
        ("tid", "<u4"),
        ("fd", "<i4"),
        ("oflags", "<u4"),
        ("mode", "<u4"),
        ("extents_read", "<u4"),
        ("extents_write", "<u4"),
        ("object", "<u4"),
        ("reserved0", "<u4"),
        ("dev", "<u8"),
        ("ino", "<u8"),
        ("size_open", "<u8"),
        ("size_close", "<u8"),
        ("mtime_open", "<i8"),
        ("mtime_close", "<i8"),
        ("ctime_open", "<i8"),
        ("ctime_close", "<i8"),
        ("t_open", "<u8"),
        ("t_close", "<u8"),
        ("read", DIRECTION),
        ("write", DIRECTION),
        ("open_ns", "<u8"),
        ("reserved1", "<u8"),
    ]
)

EXTENTS: Final = np.dtype(
    [
        *_HEAD,
        ("handle", "<u4"),
        ("count", "<u4"),
        ("reserved", "<u4"),
        ("extent", np.dtype([("begin", "<u8"), ("end", "<u8")]), (16,)),
    ]
)

OP: Final = np.dtype(
    [
        *_HEAD,
        ("err", "<u2"),
        ("flags", "<u2"),
        ("t", "<u8"),
        ("dur", "<u4"),
        ("arg", "<u4"),
        ("path", "<u4"),
        ("path2", "<u4"),
        ("handle", "<u4"),
        ("reserved", "<u4"),
        ("result", "<i8"),
        ("dev", "<u8"),
        ("ino", "<u8"),
        ("ino2", "<u8"),
        ("size", "<u8"),
        ("mtime", "<i8"),
        ("ctime", "<i8"),
    ]
)

IO: Final = np.dtype(
    [
        ("type", "u1"),
        ("op", "u1"),
        ("err", "<u2"),
        ("dur", "<u4"),
        ("t", "<u8"),
        ("handle", "<u4"),
        ("object", "<u4"),
        ("offset", "<i8"),
        ("result", "<i8"),
        ("tid", "<u4"),
        ("reserved", "<u4"),
    ]
)

GAP: Final = np.dtype(
    [*_HEAD, ("image", "<u4"), ("t", "<u8"), ("path", "<u4"), ("arg", "<u4"), ("count", "<u8")]
)

RECORDS: Final[dict[RecordType, np.dtype[Any]]] = {
    RecordType.STRING: STRING,
    RecordType.IMAGE: IMAGE,
    RecordType.IMAGE_END: IMAGE_END,
    RecordType.EPOCH: EPOCH,
    RecordType.HANDLE: HANDLE,
    RecordType.EXTENTS: EXTENTS,
    RecordType.OP: OP,
    RecordType.GAP: GAP,
}
"""Record types that live in MIXED blocks; STRING has a variable tail."""
