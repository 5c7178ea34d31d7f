"""The numbers of the wire format, as ``core/native/common/record.h`` defines them.

Names here equal the C names without their prefix; a test in tests/meta parses
the header and compares every value. Decoding lives in ``provio.tracers.records``.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Final

FILE_MAGIC: Final = b"PROVIO\r\n"
FORMAT_MAJOR: Final = 1
FORMAT_MINOR: Final = 0
HEADER_SIZE: Final = 4096
BLOCK_MAGIC: Final = 0x4B4C4250
REF_SHIFT: Final = 4


class Tracer(IntEnum):
    """Which backend wrote a file."""

    PRELOAD = 1
    VOL = 2
    EBPF = 3


class Layout(IntEnum):
    """How an I/O file grows: a shared arena, or append-only blocks of one process image."""

    ARENA = 0
    BLOCKS = 1


class BlockKind(IntEnum):
    """What a block holds: any records, or only 48-byte I/O records."""

    MIXED = 1
    IO = 2


class RecordType(IntEnum):
    """The first byte of a record."""

    STRING = 1
    IMAGE = 2
    IMAGE_END = 3
    EPOCH = 4
    HANDLE = 5
    EXTENTS = 6
    OP = 7
    IO = 8
    GAP = 9


class Op(IntEnum):
    """Operations; numbers are for ever."""

    READ = 1
    WRITE = 2
    OPEN = 3
    CLOSE = 4
    FSYNC = 5
    RENAME = 6
    LINK = 7
    SYMLINK = 8
    UNLINK = 9
    MKDIR = 10
    RMDIR = 11
    TRUNCATE = 12
    FALLOCATE = 13
    MMAP = 14
    STAT = 15
    ACCESS = 16
    READLINK = 17
    LISTDIR = 18
    GETXATTR = 19
    SETXATTR = 20
    REMOVEXATTR = 21
    LISTXATTR = 22
    CHMOD = 23
    CHOWN = 24
    UTIME = 25
    LOCK = 26
    MKNOD = 27
    CHDIR = 28
    EXEC = 29
    SOCKETPAIR = 30
    PIPE = 31
    COPY_RANGE = 32
    IOCTL = 33
    MSYNC = 34
    SPAWN = 35
    EXCHANGE = 36


class GapCode(IntEnum):
    """Why a tracer could not see something (enum provio_gap)."""

    STATIC_BINARY = 1
    FOREIGN_LIBC = 2
    SETUID = 3
    SANITIZER = 4
    NO_LIBRARY = 5
    RECORDS_LOST = 6
    STDIO_BYTES = 7
    INLINE_SYSCALL = 8
    IO_URING = 9
    LIMIT = 10
    UNSHARED = 11
    AIO = 12


class Drop(IntEnum):
    """Why records were dropped (enum provio_drop)."""

    NO_SPACE = 1
    FSIZE = 2
    AS = 3
    UNREACHABLE = 4
    REENTRY = 5
    FULL = 6


class Origin(IntEnum):
    """How a process image came to be."""

    EXEC = 1
    FORK = 2


class End(IntEnum):
    """Why an image ended."""

    EXIT = 1
    EXEC = 2
    FAILED_EXEC = 3


class Kind(IntEnum):
    """What an open descriptor refers to."""

    FILE = 1
    DIRECTORY = 2
    PIPE = 3
    FIFO = 4
    SOCKET = 5
    DEVICE = 6
    OTHER = 7


class HandleFlags(IntFlag):
    """Properties of one HANDLE record."""

    CREATED = 1 << 0
    TRUNCATED = 1 << 1
    ADOPTED = 1 << 2
    INHERITED = 1 << 3
    CONTINUED = 1 << 4
    STDIO = 1 << 5
    TMPFILE = 1 << 6
    CLOSED = 1 << 7
    OTHER_ALIAS = 1 << 8
    INEXACT = 1 << 9
    APPEND = 1 << 10
    CHILD = 1 << 11


class OpFlags(IntFlag):
    """Properties of one OP record."""

    CHILD = 1 << 0
    IDENTITY = 1 << 1
    NOFOLLOW = 1 << 2
    DIRECTORY = 1 << 3
