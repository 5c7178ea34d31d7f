"""Facts and columns to the tables of a generation (``provio.model.tables``).

Here the reconciler's decisions, made per epoch and per touch of data, meet the
million rows of the frame again. Every table has a fixed order of rows, so that
equal evidence gives equal bytes.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from provio.model.events import EngineFile
from provio.model.facts import AttemptFact, Facts, Scope
from provio.model.tables import TABLES
from provio.model.wire import Op
from provio.pipeline.clock import Clock
from provio.pipeline.frame import MAPPED_READ, MAPPED_WRITE, OP_NAMES, Frame
from provio.tracers.records import lookup

if TYPE_CHECKING:
    from provio.pipeline.assemble import Assembled
    from provio.tracers.records import Ints

Table = Mapping[str, Any]

_READS = (Op.READ, MAPPED_READ)
_WRITES = (Op.WRITE, MAPPED_WRITE)


@dataclass(slots=True)
class Accesses:
    """Touches summed per epoch, file, version, operation and error, in that order."""

    epoch: Ints
    file: Ints
    version: Ints
    op: Ints
    err: Ints
    count: Ints
    bytes: Ints
    first: Ints
    last: Ints
    image: Ints
    path: Ints


def build_tables(found: Assembled, facts: Facts, digests: Mapping[int, str]) -> dict[str, Table]:
    """Return the columns of every table.

    Args:
        found: evidence and frame.
        facts: what the reconciler concluded from it.
        digests: per version, the digest that was taken and is valid.
    """
    owner = {a.epoch: a for a in facts.attributions}
    scopes = [
        str(owner[e.epoch].scope) if e.epoch in owner else "unattributed" for e in found.evidence.epochs
    ]
    attempts = [owner[e.epoch].attempt if e.epoch in owner else None for e in found.evidence.epochs]
    accesses = sum_accesses(found.frame, facts)
    return {
        "tasks": _tasks(facts),
        "attempts": _attempts(found, facts, accesses, attempts),
        "processes": _processes(found, attempts),
        "epochs": _columns("epochs", (
            (e.epoch, e.image, e.tid, e.since, e.until) for e in found.evidence.epochs
        )),
        "attributions": _attributions(found, facts),
        "files": _files(found),
        "versions": _versions(found, facts, attempts, digests),
        "accesses": _accesses(found, accesses, scopes, attempts),
        "channels": _columns("channels", (
            (c.channel, c.kind, c.epoch, attempts[c.epoch], c.writes, c.first, c.last, c.bytes)
            for c in found.evidence.channels
        )),
        "derivations": _derivations(facts, accesses, attempts),
        "declared": _columns("declared", (
            (a.attempt, d.role, d.name, d.value, json.dumps(list(d.flags)))
            for a in _ordered(facts) for d in a.declared
        )),
        "gaps": _columns("gaps", (
            (str(g.kind), g.scope, g.since, g.until, g.count, g.detail) for g in facts.gaps
        )),
        "engine_files": _columns("engine_files", (
            (e.action, e.path, e.attempt, e.stamp.real)
            for e in found.evidence.events if isinstance(e, EngineFile)
        )),
    }  # fmt: skip


def _columns(table: str, rows: Iterable[Sequence[Any]]) -> Table:
    names = [column.name for column in TABLES[table]]
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return dict(zip(names, columns, strict=True))


def _ordered(facts: Facts) -> list[AttemptFact]:
    """Return attempts by task (in order of its first try) and ordinal."""
    first: dict[tuple[str, str], tuple[int, str, str]] = {}
    for a in facts.attempts:
        key = (a.logical, a.physical)
        first[key] = min(first.get(key, (a.started_ns, *key)), (a.started_ns, *key))
    return sorted(
        facts.attempts, key=lambda a: (first[a.logical, a.physical], a.ordinal, a.started_ns, a.attempt)
    )


def _task_numbers(facts: Facts) -> dict[tuple[str, str], int]:
    numbers: dict[tuple[str, str], int] = {}
    for a in _ordered(facts):
        numbers.setdefault((a.logical, a.physical), len(numbers))
    return numbers


def _tasks(facts: Facts) -> Table:
    kinds: dict[tuple[str, str], str] = {}
    for a in _ordered(facts):
        kinds.setdefault((a.logical, a.physical), a.kind)
    return _columns("tasks", ((n, *key, kinds[key]) for key, n in _task_numbers(facts).items()))


# accesses


def sum_accesses(frame: Frame, facts: Facts) -> Accesses:
    """Join touches to their versions and sum them; noise meets no version."""
    version = np.full(len(frame), -1, dtype=np.int64)
    if facts.accesses:
        pairs = np.fromiter(chain.from_iterable(facts.accesses), np.int64, len(facts.accesses) * 2).reshape(
            -1, 2
        )
        version[pairs[:, 0]] = pairs[:, 1]
    key = _packed((frame.epoch, frame.file, version + 1, frame.op, frame.err))
    order = (
        np.argsort(key, kind="stable")
        if key is not None
        else np.lexsort((frame.err, frame.op, version, frame.file, frame.epoch))
    )
    columns = [c[order] for c in (frame.epoch, frame.file, version, frame.op, frame.err)]
    fresh = np.ones(len(order), dtype=bool)
    if len(order):
        fresh[1:] = np.any([c[1:] != c[:-1] for c in columns], axis=0)
    at = np.flatnonzero(fresh)
    picked = [c[at] for c in columns]
    epoch, file, version, op, err = picked
    return Accesses(
        epoch, file, version, op, err,
        count=_reduce(np.add, frame.count[order], at),
        bytes=_reduce(np.add, frame.bytes[order], at),
        first=_reduce(np.minimum, frame.first[order], at),
        last=_reduce(np.maximum, frame.last[order], at),
        image=frame.image[order][at],
        path=frame.path[order][at],
    )  # fmt: skip


def _reduce(function: np.ufunc, values: Ints, at: Ints) -> Ints:
    return function.reduceat(values, at) if len(at) else values


def _packed(columns: Sequence[Ints]) -> Ints | None:
    """Return one integer per row that orders like the tuple, None where it would not fit."""
    if not len(columns[0]):
        return columns[0]
    spans = [int(c.max()) + 1 for c in columns]
    total = 1
    for span in spans:
        total *= span
    if total >= 1 << 62:
        return None
    key = columns[0].copy()
    for column, span in zip(columns[1:], spans[1:], strict=True):
        key = key * span + column
    return key


def _accesses(found: Assembled, a: Accesses, scopes: Sequence[str], attempts: Sequence[str | None]) -> Table:
    return {
        "image": a.image,
        "epoch": a.epoch,
        "scope": _dictionary(scopes, a.epoch, pa.string()),
        "attempt": _dictionary(attempts, a.epoch, pa.string()),
        "file": a.file,
        "version": a.version,
        "operation": _dictionary([OP_NAMES.get(n, f"op-{n}") for n in range(256)], a.op, pa.string()),
        "count": a.count,
        "bytes": a.bytes,
        "first_mono": a.first,
        "last_mono": a.last,
        "err": a.err,
        "path": _dictionary(found.records.strings, a.path, pa.binary()),
    }


def _dictionary(values: Sequence[Any], codes: Ints, kind: pa.DataType) -> pa.Array:
    """Return ``values[codes]`` as an Arrow array without making a Python object per row."""
    return pa.array(values, type=kind).take(pa.array(codes))


# attempts and processes


def _attempts(found: Assembled, facts: Facts, accesses: Accesses, owners: Sequence[str | None]) -> Table:
    numbers = _task_numbers(facts)
    sums = _sums(found, accesses, owners)
    rows = []
    for a in _ordered(facts):
        s = sums.get(a.attempt, _EMPTY)
        rows.append((
            a.attempt, numbers[a.logical, a.physical], a.ordinal, a.state, a.exit_code, a.signal,
            a.started_ns, a.ended_ns, a.cwd, a.pid, a.start_ticks, a.cgroup_id, a.cgroup_path, a.host, a.job,
            a.command, a.message,
            _json(a.attributes), a.parent, a.retry_of, s["processes"], s["files_read"], s["files_written"],
            s["bytes_read"], s["bytes_written"], s["operations"],
            _known(a.cpu_user_ns, s["cpu_user_ns"]), _known(a.cpu_system_ns, s["cpu_system_ns"]),
            _known(a.max_rss_bytes, s["max_rss_bytes"]), _known(a.io_time_ns, s["io_time_ns"]),
        ))  # fmt: skip
    return _columns("attempts", rows)


_EMPTY: Mapping[str, int] = dict.fromkeys(
    ("processes", "files_read", "files_written", "bytes_read", "bytes_written", "operations"), 0
) | dict.fromkeys(("cpu_user_ns", "cpu_system_ns", "max_rss_bytes", "io_time_ns"), -1)


def _known(told: int, measured: int) -> int:
    """Prefer what the engine told; 0 and -1 say nothing."""
    return told if told > 0 else measured


def _sums(found: Assembled, accesses: Accesses, owners: Sequence[str | None]) -> dict[str, dict[str, int]]:
    """Sum per attempt: data files and bytes, processes and their times, operations."""
    names = sorted({o for o in owners if o})
    code = {name: n for n, name in enumerate(names)}
    of_epoch = np.array([code[o] if o else -1 for o in owners], dtype=np.int64)
    totals = {name: dict(_EMPTY) for name in names}
    data = found.files.is_data[accesses.file] & (accesses.err == 0) if len(accesses.file) else accesses.file
    for kind, ops in (("read", _READS), ("written", _WRITES)):
        rows = (
            np.flatnonzero(data & np.isin(accesses.op, ops) & (of_epoch[accesses.epoch] >= 0))
            if len(data)
            else data
        )
        who = of_epoch[accesses.epoch[rows]]
        moved = np.zeros(len(names), dtype=np.int64)
        np.add.at(moved, who, accesses.bytes[rows])
        pairs = np.unique(who * max(len(found.files.seen), 1) + accesses.file[rows])
        files = np.bincount(pairs // max(len(found.files.seen), 1), minlength=len(names))
        for name, n in code.items():
            totals[name][f"bytes_{kind}"], totals[name][f"files_{kind}"] = int(moved[n]), int(files[n])
    for epoch, owner in zip(found.evidence.epochs, owners, strict=True):
        if owner:
            totals[owner]["operations"] += epoch.operations
    _add_images(found, owners, totals)
    return totals


def _add_images(found: Assembled, owners: Sequence[str | None], totals: dict[str, dict[str, int]]) -> None:
    pairs = {(o, e.image) for e, o in zip(found.evidence.epochs, owners, strict=True) if o}
    shared = Counter(image for _, image in pairs)
    for owner, number in sorted(pairs):
        total, image = totals[owner], found.evidence.images[number]
        total["processes"] += 1
        if shared[number] > 1:
            continue  # a process that served several attempts: its time cannot be divided
        for name in ("cpu_user_ns", "cpu_system_ns", "io_time_ns"):
            value = getattr(image, name)
            if value >= 0:
                total[name] = max(total[name], 0) + value
        total["max_rss_bytes"] = max(total["max_rss_bytes"], image.max_rss_bytes)


def _processes(found: Assembled, owners: Sequence[str | None]) -> Table:
    first: dict[int, str | None] = {}
    for epoch, owner in zip(found.evidence.epochs, owners, strict=True):
        first.setdefault(epoch.image, owner)
    return _columns("processes", (
        (
            i.image, i.parent, i.pid, i.ppid, i.nspid, i.start_ticks, i.execs, i.forked, i.host, i.boot,
            i.since, i.until, i.ended, _json([name_json(a) for a in i.argv]), i.exe, i.cwd,
            _clean(i.cgroup_path), i.user, i.rank, i.rchar, i.wchar, first.get(i.image),
        )
        for i in found.evidence.images
    ))  # fmt: skip


def _clean(text: str) -> str:
    """Make text that a Parquet string can hold."""
    return text.encode("utf-8", "backslashreplace").decode()


def _attributions(found: Assembled, facts: Facts) -> Table:
    operations = [e.operations for e in found.evidence.epochs]
    return _columns("attributions", (
        (
            a.epoch, str(a.scope), a.attempt if a.scope == Scope.ATTEMPT else None,
            a.method.name.lower() if a.method is not None else None, str(a.confidence),
            _pieces(a.evidence), _pieces(a.contradictions), operations[a.epoch],
        )
        for a in sorted(facts.attributions, key=lambda a: a.epoch)
    ))  # fmt: skip


def _pieces(pieces: Iterable[tuple[Any, str, str]]) -> str:
    return _json([[method.name.lower(), attempt, text] for method, attempt, text in pieces])


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def name_json(raw: bytes) -> str | dict[str, str]:
    """Return bytes as JSON text, or as ``{"b64": ...}`` where they are not UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(raw).decode()}


