"""``provio doctor`` on real machines, whole and broken ones."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from provio.tracers import preload
from support.running import SOURCES, environment, provio_command


def doctor(directory: Path, *options: str, **extra: str) -> tuple[int, dict[str, Any]]:
    """Return exit code and the checks by name."""
    done = subprocess.run(
        provio_command("doctor", "--json", *options), cwd=directory, env=environment(directory, extra),
        capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.stderr == b""
    said = json.loads(done.stdout)
    assert (said["version"], said["ok"]) == (1, done.returncode == 0)
    return done.returncode, {check["name"]: check for check in said["checks"]}


def test_whole_installation_has_no_problem(tmp_path: Path) -> None:
    if not preload.availability().available:
        pytest.skip("the native library was not built")
    code, checks = doctor(tmp_path)
    assert code == 0
    expected = {
        "python",
        "tracer preload",
        "compiler",
        "ptrace",
        "eBPF",
        "store",
        "file system",
        "cgroup v2",
        "clock",
    }
    assert expected <= checks.keys()
    assert str(tmp_path / ".provio") in checks["store"]["text"]
    assert not (tmp_path / ".provio").exists()


def test_text_has_one_line_per_check_and_remedies_below(tmp_path: Path) -> None:
    done = subprocess.run(
        provio_command("doctor"),
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert lines[0].startswith("ok  python: ")
    assert all(line[:2] in {"ok", " -", " !", "!!"} or line.startswith("      -> ") for line in lines)


@pytest.fixture
def without_native(tmp_path: Path) -> Path:
    """A copy of the sources in which nothing was compiled."""
    ignored = shutil.ignore_patterns("_native", "__pycache__")
    shutil.copytree(Path(SOURCES) / "provio", tmp_path / "site" / "provio", ignore=ignored)
    return tmp_path / "site"


def test_missing_library_is_a_problem_with_the_builds_reason_and_a_remedy(
    tmp_path: Path, without_native: Path
) -> None:
    native = without_native / "provio" / "_native"
    native.mkdir()
    (native / "build.json").write_text(
        json.dumps({"preload": {"built": False, "reason": "no C compiler on PATH"}})
    )
    code, checks = doctor(tmp_path, PYTHONPATH=str(without_native))
    assert code == 3
    assert checks["tracer preload"]["state"] == "problem"
    assert "no C compiler on PATH" in checks["tracer preload"]["text"]
    assert "gcc" in checks["tracer preload"]["remedy"]


def test_library_that_the_loader_refuses_is_a_problem(tmp_path: Path, without_native: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("building a library needs a C compiler")
    native = without_native / "provio" / "_native"
    native.mkdir()
    out = str(native / preload.LIBRARY)
    code_text = b"extern int absent(void); int (*pv)(void) = absent;"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-x", "c", "-", "-Wl,-z,now", "-o", out], input=code_text, check=True
    )
    code, checks = doctor(tmp_path, PYTHONPATH=str(without_native))
    assert (code, checks["tracer preload"]["state"]) == (3, "problem")
    assert "absent" in checks["tracer preload"]["text"]


def test_missing_compiler_is_only_a_note(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("true", "sh"):
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    _, checks = doctor(tmp_path, PATH=str(tmp_path / "bin"))
    assert checks["compiler"]["state"] == "note"
    assert checks["compiler"]["remedy"]


def test_store_that_cannot_be_written_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, checks = doctor(tmp_path, "--store", "file/store")
    assert (code, checks["store"]["state"]) == (3, "problem")
    assert "--store" in checks["store"]["remedy"]


def test_store_of_another_user_is_a_warning(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    (tmp_path / ".provio").mkdir()
    os.chown(tmp_path / ".provio", 65534, -1)
    _, checks = doctor(tmp_path)
    assert checks["store"]["state"] == "warning"
    assert "another user" in checks["store"]["text"]
