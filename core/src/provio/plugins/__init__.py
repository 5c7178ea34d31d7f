"""Hook specifications and the plugin manager.

``hookimpl`` marks the functions of a plugin; the hooks are listed with their
meaning in ``hookspecs``; ``manager`` loads plugins. Built-ins register through
the same hooks.
"""

from __future__ import annotations

from provio.plugins.marker import hookimpl

__all__ = ["hookimpl"]
