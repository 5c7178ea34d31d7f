"""How long each image was inside traced calls: an estimate from sampled latencies.

The tracer times one read or write in 64, every open, and every other operation.
What was not timed is taken to have lasted as long as the timed calls of the same
handle, else of the same image, else of the whole run; channels, where a call
waits for somebody, and files apart. Mapped memory takes no call and no time here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from provio.model.wire import Kind, RecordType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from provio.model.evidence import Image
    from provio.pipeline.touches import Touches
    from provio.tracers.records import Records

_CHANNELS: Final = (Kind.PIPE, Kind.FIFO, Kind.SOCKET)


def with_io_time(images: Sequence[Image], records: Records, touches: Touches) -> list[Image]:
    """Return the images with their time in I/O, where their tracer did not say it itself."""
    spent = np.zeros(len(images))
    rows, owner = records.rows[RecordType.HANDLE], touches.handles.image
    channel = np.isin(rows["op"], _CHANNELS)
    _add(spent, owner, rows["open_ns"])
    for mask in (channel, ~channel):
        for name in ("read", "write"):
            _add(spent, owner[mask], _lasted(rows[name][mask], owner[mask], len(images)))
    _add(spent, touches.ops.image, records.rows[RecordType.OP]["dur"])
    return [
        image if image.io_time_ns >= 0 else replace(image, io_time_ns=round(ns))
        for image, ns in zip(images, spent.tolist(), strict=True)
    ]


def _add(spent: Any, owner: Any, ns: Any) -> None:
    known = owner >= 0
    np.add.at(spent, owner[known], ns[known].astype(float))


def _lasted(side: Any, owner: Any, images: int) -> Any:
    """Return how long the calls of one direction lasted on each handle."""
    count = side["count"].astype(float)
    # A single call is known as a whole: the handle has its begin and its end.
    single = (count == 1) & (side["sampled"] == 0) & (side["first"] > 0) & (side["last"] >= side["first"])
    timed = np.where(single, 1.0, side["sampled"].astype(float))
    lasted = np.where(single, (side["last"] - side["first"]).astype(float), side["sampled_ns"].astype(float))
    number, total = np.zeros(images), np.zeros(images)
    _add(number, owner, timed)
    _add(total, owner, lasted)
    run = _mean(total.sum(), number.sum(), 0.0)
    of_image = _mean(total, number, run)[np.maximum(owner, 0)] if images else np.zeros(len(count))
    return count * _mean(lasted, timed, of_image)


def _mean(total: Any, number: Any, otherwise: Any) -> Any:
    return np.where(number > 0, total / np.maximum(number, 1), otherwise)
