"""Which file a touch concerns: inodes, names in time, reuse, look-ups by path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from provio.model.events import HostSeen
from provio.model.wire import HandleFlags, Op, OpFlags
from spoolmaker import ATTEMPTS, Bench, stamp
from spoolwriter import direction

if TYPE_CHECKING:
    from pathlib import Path

    from spoolwriter import Writer

A = ATTEMPTS[0]
MADE = HandleFlags.CREATED | HandleFlags.CLOSED


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def writer(bench: Bench) -> Writer:
    made = bench.writer(A)
    made.image()
    return made


def wrote(writer: Writer, path: str, ino: int, t: int, flags: int = MADE) -> int:
    return writer.handle(path, ino, write=direction(1, 1, t + 1, t + 2), t_open=t, t_close=t + 3, flags=flags)


def paths(bench: Bench, writer: Writer) -> list[tuple[bytes, ...]]:
    bench.add(writer)
    return sorted(f.paths for f in bench.assemble().evidence.files)


def test_two_names_of_one_inode_are_one_file(bench: Bench, writer: Writer) -> None:
    wrote(writer, "/w/a", 5, 10)
    writer.op(Op.LINK, "/w/a", "/w/b", ino=5, t=20)
    writer.handle("/w/b", 5, read=direction(1, 1, 30, 31), t_open=29)
    assert paths(bench, writer) == [(b"/w/a", b"/w/b")]


def test_a_rename_gives_the_new_name_and_the_replaced_file(bench: Bench, writer: Writer) -> None:
    wrote(writer, "/w/out", 4, 5)
    wrote(writer, "/w/tmp", 5, 10)
    writer.op(Op.RENAME, "/w/tmp", "/w/out", ino=5, ino2=4, t=20)
    bench.add(writer)
    found = bench.assemble()
    by_path = {f.paths: f.file for f in found.evidence.files}
    (rename,) = [t for t in found.evidence.touches if t.op == "rename"]
    assert rename.file == by_path[b"/w/tmp", b"/w/out"]
    assert rename.other == by_path[b"/w/out",]
    assert found.files.canonical[rename.file] == b"/w/out"


def test_a_link_that_was_removed_leaves_the_other_name(bench: Bench, writer: Writer) -> None:
    wrote(writer, "/w/a", 5, 10)
    writer.op(Op.LINK, "/w/a", "/w/b", ino=5, t=20)
    writer.op(Op.UNLINK, "/w/b", ino=5, t=30)
    bench.add(writer)
    found = bench.assemble()
    assert found.files.canonical == [b"/w/a"]


def test_an_inode_that_was_freed_and_given_to_another_file_is_two_files(bench: Bench, writer: Writer) -> None:
    wrote(writer, "/w/temp1", 5, 10)
    writer.op(Op.UNLINK, "/w/temp1", ino=5, t=20)
    wrote(writer, "/w/temp2", 5, 30)
    assert paths(bench, writer) == [(b"/w/temp1",), (b"/w/temp2",)]


def test_a_reused_inode_is_told_even_where_nobody_saw_the_removal(bench: Bench, writer: Writer) -> None:
    wrote(writer, "/w/temp1", 5, 10)
    wrote(writer, "/w/temp2", 5, 30)
    assert paths(bench, writer) == [(b"/w/temp1",), (b"/w/temp2",)]


def test_write_aside_and_rename_again_and_again_keeps_the_files_apart(bench: Bench, writer: Writer) -> None:
    for n, ino in enumerate((5, 6, 5, 6)):
        wrote(writer, "/w/tmp", ino, 100 * n)
        writer.op(Op.RENAME, "/w/tmp", "/w/out", ino=ino, ino2=(5 + (n + 1) % 2) if n else 0, t=100 * n + 50)
    bench.add(writer)
    found = bench.assemble()
    assert len(found.evidence.files) == 4
    renames = [t for t in found.evidence.touches if t.op == "rename"]
    assert [r.other for r in renames] == [-1, *(r.file for r in renames[:-1])]


def test_rewriting_a_file_in_place_stays_one_file(bench: Bench, writer: Writer) -> None:
    wrote(writer, "/w/a", 5, 10)
    wrote(writer, "/w/a", 5, 30, flags=HandleFlags.TRUNCATED | HandleFlags.CLOSED)
    assert paths(bench, writer) == [(b"/w/a",)]


def test_what_was_looked_for_and_absent_is_a_file_of_its_own(bench: Bench, writer: Writer) -> None:
    writer.op(Op.STAT, "/w/a", err=2, t=5)
    writer.op(Op.OPEN, "/w/a", err=2, t=6)
    wrote(writer, "/w/a", 5, 10)
    bench.add(writer)
    found = bench.assemble()
    assert sorted(f.kind for f in found.evidence.files) == ["absent", "file"]
    assert sorted(t.op for t in found.evidence.touches) == ["open", "stat", "write"]


def test_an_operation_without_identity_is_joined_by_the_name_at_that_time(
    bench: Bench, writer: Writer
) -> None:
    wrote(writer, "/w/a", 5, 10)
    writer.op(Op.RENAME, "/w/a", "/w/b", ino=5, t=20)
    wrote(writer, "/w/a", 6, 30)
    writer.op(Op.CHMOD, "/w/a", t=15)
    writer.op(Op.CHOWN, "/w/a", t=40)
    bench.add(writer)
    found = bench.assemble()
    inode = {f.file: f.ino for f in found.evidence.files}
    by_op = {t.op: inode[t.file] for t in found.evidence.touches}
    assert (by_op["chmod"], by_op["chown"]) == (5, 6)


def test_a_symbolic_link_is_named_by_where_it_is_not_what_it_says(bench: Bench, writer: Writer) -> None:
    writer.op(Op.SYMLINK, "target", "/w/link", t=10)
    bench.add(writer)
    found = bench.assemble()
    (touch,) = found.evidence.touches
    assert (touch.path, touch.path2) == (b"/w/link", b"target")
    assert found.evidence.files[0].paths == (b"/w/link",)


def test_a_copy_in_the_kernel_names_its_target(bench: Bench, writer: Writer) -> None:
    source = writer.handle("/w/a", 5, read=direction(1, 10, 20, 30))
    target = writer.handle("/w/b", 6, write=direction(1, 10, 20, 30))
    writer.op(Op.COPY_RANGE, handle=source, arg=target, size=10, t=30)
    bench.add(writer)
    found = bench.assemble()
    (copy,) = [t for t in found.evidence.touches if t.op == "copy_range"]
    names = {f.file: f.paths[0] for f in found.evidence.files}
    assert (names[copy.file], names[copy.other]) == (b"/w/a", b"/w/b")
    assert copy.bytes == 0  # both handles count them
    assert sum(e.operations for e in found.evidence.epochs) == 2


def test_directories_are_told_from_files(bench: Bench, writer: Writer) -> None:
    writer.op(Op.MKDIR, "/w/dir", ino=7, flags=OpFlags.IDENTITY | OpFlags.DIRECTORY, t=5)
    bench.add(writer)
    assert bench.assemble().evidence.files[0].kind == "directory"


def test_one_inode_number_on_two_hosts_is_two_files_unless_they_share_the_file_system(
    bench: Bench, writer: Writer
) -> None:
    other = bench.writer(A, boot="cc" * 16, host=b"node2")
    other.image()
    for each, dev in ((writer, 1), (other, 1)):
        each.handle("/tmp/x", 5, read=direction(1, 1, 10, 11), dev=dev)
    for each, dev in ((writer, 2), (other, 3)):
        each.handle("/net/x", 9, read=direction(1, 1, 10, 11), dev=dev)
    bench.say(HostSeen(stamp(1), "m1", (("0:2", "nfs:server:/net", "/net", "nfs4", "server:/net"),)))
    bench.say(
        HostSeen(
            stamp(2).__class__(2, 2, "cc" * 16, "node2", 1, 1), "m2",
            (("0:3", "nfs:server:/net", "/net", "nfs4", "server:/net"),),
        )
    )  # fmt: skip
    bench.add(other, "b.preload")
    bench.add(writer, "a.preload")
    found = bench.assemble()
    assert sorted(f.paths for f in found.evidence.files) == [(b"/net/x",), (b"/tmp/x",), (b"/tmp/x",)]


def test_a_search_along_path_is_of_the_program_and_no_missing_data(bench: Bench, writer: Writer) -> None:
    for directory in ("/home/me/bin", "/opt/shims"):
        writer.op(Op.STAT, f"{directory}/sort", err=2, t=5)
    writer.op(Op.STAT, "/usr/bin/sort", ino=9, t=6)
    writer.op(Op.EXEC, "/usr/bin/sort", ino=9, t=7)
    writer.op(Op.STAT, "/w/missing.cfg", err=2, t=8)
    bench.add(writer)
    categories = {f.paths[0]: f.category for f in bench.assemble().evidence.files}
    assert categories == {
        b"/home/me/bin/sort": "program", b"/opt/shims/sort": "program", b"/usr/bin/sort": "program",
        b"/w/missing.cfg": "data",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("path", "category"),
    [
        (b"/proc/self/maps", "kernel"),
        (b"/sys/fs/cgroup/x/cgroup.procs", "kernel"),
        (b"/dev/null", "device"),
        (b"/dev/shm/work", "data"),
        (b"/etc/ld.so.cache", "loader"),
        (b"/usr/lib/x86_64-linux-gnu/libc.so.6", "library"),
        (b"/usr/share/zoneinfo/UTC", "timezone"),
        (b"/usr/lib/locale/C.utf8/LC_CTYPE", "locale"),
        (b"/usr/bin/sort", "program"),
        (b"/w/__pycache__/m.cpython-311.pyc", "interpreter"),
        (b"/opt/conda/lib/python3.11/json/__init__.py", "interpreter"),
        (b"/w/.provio/spool/x", "provio"),
        (b"/w/script.py", "data"),
        (b"/w/libmine.so", "data"),
        (b"/w/new\nline\xff", "data"),
        (b"/procession", "data"),
        (b"/etc/passwd", "data"),
    ],
)
def test_categories(path: bytes, category: str) -> None:
    from provio.pipeline.categories import Categories

    assert Categories([b"/w/.provio"], [b"/opt/conda/bin/python3.11"]).of(path) == category
