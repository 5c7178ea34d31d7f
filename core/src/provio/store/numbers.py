"""Names of generations; apart from ``writer`` so that listing needs no library."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def generation_numbers(runs: Path) -> list[int]:
    """Return the numbers of the generations in a run's directory, ascending."""
    try:
        names = [entry.name for entry in os.scandir(runs)]
    except OSError:
        return []
    return sorted(int(n[1:]) for n in names if n.startswith("g") and n[1:].isdigit())
