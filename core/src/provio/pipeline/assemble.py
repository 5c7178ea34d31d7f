"""From a spool to Evidence: the composition of the readers.

``assemble`` returns the reconciler's input together with the columns behind it
(touches of noise included), which the tables are made from. Nothing is decided
here; ``images``, ``touches``, ``files``, ``channels`` and ``gather`` each do one part.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from provio.model.evidence import Evidence, Image, Touch
from provio.model.wire import Op
from provio.pipeline.categories import Categories
from provio.pipeline.channels import build_channels
from provio.pipeline.files import Files, number_files
from provio.pipeline.foreign import wire_files
from provio.pipeline.frame import OP_NAMES, Frame
from provio.pipeline.gather import evidence_gaps, process_gaps, run_gaps
from provio.pipeline.images import ImageTable, build_images
from provio.pipeline.iotime import with_io_time
from provio.pipeline.liveness import Liveness, liveness, still_alive
from provio.pipeline.touches import Owners, build_touches, unknown_owners
from provio.tracers.records import Records, read_records

if TYPE_CHECKING:
    from provio.model.events import Event
    from provio.model.gaps import Gap
    from provio.model.runs import RunRecord
    from provio.pipeline.spoolread import SpoolListing
    from provio.plugins.guard import Guard

Progress = Callable[[str], None]


@dataclass(slots=True)
class Assembled:
    """Evidence and the columns behind it.

    Attributes:
        evidence: for the reconciler; its touches are the rows of data files.
        frame: all touches; row n < len(evidence.touches) is touch n.
        files: numbered files.
        table, handles: numbers of images and epochs, and whose each handle is.
        records: the decoded records (strings, I/O blocks).
        liveness: whether the run is over; alive: images whose process lives.
    """

    run: RunRecord
    evidence: Evidence
    frame: Frame
    files: Files
    table: ImageTable
    handles: Owners
    records: Records
    liveness: Liveness
    alive: list[Image]


def assemble(
    run: RunRecord,
    events: Sequence[Event],
    gaps: Sequence[Gap],
    listing: SpoolListing,
    guard: Guard | None = None,
) -> Assembled:
    """Read the I/O files of a spool and build the evidence.

    Args:
        run: the run's record.
        events: what engines said, in a fixed order.
        gaps: what is missing from those events.
        listing: the spool's files.
        guard: calls plugins, which may read files of other tracers; None: no plugins.

    Raises:
        EvidenceError: an I/O file of a newer format.
    """
    with no_collection():
        records = _records(run, listing, guard)
        boots, boot_names = _boots(records)
        unknown = unknown_owners(records)
        table = build_images(records, unknown)
        lost = {(file, pid): n for (file, pid, _), n in zip(unknown, table.lost, strict=True)}
        touches = build_touches(records, table, boots, lost)
        rules = Categories(_own_places(listing), [i.exe for i in table.images])
        files = number_files(touches.frame, records.strings, boot_names, events, rules)
        frame = _data_first(touches.frame, files)
        channels, moved = build_channels(records, touches.handles, boots)
        images = _with_bytes(table.images, frame, moved)
        images = with_io_time(images, records, touches)
        state = liveness(run, events, images)
        found = [*gaps, *run_gaps(run, events, records), *evidence_gaps(records, table, listing)]
        alive = still_alive(images)
        found += process_gaps(images, alive, over=state == Liveness.OVER)
        counts = touches.operations.tolist()
        evidence = Evidence(
            run=run.run_id,
            events=events,
            images=images,
            epochs=[replace(e, operations=counts[e.epoch]) for e in table.epochs],
            files=files.seen,
            touches=_rows(frame, files, records.strings),
            channels=channels,
            gaps=found,
            over=state == Liveness.OVER,
        )
        return Assembled(run, evidence, frame, files, table, touches.handles, records, state, alive)


def _with_bytes(images: Sequence[Image], frame: Frame, channels: Mapping[int, int]) -> list[Image]:
    """Tell each image what we recorded of it, to compare with what the kernel counted."""
    files = np.zeros(len(images), dtype=np.int64)
    moved = np.flatnonzero(np.isin(frame.op, (Op.READ, Op.WRITE)) & (frame.image >= 0))
    np.add.at(files, frame.image[moved], frame.bytes[moved])
    return [
        replace(i, file_bytes=size, channel_bytes=channels.get(i.image, 0))
        for i, size in zip(images, files.tolist(), strict=True)
    ]


def _records(run: RunRecord, listing: SpoolListing, guard: Guard | None) -> Records:
    if guard is None:
        return read_records(listing.io)
    with wire_files(listing.io, run, guard) as paths:
        return read_records(paths)


def _keep_memory() -> None:
    """Have the C library reuse the memory of freed columns instead of returning it and faulting it in anew.

    mallopt(3): M_TRIM_THRESHOLD is -1, M_MMAP_THRESHOLD is -3, the latter at most 32 MiB. A fifth of the
    time of reading is spent in such page faults otherwise. Where there is no mallopt nothing changes.
    """
    with contextlib.suppress(AttributeError, OSError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(-3, 32 << 20)
        mallopt(-1, 1 << 30)


@contextmanager
def no_collection() -> Iterator[None]:
    """Keep the cycle collector from walking millions of new tuples again and again."""
    _keep_memory()
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _boots(records: Records) -> tuple[Any, list[str]]:
    """Number the boots; without a boot id a file counts as its host's."""
    numbers: dict[str, int] = {}
    of_file = [
        numbers.setdefault(f.header.boot or f"host {f.header.host}", len(numbers)) for f in records.files
    ]
    return np.array(of_file, dtype=np.int64), list(numbers)


def _own_places(listing: SpoolListing) -> list[bytes]:
    """Return directories whose files are ours: the store of this run, our package's native part."""
    import provio

    store = listing.path.parent.parent
    return [os.fsencode(p) for p in (store, store.resolve(), Path(provio.__file__).parent / "_native")]


def _data_first(frame: Frame, files: Files) -> Frame:
    """Order touches: data files first, by time; so that touch numbers are dense for the reconciler."""
    noise = ~files.is_data[frame.file] if len(frame) else np.empty(0, dtype=bool)
    return frame.take(np.lexsort((frame.op, frame.addr, frame.first, noise)))


def _rows(frame: Frame, files: Files, strings: Sequence[bytes]) -> list[Touch]:
    """Make the Touch tuples of data files."""
    count = int(files.is_data[frame.file].sum()) if len(frame) else 0
    part = frame.head(count)
    names = [OP_NAMES.get(code, f"op-{code}") for code in range(256)]
    columns = (
        range(count), part.epoch.tolist(), part.file.tolist(), [names[code] for code in part.op.tolist()],
        part.count.tolist(), part.bytes.tolist(), part.first.tolist(), part.last.tolist(),
        part.opened.tolist(), part.closed.tolist(), part.size_open.tolist(), part.mtime_open.tolist(),
        part.ctime_open.tolist(), part.size_close.tolist(),
        part.mtime_close.tolist(), part.ctime_close.tolist(),
        [strings[n] for n in part.path.tolist()], [strings[n] for n in part.path2.tolist()],
        part.other.tolist(), part.err.tolist(), part.flags.tolist(),
    )  # fmt: skip
    return list(map(Touch._make, zip(*columns, strict=True)))
