"""How much of the truth an answer rests on: the two coverage numbers, and the gaps.

``attributed`` is the share of recorded operations that an attempt or the engine
owns; ``seen`` is the share of the kernel's byte count that was recorded. They
are never merged, and an unknown one is None with its reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from provio.query.source import Source, moment

if TYPE_CHECKING:
    from collections.abc import Collection

UNSEEN_KINDS = frozenset({
    "static-binary", "foreign-libc", "setuid", "sanitizer", "no-library", "records-lost", "io-uring",
    "inline-syscall", "no-arena", "no-tracer", "node-evidence-missing", "preload-path", "corrupt-evidence",
})  # fmt: skip
"""Gaps that say that something ran or happened unseen."""


@dataclass(frozen=True, slots=True)
class GapSeen:
    """One gap as answers carry it."""

    kind: str
    scope: str
    count: int
    detail: str
    since_mono: int | None
    until_mono: int | None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            "kind": self.kind,
            "scope": self.scope,
            "count": self.count,
            "detail": self.detail,
            "since_mono": self.since_mono,
            "until_mono": self.until_mono,
        }


@dataclass(frozen=True, slots=True)
class CoverageAnswer:
    """Both numbers with what they are made of.

    Attributes:
        attributed: share in 0..1, None if nothing was recorded.
        seen: share in 0..1, None where not measured.
        seen_reason: why ``seen`` is None, or what limits it; "" if nothing does.
        recorded_operations: all operations in the records.
        attributed_operations: those of attempts and of the engine.
        unattributed_operations: the rest.
        seen_bytes, kernel_bytes: what ``seen`` divides, None if not measured.
    """

    attributed: float | None
    seen: float | None
    seen_reason: str
    recorded_operations: int
    attributed_operations: int
    unattributed_operations: int
    seen_bytes: int | None
    kernel_bytes: int | None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {name: getattr(self, name) for name in self.__slots__}


def coverage(source: Source, gaps: Collection[GapSeen] | None = None) -> CoverageAnswer:
    """Return the coverage of a generation, from its manifest."""
    numbers = source.manifest.get("coverage") or {}
    recorded = int(numbers.get("recorded_operations", 0))
    unattributed = int(numbers.get("unattributed_operations", 0))
    seen_bytes, kernel = int(numbers.get("seen_bytes", -1)), int(numbers.get("kernel_bytes", -1))
    measured = kernel > 0 and seen_bytes >= 0
    unseen = _unseen(gaps_of(source) if gaps is None else gaps)
    return CoverageAnswer(
        attributed=(recorded - unattributed) / recorded if recorded else None,
        seen=min(1.0, seen_bytes / kernel) if measured and not unseen else None,
        seen_reason=_reason(kernel if measured else -1, int(numbers.get("unmeasured_images", 0)), unseen),
        recorded_operations=recorded,
        attributed_operations=recorded - unattributed,
        unattributed_operations=unattributed,
        seen_bytes=seen_bytes if measured else None,
        kernel_bytes=kernel if measured else None,
    )


def _unseen(gaps: Collection[GapSeen]) -> list[str]:
    """Return the kinds of gap that say that something ran unseen: the ratio would then flatter."""
    return sorted({gap.kind for gap in gaps if gap.kind in UNSEEN_KINDS})


def _reason(kernel: int, unmeasured: int, unseen: list[str]) -> str:
    """Say why ``seen`` is unknown or only a bound."""
    reasons = []
    if kernel < 0:
        reasons.append("the kernel's byte counts were not measured")
    elif unmeasured:
        images = "process" if unmeasured == 1 else "processes"
        reasons.append(f"{unmeasured} {images} ended without byte counts")
    if unseen:
        reasons.append(f"something ran unseen ({', '.join(unseen)})")
    return "; ".join(reasons)


def gaps_of(source: Source) -> tuple[GapSeen, ...]:
    """Return every gap of a generation."""
    rows = source.sql(
        "SELECT kind, scope, count, detail, since_mono, until_mono FROM gaps ORDER BY kind, scope, detail"
    )
    return tuple(GapSeen(r[0], r[1], r[2], r[3] or "", moment(r[4]), moment(r[5])) for r in rows)
