"""The reader of I/O files: every record of a whole file, as much as possible of a damaged one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from provio.errors import EvidenceError
from provio.model.wire import HEADER_SIZE, Layout, Op, RecordType
from provio.tracers.records import read_records
from spoolwriter import Writer, direction

if TYPE_CHECKING:
    from pathlib import Path

ATTEMPT = "11" * 16


def sample(attempt: str = ATTEMPT, **options: object) -> Writer:
    writer = Writer(attempt, **options)  # type: ignore[arg-type]
    image = writer.image(argv=b"sort\0-r\0a")
    writer.handle("/w/a", 11, read=direction(2, 20, 2100, 2200))
    writer.handle("/w/b", 12, write=direction(3, 30, 2300, 2400))
    writer.op(Op.STAT, "/w/none", err=2)
    writer.end(image)
    return writer


def test_every_record_of_a_file_is_decoded_with_its_strings(tmp_path: Path) -> None:
    records = read_records([sample().write(tmp_path / "one.preload")])
    handles = records.rows[RecordType.HANDLE]
    paths = [records.strings[i] for i in records.texts(RecordType.HANDLE, "path")]
    assert paths == [b"/w/a", b"/w/b"]
    assert handles["read"]["bytes"].tolist() == [20, 0]
    assert handles["write"]["count"].tolist() == [0, 3]
    argv = records.texts(RecordType.IMAGE, "argv")
    assert records.strings[argv[0]] == b"sort\0-r\0a"
    assert records.rows[RecordType.OP]["err"].tolist() == [2]
    assert len(records.rows[RecordType.IMAGE_END]) == 1
    assert not records.damage


def test_references_of_many_files_stay_within_their_own_file(tmp_path: Path) -> None:
    for i in range(5):
        writer = Writer(f"{i:032x}")
        writer.image(exe=b"/bin/%d" % i)
        writer.handle(f"/w/{i}", 10 + i)
        writer.write(tmp_path / f"{i}.preload")
    records = read_records(sorted(tmp_path.iterdir()))
    paths = [records.strings[i] for i in records.texts(RecordType.HANDLE, "path")]
    assert paths == [b"/w/%d" % i for i in range(5)]
    images = records.refs(RecordType.HANDLE, "image")
    assert images.tolist() == records.addr[RecordType.IMAGE].tolist()


def test_a_large_file_is_mapped_and_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sample().write(tmp_path / "one.preload")
    small = read_records([path])
    monkeypatch.setattr("provio.tracers.spool_files.MAP_FROM", 1)
    mapped = read_records([path])
    for kind, rows in small.rows.items():
        assert np.array_equal(rows, mapped.rows[kind])
    assert small.strings == mapped.strings


def test_records_know_the_image_and_epoch_in_force_even_after_a_change_of_identity(tmp_path: Path) -> None:
    writer = Writer(ATTEMPT)
    image = writer.image()
    writer.op(Op.STAT, "/before", ino=1)
    epoch = writer.epoch(image, t=3000, attempt="22" * 16)
    writer.op(Op.STAT, "/after", ino=1)
    records = read_records([writer.write(tmp_path / "x.preload")])
    segments = records.segments
    at = np.searchsorted(segments.addr, records.addr[RecordType.OP], side="right") - 1
    assert segments.image[at].tolist() == [image, image]
    assert segments.epoch[at][1] == epoch
    assert segments.epoch[at][0] != epoch


def test_a_torn_record_is_stepped_over(tmp_path: Path) -> None:
    writer = Writer(ATTEMPT)
    writer.image()
    torn = writer.handle("/w/torn", 5)
    writer.handle("/w/whole", 6)
    writer.data[torn * 16] = 0  # the type is stored last
    records = read_records([writer.write(tmp_path / "x.preload")])
    assert records.rows[RecordType.HANDLE]["ino"].tolist() == [6]
    assert not records.damage


def test_a_torn_record_without_a_size_is_stepped_over_unit_by_unit(tmp_path: Path) -> None:
    writer = Writer(ATTEMPT)
    writer.image()
    writer.put(bytes(48))
    writer.handle("/w/whole", 6)
    records = read_records([writer.write(tmp_path / "x.preload")])
    assert records.rows[RecordType.HANDLE]["ino"].tolist() == [6]


def test_records_beyond_a_used_that_lags_are_found(tmp_path: Path) -> None:
    writer = Writer(ATTEMPT)
    writer.image()
    writer.handle("/w/a", 5)
    writer.close(length=4096, used=64)
    records = read_records([writer.write(tmp_path / "x.preload")])
    assert records.rows[RecordType.HANDLE]["ino"].tolist() == [5]
    assert not records.damage


def test_damage_inside_a_block_costs_the_rest_of_that_block_only(tmp_path: Path) -> None:
    writer = Writer(ATTEMPT)
    writer.image()
    writer.handle("/w/a", 5)
    bad = writer.handle("/w/b", 6)
    writer.handle("/w/c", 7)
    writer.block(image=writer._last_image, epoch=writer._last_epoch)
    writer.handle("/w/d", 8)
    writer.data[bad * 16 : bad * 16 + 4] = b"\xee\xee\xff\xff"
    path = writer.write(tmp_path / "x.preload")
    before = path.read_bytes()
    records = read_records([path])
    assert records.rows[RecordType.HANDLE]["ino"].tolist() == [5, 8]
    (damage,) = records.damage
    assert damage.position == bad * 16
    assert damage.length > 0
    assert path.read_bytes() == before


def test_a_destroyed_block_header_is_passed_over_to_the_next(tmp_path: Path) -> None:
    writer = Writer(ATTEMPT)
    writer.image()
    writer.block(image=writer._last_image)
    at = writer._block
    writer.handle("/w/lost", 5)
    writer.block(image=writer._last_image)
    writer.handle("/w/kept", 6)
    writer.close()
    writer.data[at : at + 16] = b"garbagegarbage!!"
    records = read_records([writer.write(tmp_path / "x.preload")])
    assert records.rows[RecordType.HANDLE]["ino"].tolist() == [6]
    assert [d.reason for d in records.damage] == ["no block header"]


def test_a_block_taken_but_never_begun_is_no_damage(tmp_path: Path) -> None:
    writer = sample()
    writer.close()
    writer.data += bytes(4096)
    writer.block(image=writer._last_image)
    writer.handle("/w/later", 9)
    records = read_records([writer.write(tmp_path / "x.preload")])
    assert 9 in records.rows[RecordType.HANDLE]["ino"]
    assert not records.damage


@pytest.mark.parametrize("cut", [HEADER_SIZE, HEADER_SIZE + 10, -1, -100, -330])
def test_a_file_cut_anywhere_gives_what_came_before(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "x.preload"
    path.write_bytes(sample().bytes()[:cut])
    records = read_records([path])
    assert len(records.rows[RecordType.HANDLE]) <= 2


def test_any_single_damaged_byte_never_stops_the_reader(tmp_path: Path) -> None:
    whole = sample().bytes()
    path = tmp_path / "x.preload"
    for position in range(HEADER_SIZE, len(whole), 7):
        data = bytearray(whole)
        data[position] ^= 0xFF
        path.write_bytes(data)
        read_records([path])
    assert path.exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x7fELF" + bytes(5000), "not an I/O file"),
        (b"PROVIO\n" + bytes(5000), "not an I/O file"),
        (b"PROVIO\r\n" + bytes(100), "cut after"),
        (bytes(4096) + b"x" * 100, "header is missing"),
    ],
)
def test_a_foreign_or_cut_file_is_reported_and_the_others_are_read(
    tmp_path: Path, content: bytes, words: str
) -> None:
    (tmp_path / "bad.preload").write_bytes(content)
    good = sample().write(tmp_path / "good.preload")
    records = read_records([tmp_path / "bad.preload", good])
    assert len(records.rows[RecordType.HANDLE]) == 2
    (damage,) = records.damage
    assert words in damage.reason


def test_a_newer_major_version_is_refused_with_a_remedy(tmp_path: Path) -> None:
    path = sample(major=2).write(tmp_path / "new.preload")
    with pytest.raises(EvidenceError, match=r"version 2\.0") as caught:
        read_records([path])
    assert "version of provio" in caught.value.hint


def test_unknown_record_types_of_a_newer_minor_version_are_skipped(tmp_path: Path) -> None:
    writer = Writer(ATTEMPT, minor=1)
    writer.image()
    writer.put(b"\x20\x00\x02\x00" + bytes(28))
    writer.handle("/w/a", 5)
    records = read_records([writer.write(tmp_path / "x.preload")])
    assert records.rows[RecordType.HANDLE]["ino"].tolist() == [5]
    assert not records.damage


def test_an_arena_that_nobody_wrote_to_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.preload").write_bytes(b"")
    with (tmp_path / "hole.preload").open("wb") as file:
        file.truncate(1 << 24)
    records = read_records(sorted(tmp_path.iterdir()))
    assert not records.files
    assert not records.damage


@pytest.mark.parametrize("layout", list(Layout))
def test_io_blocks_give_arrays_without_torn_records(tmp_path: Path, layout: Layout) -> None:
    writer = Writer(ATTEMPT, layout=layout)
    writer.image()
    handle = writer.handle("/w/a", 5)
    for i in range(10):
        writer.io(handle, Op.READ, i * 4096, 4096, t=1000 + i)
    writer.data[-48] = 0
    records = read_records([writer.write(tmp_path / "x.preload")])
    (block,) = list(records.io_blocks())
    assert block.rows["offset"].tolist() == [i * 4096 for i in range(9)]
    assert (block.rows["handle"].astype(np.int64) + block.base).tolist() == [
        records.addr[RecordType.HANDLE][0]
    ] * 9
