"""Full mode: every read and write in records/*.parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from provio.model.wire import Op
from provio.pipeline.operations import write_records
from spoolmaker import ATTEMPTS, Bench
from spoolwriter import direction

if TYPE_CHECKING:
    from pathlib import Path


def test_every_record_knows_its_image_epoch_and_file(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for name in ("a", "b"):
        writer = bench.writer(ATTEMPTS[0])
        writer.image(pid=ord(name))
        one = writer.handle(f"/w/{name}1", ord(name) + 1, read=direction(3, 30, 10, 40))
        two = writer.handle(f"/w/{name}2", ord(name) + 100, write=direction(3, 30, 10, 40))
        for n in range(3):
            writer.io(one, Op.READ, n * 10, 10, t=100 + n)
            writer.io(two, Op.WRITE, n * 10, 10, t=200 + n)
        bench.add(writer, f"{name}.preload")
    found = bench.assemble()
    assert write_records(tmp_path / "records", found) == 12
    rows = pq.read_table(tmp_path / "records").to_pylist()
    names = {f.file: f.paths[0] for f in found.evidence.files}
    assert [names[row["file"]] for row in rows if row["op"] == Op.WRITE] == [b"/w/a2"] * 3 + [b"/w/b2"] * 3
    assert [row["image"] for row in rows] == [0] * 6 + [1] * 6
    assert [row["epoch"] for row in rows] == [0] * 6 + [1] * 6
    assert [row["offset"] for row in rows if row["op"] == Op.READ] == [0, 10, 20] * 2
    assert [row["t_mono"] for row in rows][:3] == [100, 200, 101]


def test_a_record_of_an_unknown_handle_is_kept_without_a_file(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    writer = bench.writer(ATTEMPTS[0])
    writer.image()
    handle = writer.handle("/w/a", 5)
    writer.io(handle, Op.READ, 0, 1, t=1)
    writer.io(handle + 1, Op.READ, 0, 1, t=2)
    writer.io(10**6, Op.READ, 0, 1, t=3)
    bench.add(writer)
    write_records(tmp_path / "records", bench.assemble())
    rows = pq.read_table(tmp_path / "records").to_pylist()
    assert [row["file"] for row in rows] == [0, -1, -1]
