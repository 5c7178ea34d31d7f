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
from typing import TYPE_CHECKING, NamedTuple

from provio.model.facts import Attribution, Confidence, Derivation
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
) -> list[Derivation]:
    """Return the proved derivations, in order of output and input."""
    known, writes = _reads_and_writes(evidence, found)
    edges = _forks(images, epochs, attributions)
    for source, more in _channels(evidence).items():
        edges[source].extend(more)
    _spread(known, edges)
    proofs: dict[tuple[int, int], Via] = {}
    for epoch, written in writes.items():
        _prove(known.get(epoch, {}), written, proofs)
    for output, old in found.kept:
        proofs.setdefault((output, old), (f"kept:{old}",))
    return [Derivation(out, source, Confidence.PROVED, via) for (out, source), via in sorted(proofs.items())]


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
    """Return edges from parents to forked children that work for the same task."""
    owner = {a.epoch: (a.scope, a.attempt) for a in attributions}
    of_image: dict[int, list[Epoch]] = defaultdict(list)
    for epoch in epochs:
        of_image[epoch.image].append(epoch)
    edges: dict[int, list[_Edge]] = defaultdict(list)
    for image in images.values():
        if not image.forked:
            continue
        for above in of_image.get(image.parent, ()):
            for below in of_image[image.image]:
                if owner.get(above.epoch) == owner.get(below.epoch):
                    edges[above.epoch].append(
                        _Edge(below.epoch, image.since, image.since, f"fork:{image.image}")
                    )
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
                    since = max(w.first, r.first)
                    edges[w.epoch].append(_Edge(r.epoch, w.last, since, f"channel:{channel}"))
    return edges


def _spread(known: _Known, edges: Mapping[int, Sequence[_Edge]]) -> None:
    """Carry knowledge along the edges until nothing gets anywhere earlier."""
    waiting = deque(sorted(epoch for epoch in edges if known.get(epoch)))
    queued = set(waiting)
    while waiting:
        source = waiting.popleft()
        queued.discard(source)
        for edge in sorted(edges.get(source, ())):
            if _carry(known, source, edge) and edge.target in edges and edge.target not in queued:
                waiting.append(edge.target)
                queued.add(edge.target)


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
) -> None:
    for output, last in writes.items():
        for version, (moment, via) in known.items():
            if moment >= last or version == output:
                continue
            before = proofs.get((output, version))
            if before is None or (len(via), via) < (len(before), before):
                proofs[output, version] = via
