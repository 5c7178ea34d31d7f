"""How much of the truth the facts rest on: the two numbers and the Gaps."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from provio.model.events import GapSeen
from provio.model.facts import Coverage, Scope
from provio.model.gaps import Gap, GapKind
from provio.reconcile.attempts import contradictory
from provio.reconcile.piece import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from provio.model.events import Event
    from provio.model.evidence import Epoch, Evidence, Image
    from provio.model.facts import AttemptFact, Attribution
    from provio.model.ids import AttemptId
    from provio.reconcile.versions import Found

_KINDS = {str(kind): kind for kind in GapKind}


def cover(epochs: Sequence[Epoch], images: Iterable[Image], attributions: Sequence[Attribution]) -> Coverage:
    """Count operations by owner, and bytes recorded against bytes that the kernel counted."""
    by_scope: Counter[Scope] = Counter()
    operations = {e.epoch: e.operations for e in epochs}
    for a in attributions:
        by_scope[a.scope] += operations.get(a.epoch, 0)
    images = list(images)
    measured = [i for i in images if i.rchar >= 0 and i.wchar >= 0]
    return Coverage(
        attributed_operations=by_scope[Scope.ATTEMPT],
        recorded_operations=sum(by_scope.values()),
        engine_operations=by_scope[Scope.ENGINE],
        unattributed_operations=by_scope[Scope.UNATTRIBUTED],
        seen_bytes=sum(i.file_bytes + i.channel_bytes for i in measured),
        kernel_bytes=sum(i.rchar + i.wchar for i in measured) if measured else -1,
        unmeasured_images=len(images) - len(measured),
    )


def find_gaps(
    evidence: Evidence,
    events: Sequence[Event],
    images: Mapping[int, Image],
    epochs: Sequence[Epoch],
    attempts: Mapping[AttemptId, AttemptFact],
    attributions: Sequence[Attribution],
    found: Found,
) -> list[Gap]:
    """Return the readers' Gaps, the engine's, and what reconciling left open; sorted, without repeats."""
    gaps = [*evidence.gaps, *_told(events), *_lost(attempts), *contradictory(events)]
    gaps.extend(_disagreements(attributions))
    gaps.extend(_undecided(images, epochs, attributions))
    gaps.extend(_overlaps(found))
    return sorted(set(gaps), key=lambda g: (str(g.kind), g.scope, g.since, g.until, g.detail, g.count))


def _told(events: Sequence[Event]) -> list[Gap]:
    return [
        Gap(
            _KINDS.get(e.kind, GapKind.PLUGIN_FAILED),
            e.scope,
            since=e.stamp.mono,
            count=e.count,
            detail=e.detail,
        )
        for e in events
        if isinstance(e, GapSeen)
    ]


def _lost(attempts: Mapping[AttemptId, AttemptFact]) -> list[Gap]:
    return [
        Gap(
            GapKind.EVENTS_MISSING, f"attempt:{a.attempt}", detail=f"{a.physical}: no event says how it ended"
        )
        for a in attempts.values()
        if a.state == "lost"
    ]


def _disagreements(attributions: Sequence[Attribution]) -> list[Gap]:
    return [
        Gap(GapKind.CONTRADICTION, f"epoch:{a.epoch}", count=len(a.contradictions), detail=_others(a))
        for a in attributions
        if a.contradictions
    ]


def _others(attribution: Attribution) -> str:
    pieces = attribution.contradictions
    return "; ".join(f"{method.name.lower()}: {text} says {who}" for method, who, text in pieces)


def _overlaps(found: Found) -> list[Gap]:
    """Return one Gap per file that several wrote at the same time."""
    text = "wrote while another did: which bytes are whose is not known"
    return [
        Gap(
            GapKind.CONTRADICTION,
            f"file:{shown(path)}",
            since=min(begins),
            count=len(begins),
            detail=f"{len(begins)} {text}",
        )
        for path, begins in found.overlaps
    ]


def _undecided(
    images: Mapping[int, Image], epochs: Sequence[Epoch], attributions: Sequence[Attribution]
) -> list[Gap]:
    """Return one Gap per program with the operations that nobody owns."""
    open_epochs = {a.epoch for a in attributions if a.scope == Scope.UNATTRIBUTED}
    programs: Counter[str] = Counter()
    for e in epochs:
        if e.epoch in open_epochs and e.operations:
            image = images.get(e.image)
            name = shown(image.exe) if image and image.exe else "an unknown program"
            programs[name] += e.operations
    return [
        Gap(
            GapKind.UNDECIDED, f"program:{name}", count=count, detail=f"{name}: no evidence ties it to a task"
        )
        for name, count in programs.items()
    ]
