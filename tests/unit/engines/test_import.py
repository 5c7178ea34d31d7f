from __future__ import annotations

import subprocess
import sys

import pytest

from support.running import environment

HEAVY = {"click", "pluggy", "psutil", "duckdb", "numpy", "pyarrow", "rich", "ctypes"}
CORE = "import provio.engines.{place,spool,emitter,environment,sealer}"
IMPORTS = "import sys, provio.engines.environment, provio.engines.place, provio.engines.sealer; "


def test_engine_api_imports_no_library(tmp_path: object) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS + "print(*{m.partition('.')[0] for m in sys.modules})"],
        env=environment("/"),  # type: ignore[arg-type]
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert HEAVY & set(done.stdout.split()) == set()


@pytest.mark.serial
def test_engine_api_imports_in_30_ms_of_cpu() -> None:
    # What every engine has loaded anyway is not counted; the best of several shows the cost without the noise.
    code = "import typing, dataclasses, json, pathlib, enum, subprocess, hashlib, time; t = time.process_time(); "
    costs = [
        float(
            subprocess.run(
                [sys.executable, "-c", code + IMPORTS + "print(time.process_time() - t)"],
                env={"PYTHONPATH": environment("/")["PYTHONPATH"]},  # type: ignore[arg-type]
                capture_output=True, text=True, check=True,
            ).stdout
        )
        for _ in range(7)
    ]  # fmt: skip
    assert min(costs) < 0.030
