"""What all tracers have in common: whether one can be used, and what arming it means.

Here: the two answers, as data. One module per backend gives them; reading
records is ``provio.tracers.records``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

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


@dataclass(frozen=True, slots=True)
class Origin:
    """Where and when the file of a foreign tracer was made, for the header of its wire form.

    Attributes:
        run, attempt, boot: ids, 32 hexadecimal digits; attempt may be "".
        host: node name.
        realtime, monotonic: one moment on both clocks, ns.
    """

    run: str
    attempt: str
    boot: str
    host: str
    realtime: int
    monotonic: int


def _present() -> Availability:
    return Availability("", available=True, reason="reading needs nothing")


@dataclass(frozen=True, slots=True)
class TracerReader:
    """How the files of one tracer are read.

    Attributes:
        name: of the tracer, for people.
        suffix: its files in a spool are ``io/<id>.<suffix>``.
        to_wire: turns the bytes of such a file into a file in wire format (``record.h``; ``writer.Writer``
            helps), deterministic, raising ValueError where they are none of its; None: they are wire format.
        availability: whether it can record here.
    """

    name: str
    suffix: str
    to_wire: Callable[[bytes, Origin], bytes] | None = None
    availability: Callable[[], Availability] = _present
