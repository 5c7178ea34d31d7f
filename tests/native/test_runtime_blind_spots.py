"""Where our library cannot go, the program runs as ever, silently, and a gap says so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.traced import TRACED, trace, tracing

pytestmark = pytest.mark.skipif(not TRACED.exists(), reason="the preload library is not built: make native")
STATIC, FOREIGN, SETUID, SANITIZER, NO_LIBRARY = 1, 2, 3, 4, 5
SOURCE = '#include <stdio.h>\nint main(void) { puts("here"); return 3; }\n'


def program(folder: Path, compiler: str = "cc", *flags: str) -> str:
    source = folder / "main.c"
    source.write_text(SOURCE)
    built = subprocess.run(
        [compiler, *flags, str(source), "-o", str(folder / "program")], capture_output=True, check=False
    )
    if built.returncode:
        pytest.skip(f"{compiler} {' '.join(flags)} does not work here")
    return str(folder / "program")


RUNNERS = {
    "exec": "import os, sys; os.execv(sys.argv[1], sys.argv[1:])",
    "spawn": "import os, sys; p = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ);"
    "sys.exit(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]))",
    "subprocess": "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)",
}


@pytest.mark.parametrize("how", RUNNERS)
@pytest.mark.parametrize(
    ("compiler", "flags", "gap"),
    [
        ("cc", ["-static"], STATIC),
        ("cc", ["-fsanitize=address"], SANITIZER),
        ("musl-gcc", [], FOREIGN),
        ("cc", ["-m32"], FOREIGN),
    ],
    ids=["static", "asan", "musl", "32-bit"],
)
def test_program_that_cannot_be_traced_runs_unharmed(
    compiler: str, flags: list[str], gap: int, how: str, tmp_path: Path
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} does not work here")
    path = program(tmp_path, compiler, *flags)
    seen = trace([sys.executable, "-c", RUNNERS[how], path], tmp_path, tmp_path / "spool")
    assert (seen.done.returncode, seen.done.stdout, seen.done.stderr) == (3, b"here\n", b"")
    assert seen.gaps() == [gap]


def test_script_is_judged_by_its_interpreter(tmp_path: Path) -> None:
    path = program(tmp_path, "cc", "-static")
    script = tmp_path / "script"
    script.write_text(f"#!{path} x\n")
    script.chmod(0o755)
    seen = trace(["bash", "-c", f"{script}; true"], tmp_path, tmp_path / "spool")
    assert (seen.done.stdout, seen.gaps()) == (b"here\n", [STATIC])


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_setuid_program_gets_nothing_of_ours(tmp_path: Path) -> None:
    shutil.copy("/usr/bin/env", tmp_path / "env")
    os.chown(tmp_path / "env", 65534, 65534)
    (tmp_path / "env").chmod(0o4755)
    seen = trace(["bash", "-c", "./env; true"], tmp_path, tmp_path / "spool")
    assert b"PROVIO" not in seen.done.stdout
    assert b"LD_PRELOAD" not in seen.done.stdout
    assert seen.gaps() == [SETUID]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the root directory")
def test_program_in_another_root_without_our_library_runs_silently(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for path in ("/bin/true", *loaded_by("/bin/true")):
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    seen = trace(["chroot", str(root), "/bin/true"], tmp_path, tmp_path / "spool")
    assert (seen.done.returncode, seen.done.stdout, seen.done.stderr) == (0, b"", b"")
    assert NO_LIBRARY in seen.gaps()


def loaded_by(path: str) -> list[str]:
    """Return the libraries and the loader that a program needs."""
    said = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    return [word for word in said.split() if word.startswith("/")]


@pytest.mark.parametrize("name", ["with space", "with:colon"])
def test_library_at_a_path_that_ld_so_would_split_is_silent(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    library = shutil.copy(TRACED, folder)
    link = tmp_path / "link.so"
    link.symlink_to(library)
    command = ["bash", "-c", "/bin/echo hi; true"]
    environment = tracing(tmp_path / "spool") | {"LD_PRELOAD": str(link)}
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"hi\n", b"")


def test_library_without_a_task_does_nothing(tmp_path: Path) -> None:
    environment = {"LD_PRELOAD": str(TRACED), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        ["bash", "-c", "env | grep -c LD_PRELOAD"], env=environment, capture_output=True, check=True
    )
    assert (done.stdout, done.stderr) == (b"1\n", b"")
