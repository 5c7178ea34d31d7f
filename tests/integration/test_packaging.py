"""Wheels: with a compiler for this platform, without one for any, each with all its parts."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.heavy, pytest.mark.required]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of the source tree as a checkout has it."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed")
    place = tmp_path / "source"
    for name in ("core", "plugins", "examples"):
        ignore = shutil.ignore_patterns("_native", "__pycache__", ".provio", ".snakemake")
        shutil.copytree(ROOT / name, place / name, ignore=ignore)
    for name in ("pyproject.toml", "hatch_build.py", "README.md"):
        shutil.copy(ROOT / name, place)
    return place


def wheel(source: Path, out: Path, path: str) -> zipfile.ZipFile:
    """Build a wheel with that PATH."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(out),
    ]
    environment = {k: v for k, v in os.environ.items() if k != "CC"} | {"PATH": path}
    subprocess.run([*command, str(source)], check=True, capture_output=True, env=environment)
    (built,) = out.iterdir()
    return zipfile.ZipFile(built)


def test_wheel_has_tracer_plugin_command_and_demo_and_is_for_this_platform(
    source: Path, tmp_path: Path
) -> None:
    with wheel(source, tmp_path / "out", os.environ["PATH"]) as built:
        names = set(built.namelist())
        library = built.getinfo("provio/_native/libprovio_preload.so")
        (entry_points,) = (n for n in names if n.endswith("/entry_points.txt"))
        assert b"provio = provio.cli:main" in built.read(entry_points)
        assert str(built.filename).endswith(f"linux_{os.uname().machine}.whl")
    assert {"snakemake_logger_plugin_provio/__init__.py", "provio/_examples/das/Snakefile"} <= names
    assert library.external_attr >> 16 & 0o111, "it keeps its execute bits"
    assert not [name for name in names if "/__pycache__/" in name or name.endswith((".c", ".o"))]


def test_wheel_without_a_compiler_is_for_any_platform_and_says_why(source: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with wheel(source, tmp_path / "out", str(tmp_path / "empty")) as built:
        assert str(built.filename).endswith("-py3-none-any.whl")
        report = json.loads(built.read("provio/_native/build.json"))
        assert not [name for name in built.namelist() if name.endswith(".so")]
    assert report["preload"]["built"] is False
    assert "no C compiler" in report["preload"]["reason"]
    assert "apt install" in report["preload"]["reason"]
