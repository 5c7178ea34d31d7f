"""Reserving and publishing records holds under threads and signals, also under sanitizers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[2] / "core" / "native"
PARTS = ("thread.c", "clock.c", "arena.c", "arena_file.c", "string.c", "text.c", "sys.S", "vfork.S")
APART = [f"-D{name}=pv_{name}" for name in ("memcpy", "memmove", "memset", "memcmp")]


@pytest.fixture(scope="module")
def hammer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("records") / "records"
    sources = [NATIVE / "tests" / "records" / "main.c", *(NATIVE / "preload" / part for part in PARTS)]
    flags = [
        "-D_GNU_SOURCE",
        "-g",
        "-O1",
        "-pthread",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
    ]
    subprocess.run(["cc", *flags, *APART, *map(str, sources), "-o", str(program)], check=True)
    return program


@pytest.mark.parametrize("layout", ["auto", "blocks"])
def test_records_of_threads_and_nested_signal_handlers_are_whole(
    layout: str, hammer: Path, tmp_path: Path
) -> None:
    (tmp_path / "io").mkdir()
    done = subprocess.run([hammer, tmp_path, layout], capture_output=True, check=False, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"whole\n", b"")
