"""Full mode: I/O records to Parquet, million records per second of CPU and bytes per record at rest.

    python bench/seal/records.py [--records 4000000]

Two streams are measured: sequential ones with steady durations (as a copy
makes), and ones with random sizes, offsets and durations.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from provio.model.wire import BLOCK_MAGIC, BlockKind, Op, RecordType
from provio.pipeline.operations import write_records
from provio.tracers.layout import IO
from spoolmaker import ATTEMPTS, Bench
from spoolwriter import BLOCK, direction

BLOCK_BYTES = 128 << 10


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--records", type=int, default=4_000_000)
    given = options.parse_args()
    for kind in ("sequential", "random"):
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), kind, given.records)


def measure(folder: Path, kind: str, count: int) -> None:
    """Print one line for a stream."""
    bench = Bench(folder)
    writer = bench.writer(ATTEMPTS[0])
    writer.image()
    handles = np.array([writer.handle(f"/w/{n}", n + 1, read=direction(1, 1, 5, 6)) for n in range(50)])
    writer.close()
    rows = records(kind, count, handles)
    per_block = (BLOCK_BYTES - BLOCK.size) // IO.itemsize
    for start in range(0, count, per_block):
        part = rows[start : start + per_block].tobytes()
        length = BLOCK.size + -(-len(part) // 16) * 16
        head = BLOCK.pack(
            BLOCK_MAGIC, length, BLOCK.size + len(part), BlockKind.IO, 0, 1, 1, 0, 0, 0, 0, 0, 0
        )
        writer.data += head + part.ljust(length - BLOCK.size, b"\0")
    bench.add(writer)
    begin = time.process_time()
    found = bench.assemble()
    decoded = time.process_time() - begin
    write_records(folder / "records", found)
    seconds = time.process_time() - begin
    size = sum(p.stat().st_size for p in (folder / "records").iterdir())
    print(
        f"{kind:10}  {count} records  {count / seconds / 1e6:.2f} M/s of CPU  {size / count:.2f} B/record  "
        f"({decoded:.2f} s before the first record is written)"
    )


def records(kind: str, count: int, handles: np.ndarray) -> np.ndarray:
    """Return ``count`` I/O records."""
    chance = np.random.default_rng(1)
    rows = np.zeros(count, dtype=IO)
    index = np.arange(count)
    rows["type"], rows["op"], rows["tid"] = RecordType.IO, Op.READ, 7
    rows["handle"] = handles[index // 200 % len(handles)]  # runs of 200 calls on one file
    rows["result"], rows["offset"] = 4096, index % 200 * 4096
    rows["dur"] = 600 + chance.integers(0, 200, count)
    if kind == "random":
        rows["op"] = np.where(chance.random(count) < 0.3, Op.WRITE, Op.READ)
        rows["result"] = chance.integers(1, 8192, count)
        rows["offset"] = chance.integers(0, 1 << 30, count)
        rows["dur"] = chance.lognormal(7, 1, count)
    rows["t"] = 10**15 + np.cumsum(rows["dur"] + chance.integers(100, 400, count))
    return rows


if __name__ == "__main__":
    main()
