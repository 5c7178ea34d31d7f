"""What starting costs: the import of ``provio.engines`` beyond Python's own start, and ``provio --help``.

    python bench/startup/startup.py [--repeat 20]

The minimum and the median of the repetitions are printed, in ms.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

TARGETS = {"import provio.engines": "30 ms", "every name of it": "-", "provio --help": "150 ms"}
EVERY = "from provio import engines; [getattr(engines, name) for name in engines.__all__]"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeat", type=int, default=20)
    repeat = options.parse_args().repeat
    bare = measured(["-c", "pass"], repeat)
    loaded = measured(["-c", "import provio.engines"], repeat)
    every = measured(["-c", EVERY], repeat)
    helped = measured(["-m", "provio", "--help"], repeat)
    show("import provio.engines", [a - min(bare) for a in loaded])
    show("every name of it", [a - min(bare) for a in every])
    show("provio --help", helped)


def measured(arguments: list[str], repeat: int) -> list[float]:
    """Return the wall time of each repetition, in ms."""
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        times.append((time.perf_counter() - begin) * 1000)
    return times


def show(name: str, times: list[float]) -> None:
    """Print one line."""
    low, middle = min(times), statistics.median(times)
    print(f"{name:24} min {low:6.1f} ms  median {middle:6.1f} ms  (target {TARGETS[name]})")


if __name__ == "__main__":
    main()
