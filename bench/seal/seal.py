"""Seal a synthetic run and ask it: seconds of CPU and of wall clock, each command a new process.

    python bench/seal/seal.py [--attempts 10000] [--accesses 100] [--repeat 3]

The minimum of the repetitions is printed, with all of them behind it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from generate import generate

TARGETS = {"seal": 10.0, "show": 0.5, "lineage": 0.3, "runs": 0.3, "--help": 0.15}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--attempts", type=int, default=10_000)
    options.add_argument("--accesses", type=int, default=100)
    options.add_argument("--repeat", type=int, default=3)
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="provio-bench-") as folder:
        store = Path(folder) / ".provio"
        run = generate(store, given.attempts, given.accesses)
        commands = {
            "seal": ["seal", run],
            "show": ["show", run],
            "lineage": ["lineage", "/data/l5/o7.0", "--run", run],
            "runs": ["runs"],
            "--help": ["--help"],
        }
        for name, arguments in commands.items():
            measured = [measure(arguments, store, name) for _ in range(given.repeat)]
            report(name, measured)
        size = sum(p.stat().st_size for p in (store / "runs").rglob("*.parquet"))
        print(f"generation: {size / 1e6:.1f} MB, {size / given.attempts / given.accesses:.1f} B per access")


def measure(arguments: list[str], store: Path, name: str) -> tuple[float, float]:
    """Run one command; return its CPU seconds and wall seconds."""
    if name == "seal":
        shutil.rmtree(store / "runs", ignore_errors=True)
    where = [] if name == "--help" else ["--store", str(store)]
    before, begin = os.times(), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "provio", *arguments, *where], stdout=subprocess.DEVNULL, check=True
    )
    wall, after = time.perf_counter() - begin, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return used, wall


def report(name: str, measured: list[tuple[float, float]]) -> None:
    """Print one line."""
    cpu, wall = min(m[0] for m in measured), min(m[1] for m in measured)
    every = ", ".join(f"{c:.2f}/{w:.2f}" for c, w in measured)
    print(f"{name:8}  {cpu:6.2f} s CPU  {wall:6.2f} s wall  target {TARGETS[name]:5.2f} s   (all: {every})")


if __name__ == "__main__":
    main()
