"""All measurements, one JSON file and one Markdown table: what ``make bench`` runs.

    python bench/run.py [--only preload,seal] [--rounds 3] [--attempts 10000] [--out build/bench]

Belongs here: running the four benches beside this file and putting their numbers
together with the targets. A part that is not in ``--only`` keeps what an earlier
run wrote. How each number is measured is told where it is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PARTS = ("preload", "startup", "seal", "reconcile")
RATIO_TARGETS = {"W1": 1.03, "W3": 1.25, "W4": 1.02}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--attempts", type=int, default=10_000)
    parser.add_argument("--out", type=Path, default=HERE.parent / "build" / "bench")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    numbers = options.out / "bench.json"
    found: dict[str, Any] = json.loads(numbers.read_text()) if numbers.exists() else {}
    for part in (p for p in PARTS if p in options.only.split(",")):
        print(f"measuring {part}", file=sys.stderr, flush=True)
        found[part] = measured(part, options)
        found["machine"] = machine()
        numbers.write_text(json.dumps(found, indent=2) + "\n")
    text = table(found)
    (options.out / "bench.md").write_text(text)
    print(text)
    return 0


def measured(part: str, options: argparse.Namespace) -> Any:
    """Run one bench; return its numbers, or its lines where it prints text."""
    if part == "preload":
        return json.loads(output("preload/run.py", "--rounds", options.rounds))
    if part == "startup":
        return output("startup/startup.py").splitlines()
    if part == "seal":
        return output("seal/seal.py", "--attempts", options.attempts, "--repeat", options.rounds).splitlines()
    return output("reconcile/run.py", options.attempts, options.attempts * 100).splitlines()


def output(script: str, *arguments: object) -> str:
    """Return what a bench prints."""
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def machine() -> dict[str, Any]:
    """Tell what was measured on, and how busy it was."""
    return {
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": [round(n, 1) for n in os.getloadavg()],
    }


def table(found: dict[str, Any]) -> str:
    """Return all numbers as Markdown."""
    at = found["machine"]
    where = f"{at['cores']} cores, {at['machine']}, Linux {at['kernel']}, Python {at['python']}"
    lines = [f"{where}; load average {at['load'][0]} when the last part ended.", ""]
    if "preload" in found:
        lines += [*ratio_rows(found["preload"]), "", *call_rows(found["preload"]["micro"])]
    for part in PARTS[1:]:
        if part in found:
            lines += ["", f"{part}:", "", *(f"    {line}" for line in found[part])]
    return "\n".join(lines) + "\n"


def ratio_rows(preload: dict[str, Any]) -> list[str]:
    """Return workloads: CPU time to the untraced run's, beside that of two untraced runs."""
    rows = {n: preload[n] for n in ("W1", "W3", "W4") if n in preload}
    rows |= {f"W5, {label}": row for label, row in preload.get("W5", {}).items()}
    lines = ["| workload | aggregate | full | noise | target (aggregate) |", "|---|---|---|---|---|"]
    for name, row in rows.items():
        target = RATIO_TARGETS.get(name, "-")
        lines.append(f"| {name} | {row['aggregate']} | {row['full']} | {row['noise']} | {target} |")
    return lines


def call_rows(micro: dict[str, dict[str, float]]) -> list[str]:
    """Return calls: ns untraced and ns added."""
    lines = ["| call | untraced ns | aggregate adds | full adds | noise |", "|---|---|---|---|---|"]
    for call, ns in micro["plain"].items():
        added = " | ".join(str(micro[variant][call]) for variant in ("aggregate", "full", "noise"))
        lines.append(f"| {call} | {ns} | {added} |")
    return lines


if __name__ == "__main__":
    raise SystemExit(main())
