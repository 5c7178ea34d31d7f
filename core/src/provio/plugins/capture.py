"""Plugins while a run is recorded: ``provio_redact`` joins the redactors of ``provio.engines``.

Nothing is imported where no distribution announces a plugin, so that starting a
recorded command stays fast. Whatever fails here becomes a Gap, never an
exception.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from typing import TYPE_CHECKING

from provio.engines.redact import add_redactor

if TYPE_CHECKING:
    from provio.plugins.manager import Implementation, Plugins

Report = Callable[[str], None]
"""Takes the text of a Gap ``plugin-failed``."""


def arm_plugins(report: Report) -> None:
    """Load the plugins of this environment, if any, and add their redactors."""
    if not metadata.entry_points(group="provio"):
        return
    from provio.plugins.manager import plugins

    try:
        found = plugins()
    except Exception as error:  # noqa: BLE001 - a broken plugin must not harm the run
        report(str(error))
        return
    add_redactors(found, report)


def add_redactors(found: Plugins, report: Report) -> None:
    """Add the redactors of plugins other than the built-in one."""
    for implementation in found.implementations("provio_redact"):
        if implementation.plugin != "builtin":
            add_redactor(_guarded(implementation, report))


def _guarded(implementation: Implementation, report: Report) -> Callable[[str], str]:
    """Call it until it raises or returns no text; from then on change nothing."""
    works = [True]

    def redact(text: str) -> str:
        if not works[0]:
            return text
        try:
            result = implementation(text=text)
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            works[0] = False
            report(f"plugin {implementation.plugin} was left out: provio_redact raised {error!r}")
            return text
        return result if isinstance(result, str) else text

    return redact
