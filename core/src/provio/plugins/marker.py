"""The mark of a hook implementation; all that an engine plugin needs to import."""

from __future__ import annotations

from typing import Final

import pluggy

PROJECT: Final = "provio"

hookspec: Final = pluggy.HookspecMarker(PROJECT)
hookimpl: Final = pluggy.HookimplMarker(PROJECT)
