"""``provio run`` where recording is not possible: one warning, and the command runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from provio.importers.events import read_spool_events
from support.running import SOURCES, environment, only_spool, provio_run, run_command

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting and changing users need root")
SCRIPT = "echo out; echo err >&2; cat; exit 7"


def assert_untouched(done: subprocess.CompletedProcess[bytes]) -> None:
    """The command's output and exit are whole, and at most one warning of ours is around."""
    lines = done.stderr.splitlines(keepends=True)
    ours = [line for line in lines if line.startswith(b"provio:")]
    assert (done.returncode, done.stdout) == (7, b"out\nin\n")
    assert b"".join(line for line in lines if line not in ours) == b"err\n"
    assert len(ours) <= 1


def in_mounts(
    directory: Path, mounts: str, extra: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the script under ``provio run`` in ``directory`` after a mount in a private namespace."""
    shell = f'{mounts} && cd "$0" && exec "$@"'
    return subprocess.run(
        ["unshare", "-m", "sh", "-c", shell, str(directory), *run_command("sh", "-c", SCRIPT)],
        env=environment(directory.parent, extra), input=b"in\n", capture_output=True, check=False, timeout=60,
    )  # fmt: skip


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@needs_root
def test_read_only_directory_is_recorded_in_the_state_directory(directory: Path) -> None:
    read_only = f"mount --bind '{directory}' '{directory}' && mount -o remount,bind,ro '{directory}'"
    done = in_mounts(directory, read_only)
    assert_untouched(done)
    assert b"read-only" in done.stderr.lower()
    (spool,) = (directory.parent / ".local" / "state" / "provio" / "spool").iterdir()
    assert [e.type for e in read_spool_events(spool)[0]][-1] == "run.end"


@needs_root
def test_store_that_became_read_only_is_not_used(directory: Path) -> None:
    provio_run("true", cwd=directory)
    read_only = f"mount --bind '{directory}' '{directory}' && mount -o remount,bind,ro '{directory}'"
    assert_untouched(in_mounts(directory, read_only))
    only_spool(directory)


@needs_root
@pytest.mark.parametrize("room", ["nr_inodes=1", "size=4k", "size=12k", "size=20k", "size=28k", "size=36k"])
def test_full_file_system_does_not_harm_the_command(directory: Path, room: str) -> None:
    assert_untouched(in_mounts(directory, f"mount -t tmpfs -o {room} none '{directory}'"))


@needs_root
def test_no_place_at_all_does_not_harm_the_command(directory: Path) -> None:
    read_only = f"mount --bind '{directory}' '{directory}' && mount -o remount,bind,ro '{directory}'"
    done = in_mounts(directory, read_only, {"XDG_STATE_HOME": "/proc/nowhere"})
    assert_untouched(done)
    assert b"not recorded" in done.stderr


def test_store_that_cannot_be_made_does_not_harm_the_command(directory: Path) -> None:
    (directory / "file").write_text("")
    done = provio_run("sh", "-c", SCRIPT, cwd=directory, options=["--store", "file/store"], input=b"in\n")
    assert_untouched(done)
    assert b"not recorded" in done.stderr


def test_spool_directory_that_is_a_file_does_not_harm_the_command(directory: Path) -> None:
    (directory / ".provio").mkdir()
    (directory / ".provio" / "spool").write_text("")
    done = provio_run("sh", "-c", SCRIPT, cwd=directory, input=b"in\n")
    assert_untouched(done)
    assert b"not recorded" in done.stderr


def test_file_size_limit_does_not_harm_the_command(directory: Path) -> None:
    for limit in (0, 1, 2, 4):  # blocks of 512 bytes: smaller than the record of the run, and than its events
        shell = ["sh", "-c", f'ulimit -f {limit}; exec "$@"', "sh", *run_command("sh", "-c", SCRIPT)]
        done = subprocess.run(
            shell, cwd=directory, env=environment(directory), input=b"in\n", capture_output=True, check=False
        )
        assert_untouched(done)


def test_few_descriptors_do_not_harm_the_command(directory: Path) -> None:
    for limit in (6, 7, 8, 9, 10, 12):  # the interpreter itself needs five
        seen = []
        for command in (["sh", "-c", "cat; exit 7"], run_command("sh", "-c", "cat; exit 7")):
            shell = ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *command]
            done = subprocess.run(
                shell,
                cwd=directory,
                env=environment(directory),
                input=b"in\n",
                capture_output=True,
                check=False,
            )
            seen.append((done.returncode, done.stdout, done.stderr.count(b"\n")))
        plain, ours = seen
        assert ours in (plain, (*plain[:2], 1))


def test_closed_stderr_does_not_harm_the_command(directory: Path) -> None:
    (directory / ".provio").write_text("")
    command = ["sh", "-c", 'exec "$@" 2>&-', "sh", *run_command("sh", "-c", "cat; exit 7")]
    done = subprocess.run(
        command, cwd=directory, env=environment(directory, {"XDG_STATE_HOME": "/proc/no"}), input=b"in\n",
        capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (7, b"in\n")


def test_directory_that_was_removed_does_not_harm_the_command(directory: Path) -> None:
    gone = directory / "gone"
    gone.mkdir()
    shell = ["sh", "-c", 'cd "$0" && rmdir "$0" && exec "$@"', str(gone), *run_command("cat")]
    done = subprocess.run(
        shell, cwd=directory, env=environment(directory), input=b"in\n", capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (0, b"in\n", 1)
    assert b"not recorded" in done.stderr


def test_spool_that_is_removed_meanwhile_does_not_harm_the_command(directory: Path) -> None:
    done = provio_run("sh", "-c", f"rm -rf .provio; {SCRIPT}", cwd=directory, input=b"in\n")
    assert_untouched(done)


def test_missing_library_is_said_once_with_the_remedy_and_recorded(directory: Path) -> None:
    copy = directory / "site"
    shutil.copytree(
        Path(SOURCES) / "provio", copy / "provio", ignore=shutil.ignore_patterns("_native", "__pycache__")
    )
    done = provio_run("sh", "-c", SCRIPT, cwd=directory, input=b"in\n", extra={"PYTHONPATH": str(copy)})
    assert_untouched(done)
    assert b"no tracer" in done.stderr
    assert b"gcc" in done.stderr
    assert "gap" in [e.type for e in read_spool_events(only_spool(directory))[0]]


def test_installation_at_a_path_with_a_blank_is_traced_through_a_link_without_a_message(
    directory: Path,
) -> None:
    copy = directory / "my site"
    shutil.copytree(Path(SOURCES) / "provio", copy / "provio", ignore=shutil.ignore_patterns("__pycache__"))
    if not (copy / "provio" / "_native" / "libprovio_preload.so").exists():
        pytest.skip("the native library was not built")
    done = provio_run("sh", "-c", SCRIPT, cwd=directory, input=b"in\n", extra={"PYTHONPATH": str(copy)})
    assert_untouched(done)
    assert b"provio" not in done.stderr


@pytest.mark.parametrize("flags", [["cc", "-static"], ["musl-gcc"], ["gcc", "-fsanitize=address"]])
def test_program_that_cannot_take_the_tracer_runs_without_it_and_that_is_a_gap(
    directory: Path, flags: list[str]
) -> None:
    if shutil.which(flags[0]) is None:
        pytest.skip(f"{flags[0]} is not installed")
    program = directory / "program"
    code = b'#include <stdio.h>\nint main(void) { puts("hello"); return 3; }'
    built = subprocess.run(
        [*flags, "-x", "c", "-", "-o", str(program)], input=code, capture_output=True, check=False
    )
    if built.returncode:
        pytest.skip(f"{' '.join(flags)} does not work here")
    done = provio_run(str(program), cwd=directory)
    assert (done.returncode, done.stdout, done.stderr) == (3, b"hello\n", b"")
    assert "gap" in [e.type for e in read_spool_events(only_spool(directory))[0]]


@needs_root
def test_two_users_in_one_directory_keep_apart(directory: Path) -> None:
    shared = Path(tempfile.mkdtemp(dir="/tmp"))  # tmp_path lies in a directory of root's own
    shared.chmod(0o1777)
    try:
        first, second = (run_as(uid, shared) for uid in (0, 65534))
        assert first == (7, b"out\nin\n", b"err\n")
        assert second[:2] == (7, b"out\nin\n")
        warning, said = second[2].splitlines()
        assert (said, warning.count(b"another user")) == (b"err", 1)
        assert (shared / ".provio").stat().st_uid == 0
        only_spool(shared)
        (theirs,) = (shared / "home65534" / ".local" / "state" / "provio" / "spool").iterdir()
        assert theirs.stat().st_uid == 65534
    finally:
        shutil.rmtree(shared)


SOMEBODY = """
import codecs, ctypes, grp, os, pwd, sys, tomllib
import provio.engines.local as local, provio.engines.settings
from provio.engines.supervise import end_like
codecs.lookup("ascii")
uid, home, *argv = sys.argv[1:]
os.environ["HOME"] = home
os.setgroups([])
os.setresgid(int(uid), int(uid), int(uid))
os.setresuid(int(uid), int(uid), int(uid))
sys.exit(end_like(local.run_command(argv, local.Options(seal=False))[0]))
"""


def run_as(uid: int, directory: Path) -> tuple[int, bytes, bytes]:
    """Run the script as another user, who may be unable to read this Python: all is loaded before."""
    home = directory / f"home{uid}"
    home.mkdir()
    os.chown(home, uid, -1)
    done = subprocess.run(
        [sys.executable, "-c", SOMEBODY, str(uid), str(home), "sh", "-c", SCRIPT], cwd=directory,
        env=environment(home), input=b"in\n", capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr
