"""The writer of I/O files under the name that tests know; see ``provio.tracers.writer``."""

from __future__ import annotations

from provio.tracers.writer import (
    BLOCK,
    BOOT,
    DIRECTION,
    EPOCH,
    EXTENTS,
    GAP,
    HANDLE,
    HEADER,
    IMAGE,
    IMAGE_END,
    IO,
    OP,
    RUN,
    Writer,
    direction,
)

__all__ = [
    "BLOCK",
    "BOOT",
    "DIRECTION",
    "EPOCH",
    "EXTENTS",
    "GAP",
    "HANDLE",
    "HEADER",
    "IMAGE",
    "IMAGE_END",
    "IO",
    "OP",
    "RUN",
    "Writer",
    "direction",
]
