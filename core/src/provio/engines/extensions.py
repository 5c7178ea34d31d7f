"""Plugins while a run is recorded: found here, loaded by ``provio.plugins.capture`` only if there are any.

Standard library only, and without ``importlib.metadata``, whose import alone
takes longer than everything else that happens before a command starts.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SECTION: Final = "[provio]"
_done = [False]
_failures: list[str] = []


def extend() -> None:
    """Let the plugins of this environment join, once per process; never raises."""
    if _done[0]:
        return
    _done[0] = True
    try:
        if any(_announcing(sys.path)):
            importlib.import_module("provio.plugins.capture").arm_plugins(_failures.append)
    except Exception as error:  # noqa: BLE001 - whatever it is, the run goes on
        _failures.append(f"plugins cannot be loaded: {error!r}")


def take_failures() -> list[str]:
    """Return what plugins failed at since the last call, each to become a Gap ``plugin-failed``."""
    taken, _failures[:] = list(_failures), []
    return taken


def _announcing(places: Iterable[str]) -> Iterator[str]:
    """Yield the distributions that have an entry point in the group ``provio``."""
    for place in places:
        for name in _entries(place or "."):
            if name.endswith(".dist-info") and _SECTION in _text(f"{place}/{name}/entry_points.txt"):
                yield name


def _entries(place: str) -> list[str]:
    try:
        return os.listdir(place)  # noqa: PTH208 - names are all we need
    except OSError:
        return []


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - pathlib costs more
            return file.read()
    except OSError:
        return ""
