"""What the preload tracer costs: ns per call and the workloads W1, W3, W4, W5, as ratios to the untraced run.

Variants are interleaved run by run, so that a change of the machine's load
meets all of them. ``noise`` is the same ratio between two untraced runs of
the same rounds: a difference below it means nothing.

    python bench/preload/run.py [--rounds 7] [--only W1,micro] [--json FILE]

Peers (Darshan, dftracer) are measured if ``PEER_DARSHAN`` or ``PEER_DFTRACER`` name their preload library.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).resolve().parent
LIBRARY = HERE.parents[1] / "core" / "src" / "provio" / "_native" / "libprovio_preload.so"
TASK = "PROVIO_TASK=" + "1" * 32 + "/" + "2" * 32

W3_LOOP = "for i in $(seq 150); do cat f > a; sort -r a > b; done"
W4_PROGRAM = """
import numpy as np, os
os.makedirs("n", exist_ok=True)
for i in range(1000):
    np.save(f"n/{i}.npy", np.arange(2000.0) + i)
    np.savetxt(f"n/{i}.csv", np.arange(100.0), fmt="%.3f")
total = 0.0
for i in range(1000):
    total += np.load(f"n/{i}.npy").sum() + np.loadtxt(f"n/{i}.csv").sum()
"""


class Bench:
    """A scratch directory with the programs and the variants' environments."""

    def __init__(self, library: Path) -> None:
        # The files under test lie on a tmpfs: a disk would hide what the tracer adds.
        shm = Path("/dev/shm")
        self.folder = Path(tempfile.mkdtemp(prefix="bench-", dir=shm if shm.is_dir() else None))
        for name in ("micro", "workload"):
            source = HERE / f"{name}.c"
            subprocess.run(["cc", "-O2", "-pthread", "-w", source, "-o", self.folder / name], check=True)
        (self.folder / "f").write_bytes(b"".join(b"%09d\n" % i for i in range(2000)))
        plain = {k: v for k, v in os.environ.items() if not k.startswith(("PROVIO_", "LD_PRELOAD"))}
        spool = self.folder / "spool"
        ours = plain | {"LD_PRELOAD": str(library), "PROVIO_SPOOL": str(spool)} | dict([TASK.split("=", 1)])
        self.variants = {
            "plain": plain,
            "plain again": plain,
            "aggregate": ours | {"PROVIO_TRACE": "aggregate"},
            "full": ours | {"PROVIO_TRACE": "full"},
        }
        darshan, dftracer = os.environ.get("PEER_DARSHAN"), os.environ.get("PEER_DFTRACER")
        logs = str(self.folder)
        if darshan:
            own = {"LD_PRELOAD": darshan, "DARSHAN_ENABLE_NONMPI": "1", "DARSHAN_LOGPATH": logs}
            self.variants["Darshan"] = plain | own
        if dftracer:
            own = {"LD_PRELOAD": dftracer, "DFTRACER_ENABLE": "1", "DFTRACER_LOG_FILE": logs + "/df"}
            self.variants["dftracer"] = plain | own | {"DFTRACER_DATA_DIR": "all"}

    def clean(self) -> None:
        """Start every run with an empty spool."""
        shutil.rmtree(self.folder / "spool", ignore_errors=True)
        (self.folder / "spool" / "io").mkdir(parents=True)

    def cpu(self, variant: str, command: list[str]) -> float:
        """Return the CPU seconds of a command and its children."""
        self.clean()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            command, cwd=self.folder, env=self.variants[variant], check=True, stdout=subprocess.DEVNULL
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ratios(bench: Bench, command: list[str], rounds: int) -> dict[str, float]:
    """Return the median over rounds of each variant's CPU time to the untraced run of that round."""
    seen: dict[str, list[float]] = {name: [] for name in bench.variants}
    for name in seen:
        bench.cpu(name, command)  # warm
    for _ in range(rounds):
        for name, times in seen.items():
            times.append(bench.cpu(name, command))
    base = seen["plain"]
    result = {
        name: round(statistics.median(t / b for t, b in zip(times, base, strict=True)), 3)
        for name, times in seen.items()
        if name != "plain"
    }
    result["noise"] = result.pop("plain again")
    result["seconds"] = round(statistics.median(base), 3)
    return result


def micro(bench: Bench, rounds: int) -> dict[str, dict[str, float]]:
    """Return ns per call: the untraced cost, and what each variant adds (minimum of rounds)."""
    best: dict[str, dict[str, float]] = {name: {} for name in bench.variants}
    for _ in range(rounds):
        for name, calls in best.items():
            bench.clean()
            command = [bench.folder / "micro", bench.folder]
            done = subprocess.run(command, env=bench.variants[name], check=True, capture_output=True)
            for call, ns in json.loads(done.stdout).items():
                calls[call] = min(calls.get(call, ns), ns)
    base = best["plain"]
    added = {
        name: {call: round(ns - base[call], 1) for call, ns in calls.items()} for name, calls in best.items()
    }
    added["noise"] = added.pop("plain again")
    return added | {"plain": base}


def threads(bench: Bench, rounds: int) -> dict[str, dict[str, float]]:
    """Return W5: per variant the cost of 8 threads to that of one thread, on one file and on eight."""
    program = str(bench.folder / "workload")
    one = [program, "threads", str(bench.folder), "1", "1"]
    result = {}
    for label, command in (
        ("one thread", one),
        ("8 threads, one file", [*one[:3], "8", "1"]),
        ("8 threads, 8 files", [*one[:3], "8", "0"]),
    ):
        result[label] = ratios(bench, command, rounds)
    return result


def workloads(bench: Bench) -> dict[str, Callable[[int], object]]:
    """Return the measurements by name."""
    hot = [str(bench.folder / "workload"), "hot", str(bench.folder)]
    return {
        "micro": lambda rounds: micro(bench, rounds),
        "W1": lambda rounds: ratios(bench, hot, rounds),
        "W3": lambda rounds: ratios(bench, ["bash", "-c", W3_LOOP], rounds),
        "W4": lambda rounds: ratios(bench, [sys.executable, "-c", W4_PROGRAM], rounds),
        "W5": lambda rounds: threads(bench, rounds),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="micro,W1,W3,W4,W5")
    parser.add_argument("--library", type=Path, default=LIBRARY)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    bench = Bench(options.library)
    try:
        measured = {
            n: run(options.rounds) for n, run in workloads(bench).items() if n in options.only.split(",")
        }
    finally:
        shutil.rmtree(bench.folder, ignore_errors=True)
    text = json.dumps(measured, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
