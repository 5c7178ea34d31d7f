"""The two ways to step through blocks find the same, whatever the bytes are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from provio.tracers import walk
from provio.tracers.walk import walk_one_by_one, walk_together

if TYPE_CHECKING:
    import pytest

KINDS = st.sampled_from([0, 0, 1, 1, 2, 4, 5, 7, 9, 10, 200])
SIZES = st.sampled_from([0, 1, 2, 4, 6, 10, 20, 60, 65535])
HEADS = st.lists(st.tuples(KINDS, SIZES), min_size=1, max_size=60)


def memory(heads: list[tuple[int, int]]) -> np.ndarray:
    """Records whose heads follow each other as their sizes say (as far as there is room)."""
    words = np.zeros(4 * 400, dtype="<u4")
    unit = 0
    for kind, size in heads:
        if unit >= 400:
            break
        words[unit * 4] = kind | size << 16
        unit += size if 0 < size < 400 else 1
    return words


@settings(max_examples=300, deadline=None)
@given(HEADS, st.lists(st.integers(1, 399), max_size=5), st.booleans())
def test_both_walks_agree(heads: list[tuple[int, int]], cuts: list[int], strict: bool) -> None:  # noqa: FBT001
    words = memory(heads)
    edges = np.array(sorted({0, 400, *cuts}), dtype=np.int64)
    one = walk_one_by_one(words, edges[:-1], edges[1:], strict=strict)
    together = walk_together(words, edges[:-1], edges[1:], strict=strict)
    for a, b in zip(one, together, strict=True):
        assert a.tolist() == b.tolist()


def test_many_blocks_are_decoded_together_like_few(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ANN001
    from provio.tracers.records import read_records
    from spoolwriter import Writer, direction

    for number in range(6):
        writer = Writer("11" * 16)
        writer.image()
        for n in range(number * 3):
            writer.handle(f"/w/{n}", n + 1, read=direction(1, 1, 5, 6))
        torn = writer.handle("/w/torn", 99)
        if number % 2:
            writer.data[torn * 16] = 0xEE
        writer.epoch(writer._last_image, t=9, attempt="22" * 16)
        writer.write(tmp_path / f"{number}.preload")
    few = read_records(sorted(tmp_path.iterdir()))
    monkeypatch.setattr(walk, "_TOGETHER", 1)
    many = read_records(sorted(tmp_path.iterdir()))
    for kind, rows in few.rows.items():
        assert np.array_equal(rows, many.rows[kind])
        assert np.array_equal(few.addr[kind], many.addr[kind])
    assert few.damage == many.damage
    assert len(few.damage) == 3
    assert few.strings == many.strings
    assert np.array_equal(few.segments.epoch, many.segments.epoch)
