"""The store: sealed, immutable generations of runs, listed, opened, verified, collected.

Nothing here reads evidence or decides anything; ``provio.pipeline`` seals.
"""

from __future__ import annotations

from provio.store.catalog import Removal, RunSummary, Store
from provio.store.generation import Generation

__all__ = ["Generation", "Removal", "RunSummary", "Store"]
