"""Rank 5: what the nearest ancestor of a process is known to work for.

Looked at are the ancestor's live identity at the moment of the fork or exec,
then its own ranks 1 to 4. A token of the engine in its environment says
nothing: whatever the engine starts may have inherited it. Ancestors without
a record are known by (pid, start ticks) from the child's own record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from provio.model.facts import Method
from provio.model.ids import ENGINE
from provio.reconcile.kin import Epochs
from provio.reconcile.piece import Piece

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from provio.model.evidence import Epoch, Image
    from provio.reconcile.clues import Clues


class Ancestry:
    """Walks upward; remembers the answer per image, so that deep trees cost no more than wide ones."""

    def __init__(
        self,
        clues: Clues,
        images: Mapping[int, Image],
        epochs: Iterable[Epoch],
        own: Callable[[Image], Sequence[Piece]],
    ) -> None:
        self._clues = clues
        self._images = images
        self._own = own
        self._epochs = Epochs(epochs)
        self._found: dict[int, Piece | None] = {}

    def of(self, image: Image) -> Piece | None:
        """Return what the nearest ancestor with an answer says."""
        path: list[Image] = []
        seen: set[int] = set()
        here, found = image, None
        while found is None and here.image not in self._found and here.image not in seen:
            path.append(here)
            seen.add(here.image)
            parent = self._images.get(here.parent)
            if parent is None:
                found = self._recorded(here)
                break
            found = self._says(parent, here.since)
            here = parent
        found = found or self._found.get(here.image)
        for child in path:
            self._found[child.image] = found
        return found

    def _says(self, parent: Image, at: int) -> Piece | None:
        live = {e.live or self._clues.told(parent, e) for e in self._epochs.at(parent.image, at)}
        if len(live) == 1 and (who := live.pop()):
            return Piece(Method.ANCESTOR, who, f"process {parent.pid} worked for it at that time")
        if self._clues.is_engine_runtime(parent):
            return Piece(Method.ANCESTOR, ENGINE, f"process {parent.pid} is the engine's")
        told = [p for p in self._own(parent) if p.attempt != ENGINE]
        if not told:
            return None
        best = min(told)
        return Piece(Method.ANCESTOR, best.attempt, f"process {parent.pid}: {best.text}")

    def _recorded(self, image: Image) -> Piece | None:
        for pid, ticks in image.ancestors:
            if attempt := self._clues.of_process(image.boot, pid, ticks):
                return Piece(Method.ANCESTOR, attempt, f"process {pid} was started for it")
        return None
