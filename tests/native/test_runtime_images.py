"""Each process image is recorded once, with its parent, its moment, its end and its task."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from provio.model.wire import Op, RecordType
from provio.pipeline.images import build_images
from provio.tracers.records import read_records
from support.traced import ATTEMPT, TRACED, Trace, compiled, trace, tracing

PROGRAMS = Path(__file__).parents[2] / "core" / "native" / "tests"
pytestmark = pytest.mark.skipif(not TRACED.exists(), reason="the preload library is not built: make native")
EXEC, FORK = 1, 2
EXITED, EXECUTED, FAILED = 1, 2, 3


def images(seen: Trace) -> list[tuple[Any, list[str]]]:
    """Return image records with their arguments."""
    texts = seen.records.texts(RecordType.IMAGE, "argv")
    argv = [os.fsdecode(seen.records.strings[n]).split("\0") for n in texts]
    return list(zip(seen.records.rows[RecordType.IMAGE], argv, strict=True))


def ends(seen: Trace) -> list[tuple[int, int]]:
    return [(int(row["op"]), int(row["status"])) for row in seen.records.rows[RecordType.IMAGE_END]]


def test_shell_its_fork_and_the_program_are_three_images_in_a_line(tmp_path: Path) -> None:
    seen = trace(["bash", "-c", "/bin/cat /etc/hostname; true"], tmp_path, tmp_path / "spool")
    (shell, _), (fork, _), (cat, argv) = images(seen)
    assert [int(i["op"]) for i in (shell, fork, cat)] == [EXEC, FORK, EXEC]
    assert argv == ["/bin/cat", "/etc/hostname"]
    assert int(fork["ppid"]) == int(shell["pid"])
    assert int(cat["pid"]) == int(fork["pid"])
    assert int(cat["start_ticks"]) == int(fork["start_ticks"]) > 0
    assert [int(i["execs"]) for i in (fork, cat)] == [0, 1]
    assert int(shell["t"]) < int(fork["t"]) < int(cat["t"])
    assert sorted(op for op, _ in ends(seen)) == [EXITED, EXITED, EXECUTED]


def test_image_says_what_it_was(tmp_path: Path) -> None:
    extra = {
        "SLURM_JOB_ID": "77",
        "PMI_RANK": "3",
        "NOT_LISTED": "x",
        "MY_OWN": "yes",
        "PROVIO_ENV_ALLOW": "MY_*",
    }
    seen = trace(["true", "a b"], tmp_path, tmp_path / "spool", extra=extra)
    ((image, argv),) = images(seen)

    def text(field: str) -> str:
        (number,) = seen.records.texts(RecordType.IMAGE, field)
        return os.fsdecode(seen.records.strings[number])

    assert argv == ["true", "a b"]
    assert text("cwd") == str(tmp_path)
    assert Path(text("exe")).name == "true"
    assert {"SLURM_JOB_ID=77", "PMI_RANK=3", "MY_OWN=yes"} <= set(text("env").split("\0"))
    assert "NOT_LISTED" not in text("env")
    assert text("cgroup") == Path("/proc/self/cgroup").read_text()
    assert any("libc.so" in path for path in text("objects").split("\0"))
    assert text("ancestors").split("\0")[0].startswith(f"{os.getpid()}:")
    assert int(image["rank"]) == 4
    assert int(image["pidns"]) == Path("/proc/self/ns/pid").stat().st_ino


@pytest.mark.parametrize(
    ("how", "status"),
    [
        ("import os; os._exit(7)", 7),
        ("raise SystemExit(0)", -1),
        ("import os; os.execv('/bin/true', ['true'])", -1),
    ],
)
def test_end_of_an_image_has_its_totals(how: str, status: int, tmp_path: Path) -> None:
    seen = trace([sys.executable, "-c", f"open('/etc/services').read(); {how}"], tmp_path, tmp_path / "spool")
    row = seen.records.rows[RecordType.IMAGE_END][0]
    assert int(row["status"]) == status
    assert int(row["rchar"]) > Path("/etc/services").stat().st_size
    assert int(row["utime"]) + int(row["stime"]) > 0
    assert int(row["maxrss"]) > 1 << 20


def test_exec_that_fails_is_said_and_the_image_goes_on(tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    bad.write_bytes(b"\x7fELF nonsense")
    bad.chmod(0o755)
    script = (
        "import os\n"
        "for p in ('bad', 'absent'):\n"
        "    try: os.execv(p, [p])\n"
        "    except OSError as e: print(e.errno)\n"
        "open('after', 'w').write('x')\n"
    )
    seen = trace([sys.executable, "-c", script], tmp_path, tmp_path / "spool")
    assert seen.done.stdout == b"8\n2\n"
    assert [op for op, _ in ends(seen)] == [EXECUTED, FAILED, EXITED]
    assert [(Path(o.path).name, o.err) for o in seen.operations(Op.EXEC)] == [("bad", 8), ("absent", 2)]
    assert seen.bytes_of("after") == (0, 1)


def test_spawned_program_is_tied_to_its_parent(tmp_path: Path) -> None:
    script = "import os; p = os.posix_spawn('/bin/true', ['true'], {}); os.waitpid(p, 0); print(p)"
    seen = trace([sys.executable, "-c", script], tmp_path, tmp_path / "spool")
    (spawn,) = seen.operations(Op.SPAWN)
    (_, _), (child, argv) = images(seen)
    assert (argv, spawn.path) == (["true"], "/bin/true")
    assert int(spawn.row["arg"]) == int(child["pid"]) == int(seen.done.stdout)
    assert int(child["parent"]) > 0
    assert int(child["execs"]) == 1


def test_thousand_vforked_children_leave_the_parent_as_it_was(tmp_path: Path) -> None:
    program = compiled(PROGRAMS / "vfork" / "main.c", tmp_path)
    seen = trace([str(program)], tmp_path, tmp_path / "spool")
    assert (seen.done.returncode, seen.done.stdout, seen.done.stderr) == (0, b"done\n", b"")
    assert seen.bytes_of("mine") == (0, 1)
    assert len([i for i, argv in images(seen) if argv == ["true"]]) == 100


def test_threads_work_for_different_attempts_and_their_children_too(tmp_path: Path) -> None:
    program = compiled(PROGRAMS / "task" / "main.c", tmp_path)
    seen = trace([str(program)], tmp_path, tmp_path / "spool")
    assert seen.done.returncode == 0, seen.done.stderr
    names = {p.name[:32] for p in (tmp_path / "spool" / "io").glob("*.preload")}
    assert names == {ATTEMPT, "a" * 32, "b" * 32}
    epochs = {bytes(row["attempt"]).hex() for row in seen.records.rows[RecordType.EPOCH]}
    assert epochs == {*names, "0" * 32, ""} - {""} or "" in epochs
    for letter in "ab":
        (file,) = (tmp_path / "spool" / "io").glob(f"{letter * 32}-*.preload")
        assert len(read_records([file]).rows[RecordType.IMAGE]) == 1


def test_task_in_the_given_environment_wins(tmp_path: Path) -> None:
    other = f"{'33' * 16}/{'44' * 16}"
    script = f"import subprocess, os; subprocess.run(['true'], env=dict(os.environ, PROVIO_TASK='{other}'))"
    trace([sys.executable, "-c", script], tmp_path, tmp_path / "spool")
    assert list((tmp_path / "spool" / "io").glob(f"{'44' * 16}-*.preload"))


def test_python_finds_its_context_although_it_is_not_in_the_environment(tmp_path: Path) -> None:
    script = (
        "import ctypes, os; lib = ctypes.CDLL(None); b = ctypes.create_string_buffer(4096)\n"
        "lib.provio_spool_get(b, 4096); print(b.value.decode())\n"
        "lib.provio_task_get(b, 4096); print(b.value.decode())\n"
        "print([n for n in os.environ if 'PROVIO' in n])"
    )
    seen = trace([sys.executable, "-c", script], tmp_path, tmp_path / "spool")
    assert seen.done.stdout.decode().split("\n")[:3] == [
        str(tmp_path / "spool"),
        f"{'11' * 16}/{ATTEMPT}",
        "[]",
    ]


def test_killed_process_has_left_all_that_it_had_completed(tmp_path: Path) -> None:
    script = "i=0; while :; do i=$((i+1)); echo line >>log; echo $i; done"
    process = subprocess.Popen(
        ["bash", "-c", script], cwd=tmp_path, env=tracing(tmp_path / "spool", "full"), stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    deadline = time.monotonic() + 30
    count = 0
    while count < 500 and time.monotonic() < deadline:
        count = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.stdout.close()
    process.wait()
    records = read_records(sorted((tmp_path / "spool" / "io").glob("*.preload")))
    seen = Trace(subprocess.CompletedProcess([], 0), records, tmp_path)
    written = (tmp_path / "log").stat().st_size
    assert written - 5 <= seen.bytes_of("log")[1] <= written


POPEN = """
#include <stdio.h>
int main(void) { FILE *f = popen("cat in > out", "r"); return pclose(f); }
"""


def test_program_behind_popen_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "opener.c").write_text(POPEN)
    (tmp_path / "in").write_bytes(b"12345")
    program = compiled(tmp_path / "opener.c", tmp_path)
    seen = trace([str(program)], tmp_path, tmp_path / "spool")
    assert [argv[-1] for _, argv in images(seen)] == [str(program), "cat in > out", "in"]
    assert seen.bytes_of("in") == (5, 0)
    assert seen.bytes_of("out") == (0, 5)


def counted(seen: Trace) -> list[tuple[str, int, int]]:
    """Return program, bytes read and bytes written by the kernel's count, without what tracing took."""
    found = build_images(seen.records, ()).images
    return [(os.fsdecode(i.argv[0]), i.rchar, i.wchar) for i in found]


def test_kernels_count_of_an_image_holds_neither_the_loaders_bytes_nor_ours(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"2\n1\n")
    script = "sort a > b; sort b > c; exec sort c"
    extra = {"LC_ALL": "C"}
    for layout in ("arena", "blocks"):
        spool = tmp_path / layout
        seen = trace(["sh", "-c", script], tmp_path, spool, extra=extra | {"PROVIO_ARENA": layout})
        shell, *sorts = counted(seen)
        assert shell == ("sh", 0, 0)
        assert sorts == [("sort", 4, 4)] * 3


def test_peak_memory_is_not_that_of_the_program_before(tmp_path: Path) -> None:
    script = "b = bytearray(200 << 20); import os; os.execv('/bin/cat', ['cat', '/etc/hostname'])"
    seen = trace([sys.executable, "-c", script], tmp_path, tmp_path / "spool")
    large, small = (int(m) for m in seen.records.rows[RecordType.IMAGE_END]["maxrss"])
    assert large > 200 << 20
    assert 0 < small < 50 << 20
