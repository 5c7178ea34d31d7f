"""A shell that cannot take the tracer runs as it would, without a word, and is a Gap."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from provio.pipeline import answer
from provio.store import Store

if TYPE_CHECKING:
    from pathlib import Path

SNAKEFILE = """
shell.executable("./odd-shell")

rule all:
    output: "done.txt"
    shell: "true"
"""
ODD_SHELL = '#include <stdio.h>\nint main(void) { fclose(fopen("done.txt", "w")); return 0; }\n'


def test_statically_linked_shell_runs_silently_and_is_a_gap(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "odd.c").write_text(ODD_SHELL)
    subprocess.run(["cc", "-static", "odd.c", "-o", "odd-shell"], cwd=tmp_path, check=True)
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--logger", "provio"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "ld.so" not in done.stderr
    store = Store(tmp_path / ".provio")
    run = answer(store, store.resolve("last"))
    kinds = {kind for (kind,) in run.sql("SELECT kind FROM gaps")}
    assert "static-binary" in kinds
