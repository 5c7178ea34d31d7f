"""Read ``strace -f -ff -y -v`` logs: the independent witness of the truth tests.

Knows system calls and nothing of provio's formats. ``-ff`` writes one file per
thread, in that thread's order; ``-y`` names each descriptor's file; ``-v``
prints environments and stat results whole, which gives the identity of
processes (``PROVIO_TASK`` at execve) and of files (the tracer's own fstat).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

STRACE = ("strace", "-f", "-ff", "-y", "-v", "-s", "200", "-e", "signal=none")

_CALL = re.compile(
    rb"^(?P<name>[a-z_0-9]+)\((?P<args>.*)\)\s+= (?P<result>-?\d+|0x[0-9a-f]+|\?)(?P<rest>.*)$", re.DOTALL
)
_FD = re.compile(rb"(?<![\w\"])(\d+)<([^<>]*)>(\(deleted\))?")
_STAT = re.compile(rb"st_dev=makedev\((0x[0-9a-f]+|0), (0x[0-9a-f]+|0)\), st_ino=(\d+)")
_TASK = re.compile(rb'"PROVIO_TASK=([0-9a-f]{32}/[0-9a-f]{32})"')
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|[ntrvfb\"\\])")
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"v": b"\v", b"f": b"\f", b"b": b"\b"}

READS = {b"read", b"pread64", b"readv", b"preadv", b"preadv2"}
WRITES = {b"write", b"pwrite64", b"writev", b"pwritev", b"pwritev2"}
COPIES = {b"sendfile": (1, 0), b"copy_file_range": (0, 1), b"splice": (0, 1)}
"""Name -> (position of the source descriptor, of the target descriptor) among the descriptors."""
FORKS = {b"clone", b"clone3", b"fork", b"vfork"}


@dataclass(frozen=True, slots=True)
class Transfer:
    """Bytes that one system call moved between a process and a file.

    Attributes:
        pid: thread group leader.
        program: how many programs the process had executed before (0: still its parent's image).
        token: PROVIO_TASK of the image's environment, inherited over fork; b"" where none.
        op: read or write.
        path: as the kernel named the descriptor at that moment.
        identity: (major, minor, inode) from the last stat of that path by this thread, or None.
        bytes: moved.
        head: first bytes of the data, where strace shows them.
    """

    pid: int
    program: int
    token: bytes
    op: str
    path: bytes
    identity: tuple[int, int, int] | None
    bytes: int
    head: bytes


@dataclass(slots=True)
class _Thread:
    tid: int
    pid: int
    token: bytes = b""
    programs: int = 0


def unescape(text: bytes) -> bytes:
    """Undo strace's C-style quoting of a path or string."""

    def one(match: re.Match[bytes]) -> bytes:
        code = match.group(1)
        return bytes([int(code, 8)]) if code[:1].isdigit() else _LETTERS.get(code, code)

    return _ESCAPE.sub(one, text)


def transfers(directory: Path, prefix: str = "log") -> list[Transfer]:
    """Read every transfer of a log directory (files ``<prefix>.<tid>``), roots first."""
    lines = {int(p.suffix[1:]): p.read_bytes().splitlines() for p in directory.glob(f"{prefix}.*")}
    children = _children(lines)
    born = {child for row in children.values() for child, _ in row}
    found: list[Transfer] = []
    waiting = [_Thread(tid, tid) for tid in sorted(lines) if tid not in born]
    while waiting:
        thread = waiting.pop()
        for item in _walk(thread, lines.get(thread.tid, []), dict(children.get(thread.tid, ()))):
            if isinstance(item, _Thread):
                waiting.append(item)
            else:
                found.append(item)
    return found


def _children(lines: dict[int, list[bytes]]) -> dict[int, list[tuple[int, bool]]]:
    table: dict[int, list[tuple[int, bool]]] = {}
    for tid, rows in lines.items():
        for row in rows:
            match = _CALL.match(row) if row.startswith((b"clone", b"fork", b"vfork")) else None
            if match and match["name"] in FORKS and int(match["result"].replace(b"?", b"-1")) > 0:
                table.setdefault(tid, []).append((int(match["result"]), b"CLONE_THREAD" in match["args"]))
    return table


def _walk(thread: _Thread, rows: list[bytes], children: dict[int, bool]) -> Iterator[Transfer | _Thread]:
    identities: dict[bytes, tuple[int, int, int]] = {}
    for row in rows:
        match = _CALL.match(row)
        if match is None or match["result"].startswith((b"-", b"?")):
            continue
        name, args = match["name"], match["args"]
        if name == b"execve":
            token = _TASK.search(args)
            thread.token = token.group(1) if token else b""
            thread.programs += 1
        elif name in FORKS and int(match["result"]) in children:
            child = int(match["result"])
            yield _Thread(child, thread.pid if children[child] else child, thread.token, thread.programs)
        elif b"st_ino=" in args:
            _learn(args, identities)
        else:
            yield from _moved(thread, match, identities)


def _learn(args: bytes, identities: dict[bytes, tuple[int, int, int]]) -> None:
    named, stat = _FD.search(args), _STAT.search(args)
    if named and stat:
        identities[unescape(named.group(2))] = (int(stat[1], 16), int(stat[2], 16), int(stat[3]))


def _moved(
    thread: _Thread, match: re.Match[bytes], identities: dict[bytes, tuple[int, int, int]]
) -> Iterator[Transfer]:
    name, args = match["name"], match["args"]
    if name not in READS and name not in WRITES and name not in COPIES:
        return
    count = int(match["result"], 0)
    if name in READS or name in WRITES:
        ends = (("read" if name in READS else "write", 0),)
        head = unescape(args.split(b'"', 2)[1][:64]) if args.count(b'"') >= 2 else b""
    else:
        source, target = COPIES[name]
        ends, head = (("read", source), ("write", target)), b""  # type: ignore[assignment]
    # Data strings may look like descriptors; only what stands before the first quote counts.
    named = _FD.findall(args.split(b'"', 1)[0])
    for op, position in ends:
        path = unescape(named[position][1]) if position < len(named) else b""
        if path.startswith(b"/") and count > 0:
            yield Transfer(
                thread.pid, thread.programs, thread.token, op, path, identities.get(path), count, head
            )
