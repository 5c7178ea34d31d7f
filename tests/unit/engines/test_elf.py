from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from provio.model.gaps import GapKind
from provio.tracers.elf import judge

MAIN = b"int main(void) { return 0; }"


def build(out: Path, compiler: str, *flags: str) -> Path:
    found = shutil.which(compiler)
    if found is None:
        pytest.skip(f"{compiler} is not installed")
    done = subprocess.run(
        [found, "-x", "c", "-", *flags, "-o", str(out)], input=MAIN, capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip(f"{compiler} {' '.join(flags)} does not work here")
    return out


def test_ordinary_program_takes_the_library() -> None:
    assert judge("/bin/ls").takes


def test_static_program_does_not(tmp_path: Path) -> None:
    assert judge(build(tmp_path / "a", "cc", "-static")).gap is GapKind.STATIC_BINARY


def test_static_position_independent_program_does_not(tmp_path: Path) -> None:
    assert judge(build(tmp_path / "a", "cc", "-static-pie")).gap is GapKind.STATIC_BINARY


def test_program_of_musl_does_not(tmp_path: Path) -> None:
    assert judge(build(tmp_path / "a", "musl-gcc")).gap is GapKind.FOREIGN_LIBC


def test_program_with_the_address_sanitizer_does_not(tmp_path: Path) -> None:
    assert judge(build(tmp_path / "a", "gcc", "-fsanitize=address")).gap is GapKind.SANITIZER


def test_program_of_another_machine_does_not(tmp_path: Path) -> None:
    data = bytearray(Path("/bin/ls").resolve().read_bytes())
    data[18] = 243  # RISC-V
    (tmp_path / "a").write_bytes(data)
    assert judge(tmp_path / "a").gap is GapKind.FOREIGN_LIBC


def test_program_of_another_word_size_does_not(tmp_path: Path) -> None:
    data = bytearray(Path("/bin/ls").resolve().read_bytes())
    data[4] = 1
    (tmp_path / "a").write_bytes(data)
    assert judge(tmp_path / "a").gap is GapKind.FOREIGN_LIBC


def test_program_that_changes_the_user_does_not(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a program away")
    shutil.copy("/bin/ls", tmp_path / "a")
    os.chown(tmp_path / "a", 65534, -1)
    (tmp_path / "a").chmod(0o4755)
    assert judge(tmp_path / "a").gap is GapKind.SETUID


def test_script_is_judged_by_its_interpreter(tmp_path: Path) -> None:
    static = build(tmp_path / "interpreter", "cc", "-static")
    script = tmp_path / "script"
    script.write_text(f"#!{static} -x\n")
    assert judge(script) == (False, GapKind.STATIC_BINARY, str(static))
    script.write_text("#! /bin/sh\n")
    assert judge(script).takes


@pytest.mark.parametrize(
    "content", [b"", b"#!", b"#!\n", b"\x7fELF", b"echo hello\n", b"#!/nowhere/at/all\n"]
)
def test_file_that_cannot_be_judged_is_left_to_the_kernel(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    judge(tmp_path / "a")


def test_script_that_is_its_own_interpreter_ends(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(f"#!{tmp_path / 'a'}\n")
    assert judge(tmp_path / "a").takes


def test_absent_program_is_left_to_the_kernel(tmp_path: Path) -> None:
    assert judge(tmp_path / "absent").takes


def test_headers_cut_anywhere_do_not_raise(tmp_path: Path) -> None:
    data = Path("/bin/ls").resolve().read_bytes()
    for size in [*range(0, 900, 7), 5000, 20_000]:
        (tmp_path / "a").write_bytes(data[:size])
        judge(tmp_path / "a")
