"""Gaps that the evidence itself shows: what tracers noted, what was dropped, damaged or never arrived."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from provio.model.events import GapSeen
from provio.model.gaps import Gap, GapKind
from provio.model.wire import Drop, GapCode, RecordType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from provio.model.events import Event
    from provio.model.evidence import Image
    from provio.model.runs import RunRecord
    from provio.pipeline.images import ImageTable
    from provio.pipeline.spoolread import SpoolListing
    from provio.tracers.records import Records

_WORDS: Final = {str(kind): kind for kind in GapKind}
_KINDS: Final = {code: _WORDS[code.name.lower().replace("_", "-")] for code in GapCode}
_DROPS: Final = {
    Drop.NO_SPACE: "the file system was full or over quota",
    Drop.FSIZE: "the file size limit (ulimit -f) was reached",
    Drop.AS: "the address space limit (ulimit -v) was reached",
    Drop.UNREACHABLE: "the spool could not be opened from there",
    Drop.REENTRY: "a signal handler interrupted the tracer",
    Drop.FULL: "the I/O file was full",
}


def evidence_gaps(records: Records, table: ImageTable, listing: SpoolListing) -> list[Gap]:
    """Return every gap that follows from the files alone, in a fixed order."""
    return [
        *_noted(records, table),
        *_dropped(records),
        *_damaged(records),
        *_lost_images(table),
        *_missing(listing),
    ]


def run_gaps(run: RunRecord, events: Sequence[Event], records: Records) -> list[Gap]:
    """Say it where nothing could be or was recorded at all, so that no blank is taken for "none"."""
    if len(records.rows[RecordType.IMAGE]):
        return []
    said = {event.kind for event in events if isinstance(event, GapSeen)}
    if said & {str(GapKind.NO_TRACER), str(GapKind.NO_ARENA)}:
        return []
    if not run.tracers:
        return [
            Gap(GapKind.NO_TRACER, "run", detail="no tracer was armed: files are known from the engine only")
        ]
    detail = f"the {' and '.join(run.tracers)} tracer was armed, but no process left a record"
    return [Gap(GapKind.NODE_EVIDENCE_MISSING, "run", detail=detail)]


def process_gaps(images: Sequence[Image], alive: Sequence[Image], *, over: bool) -> list[Gap]:
    """Return still-running and killed images."""
    living = {i.image for i in alive}
    gaps = [
        Gap(
            GapKind.STILL_RUNNING, f"image:{i.image}", since=i.since,
            detail=f"process {i.pid} on {i.host} was alive when this was sealed: {_program(i)}",
        )
        for i in alive
    ]  # fmt: skip
    if not over:
        return gaps
    return gaps + [
        Gap(
            GapKind.KILLED, f"image:{i.image}", since=i.since,
            detail=f"process {i.pid} on {i.host} ended without a trace of its end: {_program(i)}",
        )
        for i in images
        if not i.until and i.image not in living
    ]  # fmt: skip


def _program(image: Image) -> str:
    words = image.argv[:3] or (image.exe,)
    return _text(b" ".join(words))


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _noted(records: Records, table: ImageTable) -> list[Gap]:
    """Turn GAP records into gaps; one per image, kind and path."""
    rows = records.rows[RecordType.GAP]
    images = table.image_of(records.refs(RecordType.GAP, "image")).tolist()
    paths = records.texts(RecordType.GAP, "path").tolist()
    merged: dict[tuple[int, int, int], tuple[int, int, int]] = {}
    for image, path, row in zip(images, paths, rows, strict=True):
        key = (image, int(row["op"]), path)
        t, count = int(row["t"]), max(int(row["count"]), 1)
        since, until, total = merged.get(key, (t, t, 0))
        merged[key] = (min(since, t), max(until, t), total + count)
    return [
        Gap(
            _KINDS.get(GapCode(code), GapKind.LIMIT) if code in set(GapCode) else GapKind.CORRUPT_EVIDENCE,
            f"image:{image}" if image >= 0 else "run", since, until, count,
            _text(records.strings[path]),
        )
        for (image, code, path), (since, until, count) in merged.items()
    ]  # fmt: skip


def _dropped(records: Records) -> list[Gap]:
    """Turn the drop counters of file headers into gaps."""
    gaps = []
    for file in records.files:
        header = file.header
        if not header.dropped:
            continue
        why = [text for drop, text in _DROPS.items() if header.drop_reasons >> drop & 1]
        scope = f"attempt:{header.attempt}" if header.attempt else "run"
        detail = f"{header.name}: {'; '.join(why) or 'the reason is not known'}"
        gaps.append(Gap(GapKind.RECORDS_LOST, scope, count=header.dropped, detail=detail))
    return gaps


def _damaged(records: Records) -> list[Gap]:
    """Say once per file how much of it could not be read."""
    by_file: dict[str, list[str]] = {}
    lengths: dict[str, int] = {}
    for damage in records.damage:
        name = damage.file.name
        where = f" from byte {damage.position}" if damage.length else ""
        by_file.setdefault(name, []).append(f"{damage.reason}{where}")
        lengths[name] = lengths.get(name, 0) + damage.length
    return [
        Gap(GapKind.CORRUPT_EVIDENCE, "run", count=len(reasons),
            detail=f"io/{name}: {lengths[name]} bytes passed over: {'; '.join(reasons[:3])}")
        for name, reasons in by_file.items()
    ]  # fmt: skip


def _lost_images(table: ImageTable) -> list[Gap]:
    return [
        Gap(GapKind.CORRUPT_EVIDENCE, f"image:{n}", since=table.images[n].since,
            detail=f"the record of process {table.images[n].pid} was lost, not what it did")
        for n in table.lost
    ]  # fmt: skip


def _missing(listing: SpoolListing) -> list[Gap]:
    gaps = []
    for name, note in listing.missing:
        attempt = str(note.get("attempt", ""))
        where = " ".join(str(note[k]) for k in ("host", "path") if note.get(k))
        detail = f"{name} announces records{' on ' + where if where else ''} that are not in the spool"
        scope = f"attempt:{attempt}" if attempt else "run"
        gaps.append(Gap(GapKind.NODE_EVIDENCE_MISSING, scope, detail=detail))
    return gaps
