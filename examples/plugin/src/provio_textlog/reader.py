"""Read text logs, turn them into provio's wire format.

A text log is a line ``# textlog 1`` and then, with blanks between the fields
and paths percent-encoded, times in CLOCK_MONOTONIC ns::

    process PID BEGIN END PROGRAM DIRECTORY [NAME=VALUE ...]
    read    PID BEGIN END BYTES DEVICE INODE PATH
    write   PID BEGIN END BYTES DEVICE INODE PATH
    absent  PID TIME PATH

A process comes before what it does. The last line may be torn.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from provio.model.wire import Op
from provio.tracers.base import Availability, Origin, TracerReader
from provio.tracers.writer import Writer, direction

MAGIC = "# textlog 1"


@dataclass
class Process:
    pid: int
    begin: int
    end: int
    program: bytes
    directory: bytes
    environment: tuple[str, ...]
    uses: list[list[str]] = field(default_factory=list)


def parse(data: bytes) -> list[Process]:
    """Raise ValueError where the bytes are no text log."""
    text = data.decode("ascii", "strict") if data.isascii() else ""
    lines = text[: text.rfind("\n") + 1].splitlines()
    if not lines or lines[0] != MAGIC:
        raise ValueError(f"not a text log: it does not begin with {MAGIC!r}")
    processes: dict[int, Process] = {}
    for number, line in enumerate(lines[1:], 2):
        try:
            _take(line.split(), processes)
        except (ValueError, KeyError, IndexError) as error:
            raise ValueError(f"line {number}: {error!r}") from error
    return list(processes.values())


def _take(words: list[str], processes: dict[int, Process]) -> None:
    if not words:
        return
    pid = int(words[1])
    if words[0] == "process":
        begin, end = int(words[2]), int(words[3])
        program, directory = unquote_to_bytes(words[4]), unquote_to_bytes(words[5])
        processes[pid] = Process(pid, begin, end, program, directory, tuple(words[6:]))
    else:
        processes[pid].uses.append(words)


def to_wire(data: bytes, origin: Origin) -> bytes:
    processes = parse(data)
    writer = Writer(
        origin.attempt, run=origin.run, boot=origin.boot, host=origin.host.encode(),
        realtime=origin.realtime, monotonic=origin.monotonic,
    )  # fmt: skip
    for process in processes:
        environment = "\0".join(process.environment).encode()
        image = writer.image(
            process.pid, t=process.begin, argv=process.program, exe=process.program, cwd=process.directory,
            env=environment, start=0,
        )  # fmt: skip
        for use in process.uses:
            _use(writer, use)
        writer.end(image, t=process.end)
    return writer.bytes()


def _use(writer: Writer, words: list[str]) -> None:
    if words[0] == "absent":
        writer.op(Op.OPEN, unquote_to_bytes(words[3]), t=int(words[2]), err=errno.ENOENT)
        return
    begin, end, size, device, inode = map(int, words[2:7])
    moved = direction(1, size, begin, end)
    writer.handle(
        unquote_to_bytes(words[7]), inode, dev=device, t_open=begin, t_close=end,
        size_open=0 if words[0] == "write" else size, size_close=size,
        read=moved if words[0] == "read" else b"", write=moved if words[0] == "write" else b"",
    )  # fmt: skip


def availability() -> Availability:
    return Availability("textlog", available=True, reason="text logs are made elsewhere; here they are read")


READER = TracerReader("textlog", "textlog", to_wire, availability)
