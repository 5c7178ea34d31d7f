"""The cases of the coverage matrix: small real programs, the files they touched and how much.

Each program lies in ``cases/``. A row says what must be recorded for files of
its folder: bytes read and written, ``None`` where the number is not the
kernel's to give (a mapping, a move). What is missed must be a GapCode.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from provio.model.wire import GapCode, HandleFlags, Kind, Op
from support.traced import TRACED, Trace, compiled, plain, trace

CASES = Path(__file__).parent / "cases"
INPUT = b"".join(b"%09d\n" % n for n in range(1, 1001))  # 10,000 bytes

pytestmark = pytest.mark.skipif(not TRACED.exists(), reason="the preload library is not built: make native")


@dataclass(frozen=True, slots=True)
class Case:
    files: dict[str, tuple[int | None, int | None]] = field(default_factory=dict)
    gap: GapCode | None = None
    flags: tuple[str, ...] = ()


HELLO = Case({"out": (0, 12)})
COPY = Case({"in": (10000, 0), "out": (0, 10000)})
MAPPED = Case({"in": (None, None)})
MOVED = Case({"out": (None, None)})

EXPECTED = {
    "read_write.c": Case({"out": (12, 12)}),
    "stdio.c": Case({"out": (9006, 9006)}),
    "fscanf.c": Case({"out": (6, 6)}),
    "getline.c": Case({"in": (10000, 0)}),
    "fgets.c": Case({"in": (10000, 0)}),
    "fdopen.c": HELLO,
    "sendfile.c": COPY,
    "copy_file_range.c": COPY,
    "splice.c": COPY,
    "dup.c": HELLO,
    "fork_inherited.c": Case({"out": (0, 22)}),
    "posix_spawn_open.c": Case({"out": (0, 9)}),
    "vfork_exec.c": COPY,
    "posix_spawn.c": COPY,
    "system.c": COPY,
    "popen.c": COPY,
    "empty_environment.c": COPY,
    "close_range_syscall.c": HELLO,
    "close_range_libc.c": HELLO,
    "chdir_relative.c": Case({"sub/out": (0, 12)}),
    "openat_dirfd.c": Case({"sub/out": (0, 12)}),
    "mkstemp.c": MOVED,
    "tmpfile_linkat.c": MOVED,
    "proc_self_fd.c": HELLO,
    "symlink_open.c": HELLO,
    "mmap_shared.c": HELLO,
    "rename.c": MOVED,
    "unlink.c": Case({"out": (0, 0)}),
    "preadv2.c": Case({"out": (12, 12)}),
    "sigkill.c": HELLO,
    "abort.c": HELLO,
    "quick_exit.c": HELLO,
    "underscore_exit.c": HELLO,
    "raw_syscall.c": HELLO,
    "static.c": Case(gap=GapCode.STATIC_BINARY, flags=("-static",)),
    "inline_syscall.c": Case({"out": (None, None)}, gap=GapCode.INLINE_SYSCALL),
    "io_uring.c": Case({"out": (None, None)}, gap=GapCode.IO_URING),
    "threads.c": Case({"out": (0, 32)}),
    "exec_inherited.sh": HELLO,
    "builtin_redirection.sh": Case({"out": (0, 18)}),
    "pipe.sh": COPY,
    "mv.sh": Case({"in": (10000, 0), "first": (0, 10000), "out": (None, None)}),
    "tar.sh": Case({"in": (10000, 0), "out": (0, 20480)}),
    "gzip.sh": Case({"in": (10000, 0), "out": (None, None)}),
    "tee.sh": Case({"in": (10000, 0), "out": (0, 10000), "second": (0, 10000)}),
    "two_sorts.sh": Case({"in": (20000, 0), "out": (0, 10000), "second": (0, 10000)}),
    "py_open.py": Case({"out": (12, 12)}),
    "py_mmap.py": MAPPED,
    "py_subprocess.py": COPY,
    "py_copyfile.py": COPY,
    "py_sendfile.py": COPY,
    "py_subprocess_stdout.py": COPY,
    "py_multiprocessing.py": Case({"out": (0, 12), "second": (0, 12)}),
}


def command_of(name: str, folder: Path) -> list[str]:
    source = CASES / name
    if source.suffix == ".c":
        return [str(compiled(source, folder, *EXPECTED[name].flags))]
    if source.suffix == ".sh":
        return ["bash", str(source)]
    return [sys.executable, "-I", "-S", str(source)]


def fresh(folder: Path) -> Path:
    folder.mkdir()
    (folder / "in").write_bytes(INPUT)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def run_traced(name: str, tmp: Path) -> Trace:
    command = command_of(name, tmp)
    if EXPECTED[name].flags:  # only an exec that we see can tell of a program that we do not
        command = ["sh", "-c", '"$0"; exit $?', *command]
    return trace(command, fresh(tmp / "traced"), tmp / "spool")


def paths_of(seen: Trace) -> set[str]:
    named = {h.path for h in seen.handles("*")}
    return named | {p for o in seen.operations() for p in (o.path, o.path2)}


def test_every_program_has_its_row() -> None:
    assert sorted(EXPECTED) == sorted(p.name for p in CASES.iterdir())
    assert len(EXPECTED) >= 50


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_program_behaves_as_without_the_tracer(name: str, tmp_path: Path) -> None:
    seen = run_traced(name, tmp_path)
    alone = plain(command_of(name, tmp_path), fresh(tmp_path / "plain"))
    code = 128 - alone.returncode if EXPECTED[name].flags and alone.returncode < 0 else alone.returncode
    assert (seen.done.returncode, seen.done.stdout, seen.done.stderr) == (code, alone.stdout, alone.stderr)
    if name != "mkstemp.c":
        assert contents(tmp_path / "traced") == contents(tmp_path / "plain")


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_files_of_the_program_are_recorded_with_their_bytes(name: str, tmp_path: Path) -> None:
    seen = run_traced(name, tmp_path)
    paths = paths_of(seen)
    for file, (read, written) in EXPECTED[name].files.items():
        assert str(seen.folder / file) in paths
        found = seen.bytes_of(file)
        assert read is None or found[0] == read
        assert written is None or found[1] == written
    gap = EXPECTED[name].gap
    assert gap is None or gap in seen.gaps()
    assert gap is not None or not seen.gaps()


def test_both_ends_of_a_shell_pipe_name_the_same_pipe(tmp_path: Path) -> None:
    seen = run_traced("pipe.sh", tmp_path)
    pipes = [h for h in seen.handles("*") if h.kind == Kind.PIPE and (h.read or h.written)]
    assert {int(h.row["ino"]) for h in pipes if h.read} == {int(h.row["ino"]) for h in pipes if h.written}
    assert sum(h.read for h in pipes) == sum(h.written for h in pipes) == len(INPUT)


@pytest.mark.parametrize("shell", ["bash", "dash"])
def test_a_redirection_belongs_to_the_program_that_wrote(shell: str, tmp_path: Path) -> None:
    folder = fresh(tmp_path / "traced")
    seen = trace([shell, "-c", "cat in | tee b >c"], folder, tmp_path / "spool")
    writers = {name: {int(h.row["image"]) for h in seen.handles(name) if h.written} for name in "bc"}
    assert writers["b"] == writers["c"]
    assert len(writers["b"]) == 1
    assert {h.written for h in seen.handles("c") if h.written} == {len(INPUT)}
    created = [h for h in seen.handles("c") if h.flags & HandleFlags.CREATED]
    assert len(created) == 1


def test_a_linked_temporary_file_tells_its_handle_and_final_name(tmp_path: Path) -> None:
    seen = run_traced("tmpfile_linkat.c", tmp_path)
    (link,) = seen.operations(Op.LINK)
    assert link.path2 == str(seen.folder / "out")
    assert int(link.row["handle"]) > 0
    assert int(link.row["ino"]) == (seen.folder / "out").stat().st_ino


def test_an_alias_keeps_what_the_program_said(tmp_path: Path) -> None:
    seen = run_traced("symlink_open.c", tmp_path)
    (alias,) = [h for h in seen.handles("out") if h.flags & HandleFlags.OTHER_ALIAS]
    assert alias.given == str(seen.folder / "alias")


def test_operations_completed_before_sigkill_are_recorded(tmp_path: Path) -> None:
    seen = run_traced("sigkill.c", tmp_path)
    assert seen.done.returncode < 0
    assert seen.bytes_of("out") == (0, 12)


def test_strace_agrees_on_the_bytes_of_streams(tmp_path: Path) -> None:
    command = command_of("stdio.c", tmp_path)
    folder = fresh(tmp_path / "strace")
    log = tmp_path / "log"
    subprocess.run(
        ["strace", "-f", "-e", "trace=read,write", "-y", "-o", log, *command], cwd=folder, check=True
    )
    lines = [line for line in log.read_text().splitlines() if "/out>" in line]
    truth = [
        sum(int(line.rsplit("= ", 1)[1]) for line in lines if f" {call}(" in line)
        for call in ("read", "write")
    ]
    assert tuple(truth) == run_traced("stdio.c", tmp_path).bytes_of("out")
