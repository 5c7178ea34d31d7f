"""The tracer's clock is CLOCK_MONOTONIC, also where it goes on by the processor's counter."""

from __future__ import annotations

import subprocess
from pathlib import Path

NATIVE = Path(__file__).parents[2] / "core" / "native"
TOLERANCE_NS = 2000
"""Below what one process needs to hand something to another through the kernel."""


def test_time_between_anchors_stays_within_what_two_processes_can_tell_apart(tmp_path: Path) -> None:
    program = tmp_path / "clock"
    names = ("tests/clock/main.c", "preload/clock.c", "preload/sys.S")
    sources = [NATIVE / name for name in names]
    subprocess.run(["cc", "-O2", "-pthread", "-D_GNU_SOURCE", *sources, "-o", program], check=True)
    worst = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert int(worst) <= TOLERANCE_NS
