"""The example plugin, installed as a distribution of its own, passes its own tests."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import provio

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin"


@pytest.mark.required
@pytest.mark.heavy
def test_example_plugin_installs_and_passes_its_tests(tmp_path: Path) -> None:
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed")
    site = tmp_path / "site"
    install = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target", str(site))
    subprocess.run([sys.executable, *install, str(EXAMPLE)], check=True, capture_output=True)
    sources = str(Path(provio.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(site), sources))}
    options = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(EXAMPLE), "-c", os.devnull)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(EXAMPLE / "tests")],
        env=environment, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
