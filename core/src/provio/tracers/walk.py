"""Find the blocks of I/O files and the records in MIXED blocks, past any damage.

Blocks are found by their headers, one after the other; after damage the next
sound header is searched for. Records are then stepped through: in all blocks of
a batch at once where there are many (one numpy step per record of the longest
block), else block by block. Both ways find the same, which a test holds.
Decoding what was found is in ``records``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from provio.model.wire import BLOCK_MAGIC, FORMAT_MINOR, HEADER_SIZE, BlockKind, RecordType
from provio.tracers.layout import BLOCK, RECORDS, UNIT

if TYPE_CHECKING:
    import mmap
    from collections.abc import Callable
    from pathlib import Path

    from provio.tracers.spool_files import Header

Ints: TypeAlias = NDArray[np.int64]

_MAGIC_BYTES: Final = BLOCK_MAGIC.to_bytes(4, "little")
_BLOCK_UNITS: Final = BLOCK.itemsize // UNIT
_TYPES: Final = max(RecordType) + 1
_LEAST: Final = tuple(RECORDS[RecordType(t)].itemsize // UNIT if t in RECORDS else 1 for t in range(_TYPES))
"""Smallest size in units of each record type."""
_NEVER: Final = 1 << 20
"""More units than a record can have."""
_TOGETHER: Final = 256
"""Blocks from which they are walked together: below, a numpy step costs more than it saves."""
_SWITCHES: Final = (int(RecordType.IMAGE), int(RecordType.EPOCH))
"""Records after which others stand under another image or epoch."""


@dataclass(frozen=True, slots=True)
class Damage:
    """Part of a file that could not be followed.

    Attributes:
        file: path.
        position: byte where the walk lost its way.
        length: bytes passed over, 0 where the whole file was refused.
        reason: a phrase.
    """

    file: Path
    position: int
    length: int
    reason: str


@dataclass(frozen=True, slots=True)
class SpoolFile:
    """An accepted file and the address of its first byte."""

    header: Header
    base: int
    size: int


@dataclass(frozen=True, slots=True)
class _Mixed:
    """A MIXED block: its file, where that begins in memory, and the units that may hold records."""

    spool: SpoolFile
    offset: int
    start: int
    end: int
    last: int


class Walker:
    """Finds blocks and records of the files in one piece of memory.

    Args:
        data: the memory.
        shift: the address of its first byte, in units.
        damage: takes what could not be followed.
    """

    def __init__(self, data: mmap.mmap, shift: int, damage: list[Damage]) -> None:
        self._data = data
        self._shift = shift
        self._damage = damage
        self._view = memoryview(data)
        self._words = self._view[: len(data) // 4 * 4].cast("I")
        self._blocks: list[_Mixed] = []

    def release(self) -> None:
        """Let go of the memory, so that a mapping can be closed."""
        self._words.release()
        self._view.release()

    def file(self, spool: SpoolFile, offset: int) -> list[tuple[int, int]]:
        """Find the blocks of a file that begins at ``offset``; return the byte spans of its IO records."""
        spans: list[tuple[int, int]] = []
        position, end = offset + HEADER_SIZE, offset + spool.size
        while position + BLOCK.itemsize <= end:
            length = self._block_length(position, end)
            if not length:
                position = self._resync(spool, offset, position, end)
                continue
            if self._words[position // 4 + 3] & 0xFFFF == BlockKind.IO:
                spans.append((position + BLOCK.itemsize, position + length))
            else:
                self._blocks.append(self._mixed(spool, offset, position, length))
            position += length
        return spans

    def records(self) -> tuple[dict[RecordType, Ints], list[tuple[int, int, int, int, int]]]:
        """Return the units of each type of record in MIXED blocks, and who wrote them.

        The latter are segments (address, pid, tid, image address, epoch address;
        -1 for none), each in force up to the next.
        """
        strict = all(block.spool.header.minor <= FORMAT_MINOR for block in self._blocks)
        starts, ends = (
            np.array([getattr(b, n) for b in self._blocks], dtype=np.int64) for n in ("start", "end")
        )
        words = np.frombuffer(self._data, dtype="<u4", count=len(self._words))
        walk = walk_together if len(self._blocks) >= _TOGETHER else walk_one_by_one
        units, kinds, stopped = walk(words, starts, ends, strict=strict)
        for number in np.flatnonzero(stopped < ends).tolist():
            block, at = self._blocks[number], int(stopped[number])
            length = (block.last - at) * UNIT
            self._lost(block.spool, at * UNIT - block.offset, length, "a record does not fit")
        found: dict[RecordType, Ints] = {t: units[kinds == t] for t in RECORDS}
        switches = np.sort(np.concatenate([found[RecordType(t)] for t in _SWITCHES]))
        return found, self._segments(starts, switches)

    def _segments(self, starts: Ints, switches: Ints) -> list[tuple[int, int, int, int, int]]:
        """Follow IMAGE and EPOCH records through each block."""
        inside: dict[int, list[int]] = {}
        owner = np.searchsorted(starts, switches, side="right") - 1
        for number, unit in zip(owner.tolist(), switches.tolist(), strict=True):
            inside.setdefault(number, []).append(unit)
        words, shift = self._words, self._shift
        segments: list[tuple[int, int, int, int, int]] = []
        for number, block in enumerate(self._blocks):
            at, base = (block.start - _BLOCK_UNITS) * 4, block.spool.base
            pid, tid, image, epoch = (words[at + n] for n in range(4, 8))
            image, epoch = image + base if image else -1, epoch + base if epoch else -1
            segments.append((block.start + shift, pid, tid, image, epoch))
            for unit in inside.get(number, ()):
                if words[unit * 4] & 0xFF == RecordType.IMAGE:
                    image, epoch = unit + shift, -1
                elif words[unit * 4 + 2] in (0, tid) and words[unit * 4 + 1] + base == image:
                    epoch = unit + shift  # of another thread or image it would not concern this one
                segments.append((unit + shift, pid, tid, image, epoch))
        return segments

    def _block_length(self, position: int, end: int) -> int:
        """Return the length of the block at a position, 0 if there is no sound block header."""
        at = position // 4
        if self._words[at] != BLOCK_MAGIC:
            return 0
        length = self._words[at + 1]
        kind = self._words[at + 3] & 0xFFFF
        if length % UNIT or length < BLOCK.itemsize or kind not in (BlockKind.MIXED, BlockKind.IO):
            return 0
        return min(length, (end - position) // UNIT * UNIT)  # a file cut within its last block

    def _resync(self, spool: SpoolFile, offset: int, position: int, end: int) -> int:
        """Find the next block header; what lies between is damage unless it is all zeros (taken, unused)."""
        at = position
        while (at := self._data.find(_MAGIC_BYTES, at + 4, end)) >= 0:
            if (at - offset) % UNIT == 0 and at + BLOCK.itemsize <= end and self._block_length(at, end):
                break
        else:
            at = end
        if self._anything(position, at):
            self._lost(spool, position - offset, at - position, "no block header")
        return at

    def _mixed(self, spool: SpoolFile, offset: int, position: int, length: int) -> _Mixed:
        used = self._words[position // 4 + 2]
        last = position + length
        end = position + used // UNIT * UNIT if BLOCK.itemsize <= used <= length else last
        if end < last and self._anything(end, last):
            end = last  # `used` lagged behind
        return _Mixed(spool, offset, position // UNIT + _BLOCK_UNITS, end // UNIT, last // UNIT)

    def _lost(self, spool: SpoolFile, position: int, length: int, reason: str) -> None:
        self._damage.append(Damage(spool.header.path, position, length, reason))

    def _anything(self, start: int, end: int) -> bool:
        """Tell whether any byte between two positions is not zero."""
        return bool(np.frombuffer(self._data, dtype=np.uint8, count=end - start, offset=start).any())


def walk_one_by_one(
    words: NDArray[Any], starts: Ints, ends: Ints, *, strict: bool
) -> tuple[Ints, Ints, Ints]:
    """Step through the records of blocks, one block after the other.

    Args:
        words: the memory as 32-bit words.
        starts: unit from which on each block has records.
        ends: unit where they end.
        strict: an unknown record type is damage (else: of a newer minor version).

    Returns:
        Units and types of the records in order, and where each block's walk
        stopped: its end, or before it at damage.
    """
    units: list[int] = []
    kinds: list[int] = []
    view = words.data.cast("B").cast("I")
    stopped = [
        _walk_block(view, start, end, units.append, kinds.append, strict)
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    view.release()
    return tuple(np.array(each, dtype=np.int64) for each in (units, kinds, stopped))  # type: ignore[return-value]


def _walk_block(
    words: memoryview,
    unit: int,
    end: int,
    add_unit: Callable[[int], None],
    add_kind: Callable[[int], None],
    strict: bool,  # noqa: FBT001 - this is called for every block
) -> int:
    least, types = _LEAST, _TYPES
    while unit < end:
        word = words[unit << 2]
        kind, size = word & 0xFF, word >> 16
        if kind == 0:
            unit += size or 1
            continue
        if kind >= types:
            if strict or not size:
                return unit
            unit += size
            continue
        if size < least[kind] or unit + size > end:
            return unit
        add_unit(unit)
        add_kind(kind)
        unit += size
    return end


def walk_together(words: NDArray[Any], starts: Ints, ends: Ints, *, strict: bool) -> tuple[Ints, Ints, Ints]:
    """Do the same in all blocks at once, one record of each per step."""
    least = np.full(256, _NEVER if strict else 1, dtype=np.int64)
    least[: len(_LEAST)] = _LEAST
    stopped = ends.copy()
    number, unit, end = np.arange(len(starts)), starts.copy(), ends
    found: list[Ints] = [np.empty(0, dtype=np.int64)]
    types: list[Ints] = [np.empty(0, dtype=np.int64)]
    while True:
        going = np.flatnonzero(unit < end)
        if not len(going):
            break
        number, unit, end = number[going], unit[going], end[going]
        word = words[unit * 4].astype(np.int64)
        kind, size = word & 0xFF, word >> 16
        torn, known = kind == 0, (kind > 0) & (kind < _TYPES)
        # An unknown type of a newer minor version may reach beyond the end: it is only stepped over.
        bad = ~torn & ((size < least[kind]) | (known & (unit + size > end)))
        stopped[number[bad]] = unit[bad]
        good = known & ~bad
        found.append(unit[good])
        types.append(kind[good])
        unit = np.where(bad, end, unit + np.maximum(size, torn))
    units, kinds = np.concatenate(found), np.concatenate(types)
    order = np.argsort(units, kind="stable")
    return units[order], kinds[order], stopped
