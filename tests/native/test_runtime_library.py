"""The library loads into any glibc and leaves nothing behind that a program could notice."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.traced import TRACED, plain, trace, tracing

pytestmark = pytest.mark.skipif(not TRACED.exists(), reason="the preload library is not built: make native")


def readelf(*flags: str) -> str:
    return subprocess.run(
        ["readelf", "-W", *flags, TRACED], capture_output=True, text=True, check=True
    ).stdout


def test_library_needs_no_other_library() -> None:
    assert "NEEDED" not in readelf("-d")


def test_undefined_symbols_are_weak_and_have_no_version() -> None:
    undefined = [line.split() for line in readelf("--dyn-syms").splitlines() if " UND " in line][1:]
    assert {words[4] for words in undefined} == {"WEAK"}
    assert {words[7] for words in undefined} == {"__libc_stack_end", "_r_debug"}
    assert "VERNEED" not in readelf("-d")


def test_nothing_of_ours_is_exported_but_three_functions_and_names_of_libc() -> None:
    exported = re.findall(r"(?:GLOBAL|WEAK) +DEFAULT +\d+ (\S+)", readelf("--dyn-syms"))
    ours = {name for name in exported if name.startswith(("pv_", "provio_", "calls_", "handle_"))}
    assert ours == {"provio_task_set", "provio_task_get", "provio_spool_get"}
    assert not {"memcpy", "memset", "memmove", "memcmp"} & set(exported)


@pytest.mark.parametrize(
    "command",
    [
        ["env"],
        ["printenv"],
        ["env", "-i", "printenv"],
        ["env", "-i", "A=1", "bash", "-c", "env; exec env"],
        [sys.executable, "-c", "import os; print(sorted(os.environ.items()))"],
        ["bash", "-c", "env | sort; (printenv LD_PRELOAD); true"],
        [sys.executable, "-c", "import os; os.system('env'); print(os.popen('env').read())"],
        ["sh", "-c", "tr '\\0' '\\n' </proc/self/environ | grep -c -e PROVIO -e PRELOAD"],
        ["perl", "-e", "print map { qq($_=$ENV{$_}\\n) } sort keys %ENV; system 'env'"],
    ],
)
def test_program_sees_the_environment_that_it_would_see_untraced(command: list[str], tmp_path: Path) -> None:
    alone, seen = plain(command, tmp_path), trace(command, tmp_path, tmp_path / "spool").done
    assert (seen.stdout, seen.stderr, seen.returncode) == (alone.stdout, alone.stderr, alone.returncode)


def test_preload_of_the_user_stays_in_sight_and_in_force(tmp_path: Path) -> None:
    source, library = tmp_path / "theirs.c", tmp_path / "theirs.so"
    source.write_text(
        "#include <unistd.h>\n"
        '__attribute__((constructor)) static void c(void) { write(1, "theirs\\n", 7); }\n'
    )
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    command = ["bash", "-c", "echo $LD_PRELOAD; env | grep LD_PRELOAD"]
    alone = subprocess.run(
        command, env={"LD_PRELOAD": str(library), "PATH": "/usr/bin:/bin"}, capture_output=True, check=True
    )
    both = f"{TRACED}:{library}"
    environment = tracing(tmp_path / "spool") | {"LD_PRELOAD": both}
    seen = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert (seen.stdout, seen.stderr) == (alone.stdout, b"")


def test_auxiliary_vector_is_found_behind_the_environment(tmp_path: Path) -> None:
    source, program = tmp_path / "aux.c", tmp_path / "aux"
    source.write_text(
        "#include <elf.h>\n#include <stdio.h>\n"
        "int main(int c, char **v, char **e) { while (*e) e++;\n"
        "  for (Elf64_auxv_t *a = (void *)(e + 1); a->a_type; a++)\n"
        '    if (a->a_type == AT_PAGESZ) printf("%lu\\n", a->a_un.a_val);\n  return 0; }\n'
    )
    subprocess.run(["cc", str(source), "-o", str(program)], check=True)
    seen = trace(["env", str(program)], tmp_path, tmp_path / "spool").done
    assert seen.stdout == b"4096\n"
