"""Units, tables and colours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provio.report.text import (
    Style,
    clock,
    duration,
    number,
    percent,
    plural,
    shortened,
    size,
    table,
    visible,
    wrapped,
)

MS, S = 1_000_000, 1_000_000_000


@pytest.mark.parametrize(
    ("count", "text"),
    [(None, "?"), (0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (1_048_575, "1 MiB"),
     (150 << 20, "150 MiB"), (5 << 40, "5 TiB"), (7 << 60, "7168 PiB")],
)  # fmt: skip
def test_bytes_are_given_in_the_unit_that_fits(count: int | None, text: str) -> None:
    assert size(count) == text


@pytest.mark.parametrize(
    ("ns", "text"),
    [(None, "?"), (0, "0 ms"), (3 * MS, "3 ms"), (999_700_000, "1 s"), (2_400 * MS, "2.4 s"),
     (59_990 * MS, "1 min 0 s"),
     (192 * S, "3 min 12 s"), (18_120 * S, "5 h 02 min"), (90_000 * S, "1 d 1 h"), (-2 * S, "-2 s")],
)  # fmt: skip
def test_time_spans_are_given_in_the_units_that_fit(ns: int | None, text: str) -> None:
    assert duration(ns) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(None, "unknown"), (0, "0 %"), (1, "100 %"), (0.5, "50.0 %"), (0.99999, ">99.9 %"), (0.00001, "<0.1 %")],
)
def test_a_share_is_never_rounded_to_all_or_to_nothing(share: float | None, text: str) -> None:
    assert percent(share) == text


def test_counts_are_grouped_and_agree_with_their_noun() -> None:
    assert number(1234567) == "1,234,567"
    assert number(None) == "?"
    assert (plural(1, "file"), plural(0, "file"), plural(2, "process", "processes")) == (
        "1 file",
        "0 files",
        "2 processes",
    )


def test_time_that_is_not_known_is_said_so() -> None:
    assert clock(1_790_000_000 * S) == "2026-09-21 14:13:20"
    assert clock(None) == "an unknown time"


def test_long_texts_lose_their_middle() -> None:
    assert shortened("a/very/long/path/to/file.txt", 12) == "a/v…file.txt"
    assert shortened("short", 12) == "short"


def test_table_fits_the_width_by_shortening_its_first_column() -> None:
    rows = [["x" * 80, "1"], ["y", "22"]]
    lines = table(("name", "n"), rows, Style(width=40))
    assert max(map(len, lines)) <= 40
    assert "…" in lines[1]


def test_narrow_table_loses_the_columns_that_may_go_before_it_cuts_names() -> None:
    rows = [["x" * 30, "1" * 9, "2"]]
    lines = table(("name", "less", "n"), rows, Style(width=40), drop=("less",))
    assert lines == ["name".ljust(30) + "  n", "x" * 30 + "  2"]


def test_numbers_are_aligned_to_the_right_whatever_their_colour() -> None:
    style = Style(color=True)
    lines = table(("a", "n"), [["x", style.paint("1", "red")], ["y", "1000"]], Style())
    assert [visible(line) for line in lines] == [7, 7, 7]


def test_without_colour_nothing_is_painted() -> None:
    assert Style(color=False).paint("x", "red", "bold") == "x"
    assert Style(color=True).paint("x", "red") == "\x1b[31mx\x1b[0m"


@given(st.lists(st.text("abc", min_size=1, max_size=12), min_size=1, max_size=40), st.integers(20, 60))
def test_wrapping_keeps_every_word_and_the_width(words: list[str], width: int) -> None:
    lines = wrapped(" ".join(words), Style(width=width), indent="  ", first="")
    assert " ".join(" ".join(lines).split()) == " ".join(words)
    assert all(len(line) <= width for line in lines)
