"""One piece of evidence about whose an epoch is, and how bytes are shown in its text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from provio.model.facts import Method


class Piece(NamedTuple):
    """One piece of evidence: method, attempt id (or ENGINE), what it rests on."""

    method: Method
    attempt: str
    text: str


def shown(path: bytes) -> str:
    """Return bytes as text that any file can hold: what is not UTF-8 is escaped."""
    return path.decode("utf-8", "backslashreplace")
