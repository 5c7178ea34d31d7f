"""Operations on names, attributes and listings: one program does each of them once."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from provio.model.wire import Op, OpFlags
from support.traced import TRACED, Trace, compiled, trace

PROGRAMS = Path(__file__).parents[2] / "core" / "native" / "tests"
pytestmark = pytest.mark.skipif(not TRACED.exists(), reason="the preload library is not built: make native")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    tmp = tmp_path_factory.mktemp("metadata")
    folder = tmp / "work"
    folder.mkdir()
    result = trace([str(compiled(PROGRAMS / "metadata.c", tmp))], folder, tmp / "spool")
    assert result.done.returncode == 0
    return result


def told(seen: Trace, op: Op) -> list[tuple[str, str, int]]:
    prefix = f"{seen.folder}/"
    return [(o.path.removeprefix(prefix), o.path2.removeprefix(prefix), o.err) for o in seen.operations(op)]


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (Op.LINK, ("a", "hard", 0)),
        (Op.SYMLINK, ("a", "soft", 0)),
        (Op.RENAME, ("a", "b", 0)),
        (Op.RENAME, ("b", "c", errno.EEXIST)),
        (Op.EXCHANGE, ("b", "c", 0)),
        (Op.UNLINK, ("hard", "", 0)),
        (Op.UNLINK, ("soft", "", 0)),
        (Op.MKNOD, ("fifo", "", 0)),
        (Op.MKDIR, ("dir", "", 0)),
        (Op.RMDIR, ("gone", "", 0)),
        (Op.RMDIR, ("dir/none", "", errno.ENOENT)),
        (Op.STAT, ("b", "", 0)),
        (Op.STAT, ("absent", "", errno.ENOENT)),
        (Op.STAT, ("absent/deeper", "", errno.ENOENT)),
        (Op.ACCESS, ("absent", "", errno.ENOENT)),
        (Op.ACCESS, ("b", "", 0)),
        (Op.READLINK, ("soft", "target of link", 0)),
        (Op.OPEN, ("absent", "", errno.ENOENT)),
        (Op.CHMOD, ("b", "", 0)),
        (Op.UTIME, ("b", "", 0)),
        (Op.SETXATTR, ("b", "user.colour", 0)),
        (Op.GETXATTR, ("b", "user.colour", 0)),
        (Op.REMOVEXATTR, ("b", "user.colour", 0)),
        (Op.LISTXATTR, ("b", "", 0)),
        (Op.CHDIR, ("dir", "", 0)),
    ],
)
def test_the_operation_is_recorded_with_its_names_and_error(
    seen: Trace, op: Op, expected: tuple[str, str, int]
) -> None:
    found = told(seen, op)
    if op == Op.CHDIR:
        found = [(path, "", err) for path, _, err in found]
    if op in {Op.SETXATTR, Op.GETXATTR, Op.LISTXATTR, Op.REMOVEXATTR}:  # some file systems have none
        found = [(path, name, 0) for path, name, err in found if err in {0, errno.ENOTSUP, errno.ENODATA}]
    assert expected in found


@pytest.mark.parametrize("op", [Op.TRUNCATE, Op.FALLOCATE, Op.FSYNC, Op.CHOWN, Op.LOCK, Op.MMAP])
def test_an_operation_on_a_descriptor_names_its_handle(seen: Trace, op: Op) -> None:
    handles = {h.path for h in seen.handles("b")}
    assert handles
    assert all(int(o.row["handle"]) > 0 for o in seen.operations(op))
    assert seen.operations(op)


def test_a_failed_open_is_told_by_every_way_of_opening(seen: Trace) -> None:
    assert told(seen, Op.OPEN).count(("absent", "", errno.ENOENT)) == 3


def test_what_a_rename_replaces_is_told(seen: Trace) -> None:
    replaced = [o for o in seen.operations(Op.RENAME) if o.path.endswith("/c") and int(o.row["ino2"])]
    assert len(replaced) == 1


def test_an_unlink_carries_the_identity_of_what_went(seen: Trace) -> None:
    (gone,) = [o for o in seen.operations(Op.UNLINK) if o.path.endswith("/hard")]
    assert OpFlags(int(gone.row["flags"])) & OpFlags.IDENTITY
    assert (int(gone.row["ino"]) > 0, int(gone.row["size"])) == (True, 8)


def test_a_truncation_tells_the_new_size(seen: Trace) -> None:
    (cut,) = seen.operations(Op.TRUNCATE)
    assert int(cut.row["size"]) == 4


def test_listings_tell_how_many_entries_were_delivered(seen: Trace) -> None:
    listings = seen.operations(Op.LISTDIR)
    by_name = {o.path.removeprefix(str(seen.folder)): int(o.row["size"]) for o in listings}
    assert by_name["/dir"] == 0
    assert by_name[""] == 2  # the pattern matched b and c
    assert any(int(o.row["handle"]) and int(o.row["size"]) >= 6 for o in listings)


def test_a_file_made_after_chdir_has_its_absolute_path(seen: Trace) -> None:
    assert [h.written for h in seen.handles("dir/inside")] == [8]