# files, versions, derivations


def _files(found: Assembled) -> Table:
    f = found.files
    return {
        "file": np.arange(len(f.seen)),
        "path": f.canonical,
        "paths": [_names(s.paths) for s in f.seen],
        "dev": [s.dev for s in f.seen],
        "ino": [s.ino for s in f.seen],
        "fs": f.fs,
        "kind": [s.kind for s in f.seen],
        "category": [s.category for s in f.seen],
    }


def _names(paths: Sequence[bytes]) -> str:
    """Return the JSON list of paths; nearly always one, and in UTF-8."""
    try:
        return "[" + ", ".join([encode_basestring_ascii(p.decode()) for p in paths]) + "]"
    except UnicodeDecodeError:
        return _json([name_json(p) for p in paths])


def _versions(
    found: Assembled, facts: Facts, owners: Sequence[str | None], digests: Mapping[int, str]
) -> Table:
    clock = Clock(found)
    versions = facts.versions
    same = ("version", "file", "ordinal", "path", "size", "mtime", "ctime", "ended")
    renamed = {
        "begun_mono": "begun",
        "closed_mono": "closed",
        "until_mono": "until",
        "writer_epoch": "writer",
    }
    columns = {name: [getattr(v, name) for v in versions] for name in same}
    columns |= {name: [getattr(v, attribute) for v in versions] for name, attribute in renamed.items()}
    columns["writer_attempt"] = [owners[v.writer] if v.writer >= 0 else None for v in versions]
    columns["closed_ns"] = [clock.real(v.writer, v.closed) for v in versions]
    columns["digest"] = [digests.get(v.version) for v in versions]
    return columns


