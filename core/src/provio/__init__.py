"""provio: which job really read and wrote which file.

The public names are listed in ``__all__``; each is loaded at its first use, so
that importing ``provio`` (or ``provio.engines``) costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

__version__ = "0.1.0"

_HOME: Final = {
    "AttemptId": "provio.model.ids",
    "EvidenceError": "provio.errors",
    "Gap": "provio.model.gaps",
    "GapKind": "provio.model.gaps",
    "PluginError": "provio.errors",
    "ProvioError": "provio.errors",
    "RunId": "provio.model.ids",
    "SetupError": "provio.errors",
    "StoreError": "provio.errors",
    "UsageError": "provio.errors",
    "hookimpl": "provio.plugins",
}

__all__ = ["__version__", *_HOME]  # noqa: PLE0604 - the keys are strings; tests/meta compares


def __getattr__(name: str) -> Any:
    """Load a public name from its module."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'provio' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
