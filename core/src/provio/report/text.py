"""Units, tables and colours for terminals: plain text first, ANSI by hand (importing rich costs 100 ms).

What is not known is printed as ``?`` or ``unknown``, never as nothing.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

UNKNOWN: Final = "?"
_ANSI: Final = re.compile(r"\x1b\[[0-9;]*m")
_CODES: Final = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "cyan": "36",
}
_STATE_COLORS: Final = {
    "succeeded": "green", "failed": "red", "cancelled": "yellow", "lost": "yellow", "crashed": "red",
    "running": "cyan",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Style:
    """How to write: width in columns, with colours or without."""

    color: bool = False
    width: int = 100

    def paint(self, text: str, *names: str) -> str:
        """Return the text in these colours (bold, dim, red, ...), or plain."""
        if not self.color or not text:
            return text
        return f"\x1b[{';'.join(_CODES[name] for name in names)}m{text}\x1b[0m"

    def state(self, state: str) -> str:
        """Return a state in its colour."""
        color = _STATE_COLORS.get(state)
        return self.paint(state, color) if color else state

    def title(self, text: str) -> str:
        """Return a heading."""
        return self.paint(text, "bold")


def size(count: int | None) -> str:
    """Return bytes for people: ``0 B``, ``1.5 KiB``; ``?`` for unknown."""
    if count is None:
        return UNKNOWN
    if count < 1024:
        return f"{count} B"
    value = count / 1024
    units = iter(("KiB", "MiB", "GiB", "TiB", "PiB"))
    unit = next(units)
    while value >= 999.5 and unit != "PiB":
        value, unit = value / 1024, next(units)
    return f"{value:.3g} {unit}" if value < 99.95 else f"{value:.0f} {unit}"


def number(count: int | None) -> str:
    """Return a count in groups: ``1,234,567``."""
    return UNKNOWN if count is None else f"{count:,}"


def plural(count: int, one: str, many: str = "") -> str:
    """Return ``1 file``, ``2 files``."""
    return f"{number(count)} {one if count == 1 else many or one + 's'}"


def duration(ns: int | None) -> str:
    """Return a time span: ``3 ms``, ``2.4 s``, ``3 min 12 s``, ``5 h 02 min``, ``3 d 4 h``."""
    if ns is None:
        return UNKNOWN
    if ns < 0:
        return f"-{duration(-ns)}"
    if ns < 1_000_000_000:
        return f"{ns / 1e6:.3g} ms" if ns < 999_500_000 else "1 s"
    seconds = ns / 1e9
    if seconds < 59.95:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"


def clock(ns: int | None) -> str:
    """Return a CLOCK_REALTIME moment in local time, to the second."""
    return "an unknown time" if ns is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(ns / 1e9))


def percent(share: float | None) -> str:
    """Return a share; never ``100 %`` for less than all, nor ``0 %`` for more than nothing."""
    if share is None:
        return "unknown"
    if 0.9995 <= share < 1:
        return ">99.9 %"
    if 0 < share < 0.0005:
        return "<0.1 %"
    return f"{100 * share:.1f} %" if share not in (0, 1) else f"{100 * share:.0f} %"


def visible(text: str) -> int:
    """Return how many columns a text takes, colours not counted."""
    return len(_ANSI.sub("", text))


def shortened(text: str, width: int) -> str:
    """Cut the middle out of a text that is too long: the ends of paths say most."""
    if len(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    head = (width - 1) // 3
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


def table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    style: Style,
    *,
    left: Collection[int] = (0,),
    drop: Sequence[str] = (),
    indent: str = "",
) -> list[str]:
    """Lay out rows under headers; where the width does not suffice, columns go, then the first one is cut.

    Args:
        headers: one per column.
        rows: cells, coloured or not.
        style: width and colour.
        left: columns that are aligned to the left (numbers are not).
        drop: headers of columns that may go, the first to go first.
        indent: put before each line.
    """
    columns = [[header, *cells] for header, *cells in zip(headers, *rows, strict=True)]
    lefts = [index in left for index in range(len(columns))]
    for name in drop:
        if _width(columns, indent) <= style.width:
            break
        index = next(n for n, column in enumerate(columns) if column[0] == name)
        del columns[index], lefts[index]
    widths = [max(map(visible, column)) for column in columns]
    over = _width(columns, indent) - style.width
    if over > 0:
        widths[0] = max(min(16, widths[0]), widths[0] - over)
    lines = [_line(row, widths, lefts, indent) for row in zip(*columns, strict=True)]
    return [style.paint(lines[0], "dim"), *lines[1:]]


def _width(columns: Sequence[Sequence[str]], indent: str) -> int:
    return len(indent) + sum(max(map(visible, column)) for column in columns) + 2 * (len(columns) - 1)


def _line(cells: Sequence[str], widths: Sequence[int], lefts: Sequence[bool], indent: str) -> str:
    shown = []
    for index, (cell, width, left) in enumerate(zip(cells, widths, lefts, strict=True)):
        text = shortened(cell, width) if index == 0 and "\x1b" not in cell else cell
        pad = " " * (width - visible(text))
        shown.append(text + pad if left else pad + text)
    return (indent + "  ".join(shown)).rstrip()


def wrapped(text: str, style: Style, indent: str = "", first: str | None = None) -> list[str]:
    """Break a sentence at spaces to the width; long words (paths) stay whole."""
    lines, current = [], first if first is not None else indent
    empty = True
    for word in text.split(" "):
        if not empty and visible(current) + 1 + visible(word) > style.width:
            lines.append(current)
            current, empty = indent, True
        current += word if empty else f" {word}"
        empty = False
    return [*lines, current]
