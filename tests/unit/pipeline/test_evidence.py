"""From a spool to evidence: images, epochs, touches, channels, gaps."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from provio.model.events import GapSeen
from provio.model.gaps import GapKind
from provio.model.ids import ENGINE
from provio.model.wire import Drop, End, GapCode, HandleFlags, Kind, Op, Origin
from spoolmaker import ATTEMPTS, Bench, stamp
from spoolwriter import Writer, direction

if TYPE_CHECKING:
    from pathlib import Path

    from provio.model.evidence import Touch
    from provio.pipeline.assemble import Assembled

A, B = ATTEMPTS[:2]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def touches(found: Assembled) -> list[tuple[str, bytes]]:
    return [(t.op, t.path) for t in found.evidence.touches]


def one(found: Assembled, op: str) -> Touch:
    (touch,) = [t for t in found.evidence.touches if t.op == op]
    return touch


def test_an_image_finds_its_parent_in_another_file(bench: Bench) -> None:
    parent = bench.writer(A)
    ref = parent.image(pid=10, argv=b"snakemake")
    bench.add(parent, "parent.preload")
    child = bench.writer(B)
    child.image(pid=11, parent=ref, parent_file="parent.preload", origin=Origin.FORK)
    bench.add(child, "child.preload")
    by_pid = {i.pid: i for i in bench.assemble().evidence.images}
    assert by_pid[11].parent == by_pid[10].image
    assert by_pid[11].argv == (b"snakemake",)  # a fork keeps its parent's


def test_totals_of_a_process_are_divided_among_its_images(bench: Bench) -> None:
    writer = bench.writer(A)
    shell = writer.image(pid=10, t=100, rchar=50)
    writer.end(shell, t=200, why=End.EXEC, rchar=80, utime=7)
    tool = writer.image(pid=10, t=210, parent=shell, execs=1, rchar=80)
    writer.end(tool, t=900, rchar=180, wchar=5, utime=30)
    bench.add(writer)
    first, second = bench.assemble().evidence.images
    assert (first.rchar, first.cpu_user_ns, first.ended, first.until) == (30, 7, "exec", 200)
    assert (second.rchar, second.wchar, second.cpu_user_ns, second.ended) == (100, 5, 23, "exit")


def test_an_image_without_an_end_ends_where_its_process_executed_another(bench: Bench) -> None:
    writer = bench.writer(A)
    shell = writer.image(pid=10, t=100)
    writer.image(pid=10, t=500, parent=shell, execs=1)
    bench.add(writer)
    first, second = bench.assemble().evidence.images
    assert (first.until, first.ended, first.rchar) == (500, "exec", -1)
    assert second.until == 0


def test_a_failed_exec_does_not_end_an_image(bench: Bench) -> None:
    writer = bench.writer(A)
    image = writer.image(pid=10)
    writer.end(image, t=300, why=End.FAILED_EXEC)
    writer.end(image, t=900, why=End.EXIT)
    bench.add(writer)
    assert bench.assemble().evidence.images[0].until == 900


def test_a_token_with_a_run_but_no_attempt_means_the_engine(bench: Bench) -> None:
    writer = bench.writer()
    writer.image(attempt="0" * 31 + "1")
    bench.add(writer)
    assert bench.assemble().evidence.images[0].carried == "0" * 31 + "1"
    from provio.pipeline.images import build_images
    from provio.tracers.records import read_records

    plain = bench.writer()
    plain.image()
    path = bench.add(plain, "plain.preload")
    assert build_images(read_records([path]), ()).images[0].carried == ""
    assert ENGINE == "0" * 32


def test_a_live_identity_splits_the_image_into_epochs(bench: Bench) -> None:
    writer = bench.writer()
    image = writer.image(t=100)
    writer.handle("/w/before", 1, read=direction(1, 10, 150, 160))
    live = writer.epoch(image, t=200, attempt=A)
    writer.handle("/w/during", 2, read=direction(1, 10, 250, 260), epoch=live)
    writer.op(Op.STAT, "/w/x", err=2, t=270)
    writer.end(image, t=900)
    bench.add(writer)
    evidence = bench.assemble().evidence
    carried, lived = evidence.epochs
    assert (carried.live, carried.since, carried.until) == ("", 100, 200)
    assert (lived.live, lived.since, lived.until) == (A, 200, 900)
    assert {t.path: t.epoch for t in evidence.touches} == {b"/w/before": 0, b"/w/during": 1, b"/w/x": 1}
    assert (carried.operations, lived.operations) == (1, 2)


def test_records_whose_image_was_lost_are_kept_under_a_made_up_one(bench: Bench) -> None:
    writer = bench.writer(A)
    image = writer.image(pid=42)
    writer.handle("/w/a", 1, read=direction(1, 10, 150, 160))
    writer.data[image * 16] = 0  # torn
    bench.add(writer)
    found = bench.assemble()
    assert [i.pid for i in found.evidence.images] == [42]
    assert found.evidence.images[0].carried == A
    assert touches(found) == [("read", b"/w/a")]
    assert GapKind.CORRUPT_EVIDENCE in {g.kind for g in found.evidence.gaps}


def test_a_handle_gives_a_read_a_write_or_how_it_was_opened(bench: Bench) -> None:
    writer = bench.writer(A)
    writer.image()
    writer.handle("/w/both", 1, read=direction(2, 10, 1, 2), write=direction(3, 20, 3, 4))
    writer.handle("/w/made", 2, flags=HandleFlags.CREATED)
    writer.handle("/w/emptied", 3, flags=HandleFlags.TRUNCATED)
    writer.handle("/w/opened", 4)
    writer.handle("/w/carried", 5, flags=HandleFlags.INHERITED)
    bench.add(writer)
    assert sorted(touches(bench.assemble())) == [
        ("create", b"/w/made"),
        ("open", b"/w/opened"),
        ("read", b"/w/both"),
        ("truncate", b"/w/emptied"),
        ("write", b"/w/both"),
    ]


def test_sizes_at_close_are_unknown_where_the_handle_was_never_closed(bench: Bench) -> None:
    writer = bench.writer(A)
    writer.image()
    writer.handle("/w/a", 1, write=direction(1, 10, 1, 2), flags=0, size_open=0, size_close=77)
    bench.add(writer)
    touch = one(bench.assemble(), "write")
    assert (touch.size_open, touch.size_close, touch.mtime_close, touch.closed) == (0, -1, -1, 0)


def test_an_operation_through_a_handle_is_about_the_handles_file(bench: Bench) -> None:
    writer = bench.writer(A)
    writer.image()
    handle = writer.handle("/w/a", 5, write=direction(1, 10, 1, 2))
    writer.op(Op.TRUNCATE, handle=handle, size=3, t=50)
    bench.add(writer)
    found = bench.assemble()
    touch = one(found, "truncate")
    assert (touch.path, touch.size_close) == (b"/w/a", 3)
    assert touch.file == one(found, "write").file


@pytest.mark.parametrize(
    ("prot", "flags", "expected"),
    [
        (1, 2, {"mapped-read"}),
        (3, 2, {"mapped-read"}),
        (3, 1, {"mapped-read", "mapped-write"}),
        (2, 1, {"mapped-write"}),
    ],
)
def test_a_mapping_reads_and_if_shared_and_writable_writes(
    bench: Bench, prot: int, flags: int, expected: set[str]
) -> None:
    writer = bench.writer(A)
    image = writer.image()
    handle = writer.handle("/w/a", 5, t_close=60)
    writer.op(Op.MMAP, handle=handle, arg=prot | flags << 16, size=4096, t=50)
    writer.end(image, t=900)
    bench.add(writer)
    found = bench.assemble()
    assert {op for op, _ in touches(found)} - {"open"} == expected
    assert {t.last for t in found.evidence.touches if t.op != "open"} == {900}


def test_loaded_objects_are_mapped_reads_of_libraries_unless_the_run_made_them(bench: Bench) -> None:
    writer = bench.writer(A)
    writer.image(objects=b"linux-vdso.so.1\0/usr/lib/libz.so.1\0/usr/lib/libmine.so\0")
    writer.handle("/usr/lib/libmine.so", 9, write=direction(1, 10, 1, 2), flags=HandleFlags.CREATED)
    bench.add(writer)
    found = bench.assemble()
    categories = {f.paths[0]: f.category for f in found.evidence.files}
    assert categories == {b"/usr/lib/libz.so.1": "library", b"/usr/lib/libmine.so": "data"}
    assert one(found, "mapped-read").path == b"/usr/lib/libmine.so"
    assert len(found.frame) == 3


def test_touches_of_data_come_first_and_count_from_zero(bench: Bench) -> None:
    writer = bench.writer(A)
    writer.image()
    for n in range(4):
        writer.op(Op.STAT, f"/proc/{n}", ino=n + 100, t=10 + n)
        writer.handle(f"/w/{n}", n + 1, read=direction(1, 1, 20 - n, 21))
    bench.add(writer)
    found = bench.assemble()
    assert [t.touch for t in found.evidence.touches] == [0, 1, 2, 3]
    assert [t.first for t in found.evidence.touches] == [17, 18, 19, 20]
    assert found.frame.file[:4].tolist() == [t.file for t in found.evidence.touches]
    assert len(found.frame) == 8


def test_pipes_join_writer_and_reader_and_leave_no_touch(bench: Bench) -> None:
    writer = bench.writer(A)
    one_image = writer.image(pid=1)
    writer.handle("", 777, kind=Kind.PIPE, write=direction(2, 20, 10, 20))
    writer.image(pid=2)
    writer.handle("", 777, kind=Kind.PIPE, read=direction(2, 20, 15, 25))
    writer.handle("", 778, kind=Kind.PIPE, read=direction(1, 5, 15, 25))
    bench.add(writer)
    found = bench.assemble()
    uses = found.evidence.channels
    assert [(u.channel, u.writes, u.bytes) for u in uses] == [(0, True, 20), (0, False, 20), (1, False, 5)]
    assert {u.kind for u in uses} == {"pipe"}
    assert [i.channel_bytes for i in found.evidence.images] == [20, 25]
    assert not found.evidence.touches
    assert one_image


def test_a_socket_pair_is_one_channel_per_direction(bench: Bench) -> None:
    writer = bench.writer(A)
    writer.image(pid=1)
    writer.op(Op.SOCKETPAIR, ino=50, ino2=51)
    writer.handle("", 50, kind=Kind.SOCKET, read=direction(1, 3, 10, 20), write=direction(1, 7, 10, 20))
    writer.image(pid=2)
    writer.handle("", 51, kind=Kind.SOCKET, read=direction(1, 7, 10, 20), write=direction(1, 3, 10, 20))
    bench.add(writer)
    by_channel: dict[int, set[tuple[int, bool]]] = {}
    for use in bench.assemble().evidence.channels:
        by_channel.setdefault(use.channel, set()).add((use.bytes, use.writes))
    assert sorted(by_channel.values(), key=str) == sorted(
        [{(3, True), (3, False)}, {(7, True), (7, False)}], key=str
    )


def test_a_socket_without_a_known_peer_connects_nobody(bench: Bench) -> None:
    writer = bench.writer(A)
    for pid in (1, 2):
        writer.image(pid=pid, origin=Origin.FORK)
        writer.handle("", 50, kind=Kind.SOCKET, read=direction(1, 3, 10, 20), write=direction(1, 7, 10, 20))
    bench.add(writer)
    uses = bench.assemble().evidence.channels
    writes = {u.channel for u in uses if u.writes}
    assert not writes & {u.channel for u in uses if not u.writes}


def test_gaps_of_the_tracer_name_image_program_and_count(bench: Bench) -> None:
    writer = bench.writer(A)
    image = writer.image()
    for t in (100, 200):
        writer.gap(GapCode.STATIC_BINARY, path=b"/w/go-tool", t=t)
    writer.end(image)
    bench.add(writer)
    (gap,) = bench.assemble().evidence.gaps
    assert (gap.kind, gap.scope, gap.count, gap.since, gap.until) == (
        GapKind.STATIC_BINARY,
        "image:0",
        2,
        100,
        200,
    )
    assert "/w/go-tool" in gap.detail


def test_dropped_records_of_a_file_are_a_gap_of_its_attempt(bench: Bench) -> None:
    writer = bench.writer(A, dropped=12, reasons=1 << Drop.NO_SPACE)
    image = writer.image()
    writer.end(image)
    bench.add(writer)
    (gap,) = bench.assemble().evidence.gaps
    assert (gap.kind, gap.scope, gap.count) == (GapKind.RECORDS_LOST, f"attempt:{A}", 12)
    assert "full or over quota" in gap.detail


def test_a_note_whose_arena_never_arrived_is_a_gap(bench: Bench) -> None:
    (bench.path / "io" / "x.where").write_text(f'{{"host": "node7", "path": "/scratch/x", "attempt": "{A}"}}')
    arrived = bench.writer(B)
    arrived.end(arrived.image())
    bench.add(arrived, "y.preload")
    (bench.path / "io" / "y.where").write_text("host=node8\npath=/scratch/y\n")
    (gap,) = bench.assemble().evidence.gaps
    assert (gap.kind, gap.scope) == (GapKind.NODE_EVIDENCE_MISSING, f"attempt:{A}")
    assert "node7" in gap.detail


def test_a_living_process_is_still_running_and_a_dead_one_was_killed(bench: Bench) -> None:
    from provio.engines.host import start_ticks

    writer = bench.writer(A)
    writer.image(pid=os.getpid(), start=start_ticks(os.getpid()), argv=b"pytest")
    writer.image(pid=2**22 - 1, start=5, argv=b"gone")
    bench.add(writer)
    bench.over()
    gaps = {g.kind: g for g in bench.assemble().evidence.gaps}
    assert "pytest" in gaps[GapKind.STILL_RUNNING].detail
    assert "gone" in gaps[GapKind.KILLED].detail


def test_damage_is_a_gap_with_file_and_bytes_and_the_rest_is_used(bench: Bench) -> None:
    writer = bench.writer(A)
    image = writer.image()
    writer.end(image)
    at = writer.handle("/w/a", 1)
    writer.data[at * 16 : at * 16 + 2] = b"\xff\xff"
    bench.add(writer, "torn.preload")
    (gap,) = bench.assemble().evidence.gaps
    assert gap.kind == GapKind.CORRUPT_EVIDENCE
    assert "io/torn.preload: " in gap.detail


def test_the_order_of_files_on_disk_does_not_change_the_evidence(bench: Bench, tmp_path: Path) -> None:
    def fill(where: Bench, names: list[str]) -> Assembled:
        for name in names:
            writer: Writer = where.writer(A)
            writer.end(writer.image(pid=int(name)))
            writer.handle(f"/w/{name}", int(name), read=direction(1, 1, 5, 6))
            where.add(writer, f"{name}.preload")
        return where.assemble()

    first = fill(bench, ["1", "2", "3"])
    second = fill(Bench(tmp_path / "other"), ["3", "1", "2"])
    assert first.evidence.touches == second.evidence.touches
    assert first.evidence.images == second.evidence.images
    assert first.evidence.files == second.evidence.files


@pytest.mark.parametrize(
    ("tracers", "kind"), [((), GapKind.NO_TRACER), (("preload",), GapKind.NODE_EVIDENCE_MISSING)]
)
def test_a_run_without_any_record_says_so(tmp_path: Path, tracers: tuple[str, ...], kind: GapKind) -> None:
    (gap,) = Bench(tmp_path, tracers=tracers).assemble().evidence.gaps
    assert (gap.kind, gap.scope) == (kind, "run")
    bench = Bench(tmp_path, run="cd" * 16, tracers=())
    bench.say(GapSeen(stamp(1), "no-tracer", "run"))
    assert bench.assemble().evidence.gaps == []
