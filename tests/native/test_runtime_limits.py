"""Whatever limits a program, tracing does not harm it: at worst records are missing, and counted."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from provio.model.wire import RecordType
from provio.tracers.records import read_records
from support.traced import ATTEMPT, TRACED, compiled, plain, trace, tracing

PROGRAM = Path(__file__).parents[2] / "core" / "native" / "tests" / "limits" / "main.c"
pytestmark = pytest.mark.skipif(not TRACED.exists(), reason="the preload library is not built: make native")
LIMITS = [
    [],
    ["fsize", "4096"],
    ["fsize", "2000000"],
    ["as", str(300 << 20)],
    ["nofile", "12"],
    ["mlockall", "6000000"],
    ["mlockall", str(4 << 30)],
    ["mlockall", "0"],
]


@pytest.mark.parametrize("layout", ["auto", "blocks"])
@pytest.mark.parametrize("mode", ["aggregate", "full"])
@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: "-".join(limit) or "none")
def test_limited_program_is_unharmed(limit: list[str], mode: str, layout: str, tmp_path: Path) -> None:
    program = compiled(PROGRAM, tmp_path)
    alone = plain([str(program), *limit], tmp_path)
    seen = trace([str(program), *limit], tmp_path, tmp_path / "spool", mode, {"PROVIO_ARENA": layout})
    assert (seen.done.returncode, seen.done.stdout, seen.done.stderr) == (0, alone.stdout, alone.stderr)
    assert len(seen.records.rows[RecordType.IMAGE]) == 1


@pytest.mark.parametrize("layout", ["auto", "blocks"])
def test_limit_set_before_the_program_starts_is_respected(layout: str, tmp_path: Path) -> None:
    program = compiled(PROGRAM, tmp_path)
    for limit in ("-f 4", "-v 200000", "-n 12", "-l 0"):
        command = ["bash", "-c", f"ulimit {limit}; exec {program}"]
        done = trace(command, tmp_path, tmp_path / "spool", extra={"PROVIO_ARENA": layout}).done
        assert (limit, done.returncode, done.stdout, done.stderr) == (limit, 0, b"unharmed\n", b"")


def test_file_size_limit_leaves_a_count_of_what_was_dropped(tmp_path: Path) -> None:
    (tmp_path / "spool").mkdir()
    program = compiled(PROGRAM, tmp_path)
    trace([str(program), "fsize", "4096"], tmp_path, tmp_path / "spool")
    (file,) = (tmp_path / "spool" / "io").glob("*.preload")
    head = file.read_bytes()[:176]
    assert int.from_bytes(head[160:168], "little") > 0
    assert int.from_bytes(head[168:176], "little") & (1 << 2)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", place], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    yield place
    subprocess.run(["umount", place], check=True)


def fill(file: Path) -> None:
    """Write until nothing fits any more."""
    fd = os.open(file, os.O_WRONLY | os.O_CREAT)
    with contextlib.suppress(OSError):
        while os.write(fd, b"x" * 4096):
            pass
    os.close(fd)


@pytest.mark.parametrize("layout", ["auto", "blocks"])
@pytest.mark.parametrize("mode", ["aggregate", "full"])
def test_full_disk_of_the_store_drops_records_and_nothing_else(
    mode: str, layout: str, small_disk: Path, tmp_path: Path
) -> None:
    program = compiled(PROGRAM, tmp_path)
    environment = tracing(small_disk / "spool", mode, PROVIO_ARENA=layout)
    subprocess.run(["true"], env=environment, check=True)
    fill(small_disk / "filler")
    done = subprocess.run([program], cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"unharmed\n", b"")


def test_store_that_cannot_be_written_is_left_alone(tmp_path: Path) -> None:
    program = compiled(PROGRAM, tmp_path)
    environment = tracing(tmp_path / "spool") | {"PROVIO_SPOOL": "/proc/1/nowhere"}
    done = subprocess.run([program], cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"unharmed\n", b"")


def test_blocks_layout_records_the_same_as_the_arena(tmp_path: Path) -> None:
    found = []
    for layout in ("auto", "blocks"):
        spool = tmp_path / layout
        command = ["bash", "-c", "echo one >a; (cat a; cat a) | sort >b; cp b c; exec cat c"]
        seen = trace(command, tmp_path, spool, extra={"PROVIO_ARENA": layout})
        found.append(
            sorted((h.path, h.read, h.written) for h in seen.handles("*") if h.path.startswith(str(tmp_path)))
        )
    assert found[0] == found[1]
    assert len(list((tmp_path / "blocks" / "io").glob(f"{ATTEMPT}-*-*-*.preload"))) > 5


def test_arena_is_one_sparse_file_with_a_note_of_its_place(tmp_path: Path) -> None:
    trace(["bash", "-c", "true; /bin/true; /bin/true"], tmp_path, tmp_path / "spool")
    folder = tmp_path / "spool" / "io"
    (file,), (where,) = folder.glob("*.preload"), folder.glob("*.where")
    assert file.stat().st_blocks * 512 < file.stat().st_size / 4
    assert sorted(p.suffix for p in folder.iterdir()) == [".preload", ".where"]
    assert where.stem == file.stem
    assert len(read_records([file]).rows[RecordType.IMAGE]) == 4


SANDBOX = """
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
    if (syscall(SYS_seccomp, 0, 0, 0)) return 1; /* from here on: read, write, exit */
    write(1, "ok", 2);
    syscall(SYS_exit, 0);
}
"""


def test_program_that_calls_seccomp_by_number_lives_on_unrecorded(tmp_path: Path) -> None:
    (tmp_path / "sandbox.c").write_text(SANDBOX)
    program = compiled(tmp_path / "sandbox.c", tmp_path)
    seen = trace([str(program)], tmp_path, tmp_path / "spool")
    assert (seen.done.returncode, seen.done.stdout) == (0, b"ok")
    assert seen.records.rows[RecordType.GAP]["op"].tolist() == [10]
