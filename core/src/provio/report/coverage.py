"""Coverage and gaps as lines: what every answer ends with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from provio.report.text import Style, percent, plural, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from provio.query.coverage import CoverageAnswer, GapSeen

_GAPS_SHOWN = 8


def coverage_lines(coverage: CoverageAnswer, style: Style) -> list[str]:
    """Return the one or two lines that state both coverage numbers."""
    return wrapped(coverage_sentence(coverage, style), style, indent="  ", first="")


def coverage_sentence(coverage: CoverageAnswer, style: Style) -> str:
    """Return both numbers in one sentence, each with what it counts or lacks."""
    attributed = style.paint(percent(coverage.attributed), "bold")
    seen = style.paint(percent(coverage.seen), "bold")
    counted = "of the bytes that the kernel counted"
    limits = "; ".join(
        text for text in (counted if coverage.seen is not None else "", coverage.seen_reason) if text
    )
    operations = plural(coverage.recorded_operations, "recorded operation")
    return f"Coverage: attributed {attributed} (of {operations}), seen {seen} ({limits})."


def gap_lines(gaps: Sequence[GapSeen], style: Style, *, limit: int = _GAPS_SHOWN) -> list[str]:
    """Return the gaps, same kinds together; one line says so where there is none."""
    if not gaps:
        return ["Gaps: none reported."]
    groups = sorted(_grouped(gaps).items(), key=lambda item: (-sum(g.count for g in item[1]), item[0]))
    lines = [style.title("Gaps") + style.paint("  what could not be seen or said", "dim")]
    for kind, members in groups[:limit]:
        lines += wrapped(_gap_text(kind, members, style), style, indent="      ", first="  ")
    if len(groups) > limit:
        lines.append(f"  … and {plural(len(groups) - limit, 'more kind')} (--json lists all)")
    return lines


def _grouped(gaps: Iterable[GapSeen]) -> dict[str, list[GapSeen]]:
    groups: dict[str, list[GapSeen]] = {}
    for gap in gaps:
        groups.setdefault(gap.kind, []).append(gap)
    return groups


def _gap_text(kind: str, members: list[GapSeen], style: Style) -> str:
    count = sum(gap.count for gap in members)
    times = f" ({plural(count, 'time')})" if count > 1 else ""
    detail = next((gap.detail for gap in members if gap.detail), "") or meaning(kind)
    more = f" (and {len(members) - 1} more)" if len(members) > 1 else ""
    return f"{style.paint(kind, 'yellow')}{times}: {detail}{more}"


def meaning(kind: str) -> str:
    """Return what a kind of gap means; "" for one that this version does not know."""
    from provio.model.gaps import GapKind

    return next((member.meaning for member in GapKind if member.value == kind), "")
