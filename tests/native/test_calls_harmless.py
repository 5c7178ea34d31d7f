"""Wrappers change nothing for the program, and streams are counted as strace counts them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from provio.model.wire import HandleFlags
from support.traced import TRACED, compiled, plain, trace, tracing

PROGRAMS = Path(__file__).parents[2] / "core" / "native" / "tests"
pytestmark = pytest.mark.skipif(not TRACED.exists(), reason="the preload library is not built: make native")


def fresh(folder: Path) -> Path:
    folder.mkdir()
    (folder / "in").write_bytes(b"".join(b"%09d\n" % n for n in range(1, 5001)))
    return folder


@pytest.mark.parametrize("mode", ["aggregate", "full"])
def test_signals_cancellation_errors_threads_and_vfork_stay_exact(tmp_path: Path, mode: str) -> None:
    program = [str(compiled(PROGRAMS / "harmless.c", tmp_path))]
    alone = plain(program, fresh(tmp_path / "plain"))
    seen = trace(program, fresh(tmp_path / "traced"), tmp_path / "spool", mode)
    assert seen.done.stdout.decode() == alone.stdout.decode()
    assert (seen.done.returncode, seen.done.stderr) == (0, b"")
    assert seen.bytes_of("relative") == (0, 8)
    assert seen.bytes_of("kept") == (0, 4)
    assert seen.bytes_of("ticks")[1] == (seen.folder / "ticks").stat().st_size


def kernel_bytes(log: Path, name: str) -> tuple[int, int]:
    """Sum what strace saw on one file: bytes read, bytes written."""
    done = {"read": 0, "write": 0}
    for line in log.read_text().splitlines():
        found = re.match(rf"\d+ +(read|write|pread64|pwrite64)\(\d+<[^>]*/{name}>.* = (\d+)$", line)
        if found:
            done["read" if "read" in found[1] else "write"] += int(found[2])
    return done["read"], done["write"]


@pytest.mark.parametrize("seed", range(12))
def test_bytes_of_streams_equal_what_strace_saw_of_the_same_execution(seed: int, tmp_path: Path) -> None:
    program = compiled(PROGRAMS / "streams.c", tmp_path)
    log = tmp_path / "strace.log"
    strace = ["strace", "-f", "-y", "-o", str(log), "-e", "trace=read,write,pread64,pwrite64"]
    environment = [
        f"-E{k}={v}" for k, v in tracing(tmp_path / "spool").items() if k.startswith(("LD_", "PROVIO"))
    ]
    folder = fresh(tmp_path / "traced")
    bare = [part for pair in environment for part in ("-E", pair[2:])]
    seen = trace([*strace, *bare, str(program), str(seed)], folder, tmp_path / "spool")
    assert seen.done.returncode == 0
    for name in ("written", "in", "updated"):
        assert (name, *seen.bytes_of(name)) == (name, *kernel_bytes(log, name))


@pytest.mark.parametrize("target", ["file", "pipe"])
def test_messages_of_libc_itself_are_the_same_and_counted(tmp_path: Path, target: str) -> None:
    program = str(compiled(PROGRAMS / "messages.c", tmp_path))
    script = '"$0" > out 2> err' if target == "file" else '{ "$0" 2>&1 >&3 | cat > err; } 3> out'
    command = ["bash", "-c", script, program]
    alone = plain(command, fresh(tmp_path / "plain"))
    seen = trace(command, fresh(tmp_path / "traced"), tmp_path / "spool")
    assert seen.done.returncode == alone.returncode
    for name in ("out", "err"):
        text = (tmp_path / "plain" / name).read_bytes()
        assert (seen.folder / name).read_bytes() == text
        assert seen.bytes_of(name)[1] == len(text)


def test_extents_are_exact_up_to_sixteen_and_then_bounds(tmp_path: Path) -> None:
    source = tmp_path / "extents.py"
    source.write_text(
        "import os\n"
        "fd = os.open('few', os.O_CREAT | os.O_RDWR)\n"
        "for n in range(10):\n    os.pwrite(fd, b'12345', n * 100)\n"
        "os.close(fd)\n"
        "fd = os.open('many', os.O_CREAT | os.O_RDWR)\n"
        "for n in range(40):\n    os.pwrite(fd, b'12345', n * 100)\n"
        "os.close(fd)\n"
    )
    seen = trace(["python3", "-I", "-S", str(source)], fresh(tmp_path / "traced"), tmp_path / "spool")
    (few,), (many,) = seen.handles("few"), seen.handles("many")
    assert not few.flags & HandleFlags.INEXACT
    assert many.flags & HandleFlags.INEXACT
    assert (int(few.row["write"]["lo"]), int(few.row["write"]["hi"])) == (0, 905)
    assert int(few.row["extents_write"]) > 0


def test_names_that_are_not_text_and_long_names_are_kept(tmp_path: Path) -> None:
    folder = fresh(tmp_path / "traced")
    deep = "/".join(["d" * 200] * 15)
    script = f"mkdir -p {deep}; cd {deep}; echo x > \"$(printf 'a b\\n\\377')\""
    seen = trace(["bash", "-c", script], folder, tmp_path / "spool")
    assert seen.done.returncode == 0
    assert any(h.path == f"{folder}/{deep}/a b\n\udcff" for h in seen.handles("*"))


def test_a_directory_link_is_resolved_also_after_it_was_changed(tmp_path: Path) -> None:
    folder = fresh(tmp_path / "traced")
    script = (
        "import os\nos.mkdir('one'); os.mkdir('two'); os.symlink('one', 'now')\n"
        "open('now/a', 'w').close()\n"
        "os.symlink('two', 'next'); os.rename('next', 'now')\n"
        "open('now/b', 'w').close()\n"
    )
    seen = trace(["python3", "-I", "-S", "-c", script], folder, tmp_path / "spool")
    assert seen.handles("one/a")
    assert seen.handles("two/b")


def test_every_read_and_write_is_a_record_in_full_mode(tmp_path: Path) -> None:
    seen = trace(["dd", "if=in", "of=out", "bs=1000"], fresh(tmp_path / "traced"), tmp_path / "spool", "full")
    rows = [row for block in seen.records.io_blocks() for row in block.rows]
    writes = [
        (int(r["offset"]), int(r["result"])) for r in rows if int(r["op"]) == 2 and int(r["result"]) == 1000
    ]
    assert writes == [(n * 1000, 1000) for n in range(50)]


def test_stdout_of_the_tracer_stays_empty(tmp_path: Path) -> None:
    done = subprocess.run(
        ["env"], env=tracing(tmp_path / "spool") | {"MARK": "1"}, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""


def test_bytes_are_split_where_a_thread_begins_to_work_for_another_attempt(tmp_path: Path) -> None:
    script = (
        "import ctypes, os\n"
        "out = os.open('out', os.O_CREAT | os.O_WRONLY)\n"
        "os.write(out, b'12345')\n"
        f"assert ctypes.CDLL(None).provio_task_set(b'{'33' * 16}/{'44' * 16}') == 0\n"
        "os.write(out, b'678')\n"
    )
    seen = trace(["python3", "-I", "-S", "-c", script], fresh(tmp_path / "traced"), tmp_path / "spool")
    assert (seen.done.returncode, seen.done.stderr) == (0, b"")
    first, second = sorted(seen.handles("out"), key=lambda h: -h.written)
    assert (first.written, second.written) == (5, 3)
    assert int(first.row["epoch"]) != int(second.row["epoch"])
    assert second.flags & HandleFlags.CONTINUED
    assert not second.flags & HandleFlags.CREATED


def test_block_files_tell_the_same_as_an_arena(tmp_path: Path) -> None:
    folder = fresh(tmp_path / "traced")
    script = "exec 5> out; (echo one >&5); echo two >&5; cat in | sort -r > sorted"
    seen = trace(["bash", "-c", script], folder, tmp_path / "spool", extra={"PROVIO_ARENA": "blocks"})
    assert seen.bytes_of("out") == (0, 8)
    assert seen.bytes_of("sorted") == (0, 50000)
    assert {h.written for h in seen.handles("out")} == {4}


def test_our_own_spool_is_never_recorded(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    script = f"echo event > {spool}/events; cat {spool}/events > out"
    seen = trace(["bash", "-c", script], fresh(tmp_path / "traced"), spool)
    assert not [h for h in seen.handles("*") if h.path.startswith(f"{spool}/") and (h.read or h.written)]
    assert seen.bytes_of("out") == (0, 6)
