"""Questions about process images: who descends from whom, and what was in force in one at a moment."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from provio.model.evidence import Epoch, Image


class Epochs:
    """The epochs of every image, found by moment in logarithmic time where they follow one another."""

    def __init__(self, epochs: Iterable[Epoch]) -> None:
        self._open: dict[int, list[Epoch]] = defaultdict(list)
        self._closed: dict[int, list[Epoch]] = defaultdict(list)
        for epoch in sorted(epochs, key=attrgetter("since", "epoch")):
            (self._closed if epoch.until else self._open)[epoch.image].append(epoch)
        self._last: dict[int, list[int]] = {}

    def at(self, image: int, moment: int) -> list[Epoch]:
        """Return the epochs of an image in force at a moment: several where threads have their own."""
        found = [e for e in self._open.get(image, ()) if e.since <= moment]
        rows, last = self._closed.get(image, []), self._ends(image)
        here = bisect_right(rows, moment, key=attrgetter("since")) - 1
        while here >= 0 and last[here] > moment:
            if rows[here].until > moment:
                found.append(rows[here])
            here -= 1
        return found

    def first(self, image: int) -> list[Epoch]:
        """Return the epochs with which an image began."""
        heads = self._open.get(image, []) + self._closed.get(image, [])
        born = min((e.since for e in heads), default=0)
        return [e for e in heads if e.since == born]

    def _ends(self, image: int) -> list[int]:
        """Return, for each closed epoch, the latest end up to it."""
        if image not in self._last:
            ends: list[int] = []
            for epoch in self._closed.get(image, ()):
                ends.append(max(epoch.until, ends[-1] if ends else 0))
            self._last[image] = ends
        return self._last[image]


class Kin:
    """Answers from the parents of process images."""

    def __init__(self, images: Mapping[int, Image], epochs: Iterable[Epoch]) -> None:
        self._images = images
        self._image_of = {e.epoch: e.image for e in epochs}

    def may_share(self, opener: int, user: int) -> bool:
        """Tell whether the image of one epoch is that of another, or descends from it.

        A process whose parent has no record may share with anybody.
        """
        wanted, here = self._image_of.get(opener), self._image_of.get(user)
        seen: set[int] = set()
        while here is not None and here not in seen and here != wanted:
            seen.add(here)
            image = self._images.get(here)
            if image is None or (image.parent not in self._images and len(seen) == 1):
                return True
            here = image.parent if image.parent in self._images else None
        return here is not None and here == wanted
