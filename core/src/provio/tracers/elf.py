"""Can this program take our library? Read from its ELF headers before it is started.

``ld.so`` prints a message where a preloaded object does not fit, and the
AddressSanitizer runtime stops a program in which it does not come first: such
programs are left alone and become a Gap. Unknown is answered with "yes", since
the library is built to load into any glibc of its machine.
"""

from __future__ import annotations

import os
import stat
import struct
import sys
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from provio.model.gaps import GapKind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MACHINES: Final = {"x86_64": 62, "aarch64": 183}
_PT_LOAD, _PT_DYNAMIC, _PT_INTERP = 1, 2, 3
_DT_NEEDED, _DT_STRTAB = 1, 5
_SANITIZERS: Final = (b"libasan.", b"libhwasan.", b"libclang_rt.asan", b"libclang_rt.hwasan")
_MAX_SCRIPTS: Final = 4  # as the kernel: interpreters of interpreters


class Verdict(NamedTuple):
    """Whether a program takes the library; if not, which Gap that is and which file decided it."""

    takes: bool
    gap: GapKind | None
    program: str


class _Segment(NamedTuple):
    kind: int
    offset: int
    address: int
    size: int


def judge(program: str | os.PathLike[str]) -> Verdict:
    """Tell whether a program, or the interpreter of a script, takes the preload library."""
    path = os.fspath(program)
    for _ in range(_MAX_SCRIPTS):
        try:
            with open(path, "rb") as file:  # noqa: PTH123 - closed before the next turn
                head = file.read(256)
                if not head.startswith(b"#!"):
                    gap = _elf_gap(file, head) or _secure(path)
                    return Verdict(gap is None, gap, path)
        except (OSError, struct.error, ValueError):
            return Verdict(takes=True, gap=None, program=path)
        words = head[2:].partition(b"\n")[0].split()
        if not words:
            break
        path = os.fsdecode(words[0])
    return Verdict(takes=True, gap=None, program=path)


def same_machine(library: Path) -> bool:
    """Tell whether an ELF file is for the kind of machine that this interpreter runs as."""
    try:
        with library.open("rb") as file:
            return _is_native(file.read(20))
    except OSError:
        return False


def _is_native(head: bytes) -> bool:
    word_size = 2 if sys.maxsize > 2**32 else 1
    little_endian = 1
    if head[:6] != b"\x7fELF" + bytes([word_size, little_endian]) or len(head) < 20:
        return False
    (machine,) = struct.unpack_from("<H", head, 18)
    return bool(machine == _MACHINES.get(os.uname().machine))


def _elf_gap(file: BinaryIO, head: bytes) -> GapKind | None:
    if head[:4] != b"\x7fELF":
        return None  # a script without "#!": the shell that runs it decides
    if not _is_native(head):
        return GapKind.FOREIGN_LIBC
    segments = list(_segments(file, head))
    interpreter = next((_bytes(file, s) for s in segments if s.kind == _PT_INTERP), None)
    if interpreter is None:
        return GapKind.STATIC_BINARY
    if b"ld-linux" not in interpreter.rpartition(b"/")[2]:
        return GapKind.FOREIGN_LIBC
    needed = _needed(file, segments)
    return GapKind.SANITIZER if any(name.startswith(_SANITIZERS) for name in needed) else None


def _segments(file: BinaryIO, head: bytes) -> Iterator[_Segment]:
    offset = struct.unpack_from("<Q", head, 32)[0]
    size, count = struct.unpack_from("<HH", head, 54)
    for index in range(count):
        file.seek(offset + index * size)
        kind, _, where, address, _, length = struct.unpack("<IIQQQQ", file.read(40))
        yield _Segment(kind, where, address, length)


def _bytes(file: BinaryIO, segment: _Segment) -> bytes:
    file.seek(segment.offset)
    return file.read(min(segment.size, 4096)).rstrip(b"\0")


def _needed(file: BinaryIO, segments: list[_Segment]) -> list[bytes]:
    """Return the names of the shared objects that a program asks for."""
    dynamic = next((s for s in segments if s.kind == _PT_DYNAMIC), None)
    if dynamic is None:
        return []
    file.seek(dynamic.offset)
    raw = file.read(min(dynamic.size, 1 << 16))
    entries = list(struct.iter_unpack("<QQ", raw[: len(raw) // 16 * 16]))
    table = next((value for tag, value in entries if tag == _DT_STRTAB), None)
    if table is None:
        return []
    return [_string(file, segments, table + value) for tag, value in entries if tag == _DT_NEEDED]


def _string(file: BinaryIO, segments: list[_Segment], address: int) -> bytes:
    for segment in segments:
        if segment.kind == _PT_LOAD and segment.address <= address < segment.address + segment.size:
            file.seek(segment.offset + address - segment.address)
            return file.read(256).partition(b"\0")[0]
    return b""


def _secure(path: str) -> GapKind | None:
    """Tell whether the kernel will run a program in secure mode, where LD_PRELOAD is ignored."""
    info = os.stat(path)  # noqa: PTH116 - one system call, no object
    other_user = info.st_mode & stat.S_ISUID and info.st_uid != os.getuid()
    other_group = info.st_mode & stat.S_ISGID and info.st_mode & stat.S_IXGRP and info.st_gid != os.getgid()
    if other_user or other_group:
        return GapKind.SETUID
    if os.getuid() != 0 and "security.capability" in os.listxattr(path):
        return GapKind.SETUID
    return None
