"""Run real programs under the preload library without the rest of provio, and read what it recorded."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provio.model.wire import HandleFlags, Op, RecordType
from provio.tracers.preload import LIBRARY, NATIVE
from provio.tracers.records import Records, read_records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RUN, ATTEMPT = "11" * 16, "22" * 16
TRACED = Path(os.environ.get("PROVIO_TEST_LIBRARY", NATIVE / LIBRARY))


@dataclass(frozen=True, slots=True)
class Handle:
    """One HANDLE record, strings resolved."""

    row: Any
    path: str
    given: str
    kind: int

    @property
    def flags(self) -> HandleFlags:
        return HandleFlags(int(self.row["flags"]))

    @property
    def read(self) -> int:
        return int(self.row["read"]["bytes"])

    @property
    def written(self) -> int:
        return int(self.row["write"]["bytes"])


@dataclass(frozen=True, slots=True)
class Operation:
    """One OP record, strings resolved."""

    row: Any
    op: Op
    path: str
    path2: str

    @property
    def err(self) -> int:
        return int(self.row["err"])


@dataclass(frozen=True, slots=True)
class Trace:
    """What one traced command recorded, and how it went."""

    done: subprocess.CompletedProcess[bytes]
    records: Records
    folder: Path

    def _text(self, number: int) -> str:
        return os.fsdecode(self.records.strings[number])

    def handles(self, name: str = "") -> list[Handle]:
        """Return the handles of files in the case's folder, or of all with ``name`` "*"."""
        rows = self.records.rows[RecordType.HANDLE]
        paths = self.records.texts(RecordType.HANDLE, "path")
        given = self.records.texts(RecordType.HANDLE, "given")
        all_of = [
            Handle(row, self._text(p), self._text(g), int(row["op"]))
            for row, p, g in zip(rows, paths, given, strict=True)
        ]
        return [h for h in all_of if name == "*" or h.path == str(self.folder / name)]

    def operations(self, op: Op | None = None) -> list[Operation]:
        """Return the operations of one kind."""
        rows = self.records.rows[RecordType.OP]
        first, second = (self.records.texts(RecordType.OP, c) for c in ("path", "path2"))
        found = [
            Operation(row, Op(int(row["op"])), self._text(a), self._text(b))
            for row, a, b in zip(rows, first, second, strict=True)
        ]
        return [o for o in found if op is None or o.op == op]

    def bytes_of(self, name: str) -> tuple[int, int]:
        """Return bytes read and written of a file in the folder, by all who recorded."""
        handles = self.handles(name)
        return sum(h.read for h in handles), sum(h.written for h in handles)

    def gaps(self) -> list[int]:
        """Return the kinds of gap records."""
        return [int(row["op"]) for row in self.records.rows[RecordType.GAP]]


def tracing(spool: Path, mode: str = "aggregate", **extra: str) -> dict[str, str]:
    """Return an environment in which programs are traced into a spool."""
    (spool / "io").mkdir(parents=True, exist_ok=True)
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("PROVIO_", "LD_"))}
    ours = {
        "LD_PRELOAD": str(TRACED),
        "PROVIO_TASK": f"{RUN}/{ATTEMPT}",
        "PROVIO_SPOOL": str(spool),
        "PROVIO_TRACE": mode,
    }
    return plain | ours | extra


def trace(
    command: Sequence[str],
    folder: Path,
    spool: Path,
    mode: str = "aggregate",
    extra: Mapping[str, str] | None = None,
) -> Trace:
    """Run a command in a folder under the tracer and decode what it left."""
    environment = tracing(spool, mode, **dict(extra or {}))
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False, timeout=60)
    return Trace(done, read_records(sorted((spool / "io").glob("*.preload"))), folder)


def plain(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Run the same command untraced."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PROVIO_", "LD_"))}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False, timeout=60)


def compiled(source: Path, folder: Path, *flags: str) -> Path:
    """Compile a C program into a folder."""
    target = folder / source.stem
    subprocess.run(["cc", "-O1", "-w", "-pthread", *flags, str(source), "-o", str(target)], check=True)
    return target
