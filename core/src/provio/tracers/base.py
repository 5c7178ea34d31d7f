"""What all tracers have in common: whether one can be used, and what arming it means.

Here: the two answers, as data. One module per backend gives them; reading
records is ``provio.tracers.records``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from provio.model.gaps import Gap


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a tracer can be used here.

    Attributes:
        available: it can.
        reason: why not, or what was found.
        remedy: what the user can do; "" where there is nothing to do.
    """

    name: str
    available: bool
    reason: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Arming:
    """How processes of a run become traced.

    Attributes:
        library: what goes into LD_PRELOAD, "" for nothing.
        gap: why the run goes untraced, None if it is traced or not meant to be.
        remedy: what the user can do about the gap.
    """

    library: str = ""
    gap: Gap | None = None
    remedy: str = ""
