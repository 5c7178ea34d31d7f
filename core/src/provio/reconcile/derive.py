"""Which content was made from which (design, section 4).

``Derived(output, input)`` is proved by a path in time from the reader of the
input to the writer of the output: within one epoch of one process image, over a
fork (memory read before it), over a channel (written after it was known, read
after that), and so on in any number. The read must begin before the last write
ends. Through exec nothing is proved: memory is gone. Between epochs of one
image nothing is proved either: a long-lived worker serves many tasks.

The walk keeps, per epoch, the earliest moment at which each input can be known
there. Files in between are not walked: lineage joins derivations by version.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, Final, NamedTuple

from provio.model.facts import Attribution, Confidence, Derivation
from provio.model.gaps import Gap, GapKind
from provio.reconcile.kin import Epochs
from provio.reconcile.versions import CONTENT_WRITES, READS, Found

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from provio.model.evidence import ChannelUse, Epoch, Evidence, Image

Via = tuple[str, ...]


class _Edge(NamedTuple):
    """Knowledge of one epoch that had arrived by ``until`` is known in another from ``since`` on."""

    target: int
    until: int
    since: int
    step: str


def derive(
    evidence: Evidence,
    images: Mapping[int, Image],
    epochs: Sequence[Epoch],
    attributions: Sequence[Attribution],
    found: Found,
) -> tuple[list[Derivation], list[Gap]]:
    """Return the proved derivations, in order of output and input, and what was too much to follow."""
    known, writes = _reads_and_writes(evidence, found)
    edges = _forks(images, epochs, attributions)
    for source, more in _channels(evidence).items():
        edges[source].extend(more)
    gaps = [] if _spread(known, edges) else [_too_many("what passed through channels and forks")]
    proofs: dict[tuple[int, int], Via] = {}
    for output, old in found.kept:
        proofs[output, old] = (f"kept:{old}",)
    left = [epoch for epoch in sorted(writes) if not _prove(known.get(epoch, {}), writes[epoch], proofs)]
    if left:
        gaps.append(_too_many(f"what {len(left)} epoch(s) wrote", len(left)))
    rows = [Derivation(out, source, Confidence.PROVED, via) for (out, source), via in sorted(proofs.items())]
    return rows, gaps


_MOST: Final = 3_000_000
"""Derivations that are stored, and pairs (epoch, input) that are followed; what is beyond is a Gap.

One process that reads and writes 2,500 files each, turn by turn, makes so many.
"""


def _too_many(what: str, count: int = 1) -> Gap:
    return Gap(GapKind.LIMIT, "run", count=count, detail=f"too many derivations: {what} is left out")


_Known = dict[int, dict[int, tuple[int, Via]]]
"""Epoch -> version -> (earliest moment it is known there, steps from its reader)."""


def _reads_and_writes(evidence: Evidence, found: Found) -> tuple[_Known, dict[int, dict[int, int]]]:
    """Return what each epoch read (first moment) and wrote (last moment), by version."""
    versions = dict(found.accesses)
    known: _Known = defaultdict(dict)
    writes: dict[int, dict[int, int]] = defaultdict(dict)
    for touch in evidence.touches:
        version = versions.get(touch.touch)
        if version is None:
            continue
        if touch.op in READS:
            row = known[touch.epoch]
            if version not in row or touch.first < row[version][0]:
                row[version] = (touch.first, (f"epoch:{touch.epoch}",))
        elif touch.op in CONTENT_WRITES:
            last = writes[touch.epoch]
            last[version] = max(touch.last, last.get(version, 0))
    return known, writes


def _forks(
    images: Mapping[int, Image], epochs: Sequence[Epoch], attributions: Sequence[Attribution]
) -> dict[int, list[_Edge]]:
    """Return edges from what parents did at the fork to what children did first, for the same task."""
    owner = {a.epoch: (a.scope, a.attempt) for a in attributions}
    of_image = Epochs(epochs)
    edges: dict[int, list[_Edge]] = defaultdict(list)
    for image in images.values():
        if not image.forked:
            continue
        at = image.since
        for parent in of_image.at(image.parent, at):
            for child in of_image.first(image.image):
                if owner.get(parent.epoch) == owner.get(child.epoch):
                    edges[parent.epoch].append(_Edge(child.epoch, at, at, f"fork:{image.image}"))
    return edges


def _channels(evidence: Evidence) -> dict[int, list[_Edge]]:
    """Return edges from each writer of a channel to its readers that read after it began to write."""
    writers: dict[int, list[ChannelUse]] = defaultdict(list)
    readers: dict[int, list[ChannelUse]] = defaultdict(list)
    for use in sorted(evidence.channels):
        (writers if use.writes else readers)[use.channel].append(use)
    edges: dict[int, list[_Edge]] = defaultdict(list)
    for channel, row in writers.items():
        for w in row:
            for r in readers.get(channel, ()):
                if r.epoch != w.epoch and w.first < r.last:
                    since, until = max(w.first, r.first), min(w.last, r.last)
                    edges[w.epoch].append(_Edge(r.epoch, until, since, f"channel:{channel}"))
    return edges


def _spread(known: _Known, edges: Mapping[int, Sequence[_Edge]]) -> bool:
    """Carry knowledge along the edges until nothing gets anywhere earlier; tell whether all was carried."""
    size = sum(map(len, known.values()))
    waiting = deque(sorted(epoch for epoch in edges if known.get(epoch)))
    queued = set(waiting)
    while waiting:
        source = waiting.popleft()
        queued.discard(source)
        for edge in sorted(edges.get(source, ())):
            if size > _MOST:
                return False
            before = len(known.get(edge.target, ()))
            if _carry(known, source, edge) and edge.target in edges and edge.target not in queued:
                waiting.append(edge.target)
                queued.add(edge.target)
            size += len(known.get(edge.target, ())) - before
    return True


def _carry(known: _Known, source: int, edge: _Edge) -> bool:
    target = known.setdefault(edge.target, {})
    changed = False
    for version, (moment, via) in list(known.get(source, {}).items()):
        if moment >= edge.until:
            continue
        arrival = (max(moment, edge.since), (*via, edge.step, f"epoch:{edge.target}"))
        before = target.get(version)
        if before is None or _better(arrival, before):
            target[version] = arrival
            changed = True
    return changed


def _better(new: tuple[int, Via], old: tuple[int, Via]) -> bool:
    """Earlier wins, then the shorter way, then the smaller text: so that order does not matter."""
    return (new[0], len(new[1]), new[1]) < (old[0], len(old[1]), old[1])


def _prove(
    known: Mapping[int, tuple[int, Via]], writes: Mapping[int, int], proofs: dict[tuple[int, int], Via]
) -> bool:
    """Add the proofs of what an epoch wrote; tell whether there was room for them."""
    if len(proofs) + len(known) * len(writes) > _MOST and known:
        return False
    for output, last in writes.items():
        for version, (moment, via) in known.items():
            if moment >= last or version == output:
                continue
            before = proofs.get((output, version))
            if before is None or (len(via), via) < (len(before), before):
                proofs[output, version] = via
    return True
