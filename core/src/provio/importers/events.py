"""Read what engine plugins said: the ``events/*.jsonl`` of a spool.

Here: lines to events, in order of time. Who writes them is
``provio.engines.emitter``; what they mean is decided in ``provio.reconcile``.

A writer that was killed leaves at most a torn last line: that is a Gap. Any
other line that is not an event means that the file is foreign, newer or damaged:
that is an ``EvidenceError`` with file and line, because events decide about
everything else.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from provio.errors import EvidenceError
from provio.model.events import Event, GapSeen, from_json
from provio.model.gaps import Gap, GapKind

if TYPE_CHECKING:
    from collections.abc import Iterator

_SUFFIX: Final = ".jsonl"


def read_events(path: str | os.PathLike[str], gaps: list[Gap] | None = None) -> Iterator[Event]:
    """Yield the events of one file in the order in which they were written.

    Args:
        path: a ``.jsonl`` file of a spool.
        gaps: takes a Gap for a torn last line and one for events that the writer could not write.

    Raises:
        EvidenceError: the file cannot be read, or a line is no event.
    """
    found: list[Gap] = [] if gaps is None else gaps
    counter = _LossCounter()
    for number, line, whole in _lines(Path(path)):
        try:
            data = _object(line)
            event = _event(data)
        except ValueError as error:
            if not whole:
                detail = f"{path}:{number}: the last line is torn"
                found.append(Gap(GapKind.CORRUPT_EVIDENCE, "run", detail=detail))
                break
            raise EvidenceError(
                f"{path}:{number}: not an event: {error}",
                hint="the file is damaged or was written by a newer provio; "
                "move it out of the spool to go on without what it says",
            ) from None
        counter.see(event, data.get("seq"))
        yield event
    if lost := counter.lost():
        detail = f"{path}: the engine could not write {lost} events"
        found.append(Gap(GapKind.RECORDS_LOST, "run", count=lost, detail=detail))


def read_spool_events(spool: str | os.PathLike[str]) -> tuple[list[Event], list[Gap]]:
    """Return all events of a spool in order of time, and what of them is missing.

    Several boots (nodes) are put in order by their own realtime clocks.

    Raises:
        EvidenceError: as ``read_events``.
    """
    folder = Path(spool) / "events"
    gaps: list[Gap] = []
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(_SUFFIX))
    except OSError as error:
        raise EvidenceError(
            f"{folder} cannot be read: {error.strerror}",
            hint="is this a spool of provio, and yours to read?",
        ) from error
    events = [event for name in names for event in read_events(folder / name, gaps)]
    return _in_order(events), gaps


class _LossCounter:
    """Counts missing sequence numbers, unless the writer itself says how many it lost."""

    def __init__(self) -> None:
        self._next: int | None = None
        self._missing = 0
        self._said = False

    def see(self, event: Event, seq: Any) -> None:
        if isinstance(event, GapSeen) and event.kind == GapKind.RECORDS_LOST.value:
            self._said = True
        if not isinstance(seq, int):
            return
        if self._next is not None and seq > self._next:
            self._missing += seq - self._next
        self._next = seq + 1

    def lost(self) -> int:
        return 0 if self._said else self._missing


def _lines(path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """Yield (number, line, whether its newline was there)."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                yield number, line, line.endswith(b"\n")
    except OSError as error:
        raise EvidenceError(
            f"{path} cannot be read: {error.strerror}", hint="check that it is yours to read"
        ) from error


def _object(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line.

    Raises:
        ValueError: it is not JSON, not UTF-8, or no object.
    """
    try:
        data = json.loads(line)
    except RecursionError as error:
        raise ValueError(str(error)) from None
    if not isinstance(data, dict):
        raise ValueError(f"a JSON {type(data).__name__} instead of an object")  # noqa: TRY004 - one type for callers
    return data


def _event(data: dict[str, Any]) -> Event:
    """Build an event; whatever does not fit its type is a ValueError."""
    try:
        event = from_json(data)
        times = (event.stamp.mono, event.stamp.real)
    except (AttributeError, TypeError) as error:
        raise ValueError(f"a field has the wrong type: {error}") from None
    if not all(isinstance(ns, int) for ns in times):
        raise ValueError("the stamp's times are not integers")
    return event


def _in_order(events: list[Event]) -> list[Event]:
    """Sort by the monotonic clock, which within one boot is never set back."""
    offset: dict[str, int] = {}
    for event in events:
        offset.setdefault(event.stamp.boot_id, event.stamp.real - event.stamp.mono)
    return sorted(events, key=lambda e: e.stamp.mono + offset[e.stamp.boot_id])