def _derivations(facts: Facts, accesses: Accesses, owners: Sequence[str | None]) -> Table:
    writer = [v.writer for v in sorted(facts.versions, key=lambda v: v.version)]
    known: dict[tuple[str, ...], tuple[str, int]] = {}
    for d in facts.derivations:
        if d.via not in known:
            known[d.via] = (_json(d.via), _reader(d.via))
    epochs = [writer[d.output] for d in facts.derivations]
    readers = [known[d.via][1] for d in facts.derivations]
    inputs = [d.input for d in facts.derivations]
    return {
        "output": [d.output for d in facts.derivations],
        "input": inputs,
        "attempt": [owners[e] if e >= 0 else None for e in epochs],
        "confidence": [str(d.confidence) for d in facts.derivations],
        "bytes": _bytes_read(
            accesses, [r if r >= 0 else e for r, e in zip(readers, epochs, strict=True)], inputs
        ),
        "via": [known[d.via][0] for d in facts.derivations],
    }


def _bytes_read(accesses: Accesses, epochs: Sequence[int], versions: Sequence[int]) -> Ints:
    """Return how many bytes each epoch read of each version, -1 where it read none itself."""
    reads = np.flatnonzero(np.isin(accesses.op, _READS) & (accesses.version >= 0))
    span = int(accesses.version.max(initial=0)) + 1
    keys, at = np.unique(accesses.epoch[reads] * span + accesses.version[reads], return_inverse=True)
    moved = np.zeros(len(keys), dtype=np.int64)
    np.add.at(moved, at, accesses.bytes[reads])
    wanted = np.array(epochs, dtype=np.int64) * span + np.array(versions, dtype=np.int64)
    return lookup(keys, wanted, moved)


def _reader(via: Sequence[str]) -> int:
    """Return the epoch that read the input: the first of the proof, -1 for the writer itself."""
    for step in via:
        kind, _, number = step.partition(":")
        if kind == "epoch" and number.isdigit():
            return int(number)
    return -1


def coverage_json(facts: Facts) -> dict[str, int]:
    """Return the coverage for the manifest."""
    return asdict(facts.coverage)
