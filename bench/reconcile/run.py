"""Measure the reconciler alone: ``python bench/reconcile/run.py [ATTEMPTS [TOUCHES]] [--profile]``.

Prints CPU seconds of three runs and, with ``--profile``, the twenty most expensive functions.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from generate import evidence

from provio.reconcile import reconcile


def main() -> None:
    numbers = [int(a) for a in sys.argv[1:] if a.isdecimal()]
    attempts, touches = (*numbers, *(10_000, 1_000_000)[len(numbers) :])
    whole = evidence(attempts, touches)
    print(f"{attempts} attempts, {len(whole.images)} images, {len(whole.touches)} touches")
    for _ in range(3):
        before = time.process_time()
        facts = reconcile(whole)
        print(f"{time.process_time() - before:6.2f} s CPU, {len(facts.derivations)} derivations")
    if "--profile" in sys.argv:
        with cProfile.Profile() as profile:
            reconcile(whole)
        pstats.Stats(profile).sort_stats("tottime").print_stats(20)


if __name__ == "__main__":
    main()
