"""What an output may have been made from, where order allows it and no path proves it.

Nothing here is stored: there would be a row for nearly every pair of files of a
task. ``query`` asks for one output at a time, with rows of the stored tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping


class Reading(NamedTuple):
    """One version read: by whom, on which boot, from when (CLOCK_MONOTONIC ns of that boot)."""

    version: int
    attempt: str | None
    boot: str
    image: int
    first: int


class Writing(NamedTuple):
    """One version written: by whom, on which boot, until when."""

    version: int
    attempt: str | None
    boot: str
    image: int
    last: int


def possible_inputs(
    output: Writing,
    readings: Iterable[Reading],
    *,
    proved: Collection[int],
    executed_from: Mapping[int, int] | None = None,
) -> set[int]:
    """Return the versions that may have gone into an output, beyond the proved ones.

    A reading counts if it began before the last write (on another boot clocks
    are not compared, so it counts), and was by the same attempt, in the same
    memory, or in the memory that an exec replaced.

    Args:
        output: one version and its writer.
        readings: of the run, in any order.
        proved: inputs that are known already.
        executed_from: image -> the image of the same process that executed it.
    """
    images = _memories(output.image, executed_from or {})
    return {
        r.version
        for r in readings
        if r.version != output.version
        and r.version not in proved
        and (r.boot != output.boot or r.first < output.last)
        and (r.image in images or (r.attempt is not None and r.attempt == output.attempt))
    }


def _memories(image: int, executed_from: Mapping[int, int]) -> set[int]:
    """Return an image and those that exec replaced on the way to it."""
    found = {image}
    while image in executed_from and executed_from[image] not in found:
        image = executed_from[image]
        found.add(image)
    return found
