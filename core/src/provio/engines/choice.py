"""What the settings mean for a recording: they are read once per process and store.

The settings themselves are in ``settings`` beside this file. A file that cannot
be read is said once; the run is then recorded by the defaults.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

from provio.engines.emitter import warn
from provio.engines.redact import add_secret_endings, plain_name
from provio.engines.settings import effective
from provio.errors import ProvioError

if TYPE_CHECKING:
    from pathlib import Path


class Choice(NamedTuple):
    """What was chosen for recording.

    Attributes:
        mode: aggregate, full, or off.
        wire: variables that tell the tracer the rest.
    """

    mode: str = "aggregate"
    wire: dict[str, str] = {}  # noqa: RUF012 - never changed


@functools.cache
def choose(store: Path) -> Choice:
    """Return what the settings say for a store, and redact by them from now on."""
    try:
        chosen = effective(store)
    except ProvioError as error:
        warn(f"{error.message}; the settings are not used ({error.hint})")
        return Choice()
    endings = [plain_name(word) for word in _words(chosen["redact"].value)]
    add_secret_endings(endings)
    variables = {"PROVIO_REDACT": endings, "PROVIO_ENV_ALLOW": _words(chosen["environment"].value)}
    wire = {name: ",".join(words) for name, words in variables.items() if words}
    return Choice(str(chosen["trace"].value), wire)


def _words(value: object) -> list[str]:
    return [str(word) for word in value] if isinstance(value, tuple) else []
