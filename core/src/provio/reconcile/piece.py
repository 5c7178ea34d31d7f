"""One piece of evidence about whose an epoch is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from provio.model.facts import Method


class Piece(NamedTuple):
    """One piece of evidence: method, attempt id (or ENGINE), what it rests on."""

    method: Method
    attempt: str
    text: str
