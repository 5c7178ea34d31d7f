"""Whose each epoch is (design, section 4).

All evidence is collected, the strongest rank decides. Ranks 1 to 4 belong to a
process itself; what its nearest ancestor has of them is rank 5; 6 to 8 are
circumstances; time alone is never evidence. In a process that the engine marked
as its own runtime, what lies outside a live identity is the engine's.

A process that works for an attempt of another run is not ours: it is left
unattributed, and its evidence names that run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from provio.model.facts import Attribution, Confidence, Method, Scope
from provio.model.ids import ENGINE, AttemptId
from provio.reconcile.clues import Clues

if TYPE_CHECKING:
    from collections.abc import Sequence

    from provio.model.events import Event
    from provio.model.evidence import Epoch, Evidence, Image
    from provio.model.facts import AttemptFact

SiteRule = Callable[[Mapping[str, object]], "str | None"]
"""A plugin's rule: plain data of an epoch (argv, cwd, exe, environment, pid, host) -> attempt id or None."""


class Piece(NamedTuple):
    """One piece of evidence: method, attempt id (or ENGINE), what it rests on."""

    method: Method
    attempt: str
    text: str


_SURE: Final = Method.ANCESTOR


def attribute(
    evidence: Evidence,
    events: Sequence[Event],
    images: Mapping[int, Image],
    epochs: Sequence[Epoch],
    attempts: Mapping[AttemptId, AttemptFact],
    site_rules: Sequence[SiteRule],
) -> list[Attribution]:
    """Decide every epoch, in order of their numbers."""
    judge = _Judge(Clues(evidence, events, images, attempts), images, attempts, site_rules)
    return [judge.decide(epoch) for epoch in epochs]


class _Judge:
    """Collects and weighs evidence; remembers what it found for a process image."""

    def __init__(
        self,
        clues: Clues,
        images: Mapping[int, Image],
        attempts: Mapping[AttemptId, AttemptFact],
        site_rules: Sequence[SiteRule],
    ) -> None:
        self._clues = clues
        self._images = images
        self._attempts = attempts
        self._site_rules = site_rules
        self._own: dict[int, tuple[Piece, ...]] = {}
        self._around: dict[int, tuple[Piece, ...]] = {}

    def decide(self, epoch: Epoch) -> Attribution:
        image = self._images.get(epoch.image)
        if image is None:
            return _unattributed(epoch, ())
        live = self._live(epoch, image)
        pieces = (*live, *self._of_image(image), *self._by_output(epoch))
        if not live and self._is_engine(image):
            return self._settle(epoch, pieces, Piece(Method.LIVE, ENGINE, "process of the engine"))
        known = [p for p in pieces if p.attempt == ENGINE or p.attempt in self._attempts]
        if not known:
            known = self._ask_site(image)
        return (
            self._settle(epoch, pieces, min(known, key=lambda p: p.method))
            if known
            else _unattributed(epoch, pieces)
        )

    def _is_engine(self, image: Image) -> bool:
        """Tell whether a process, or the one whose memory it was forked from, is the engine's."""
        while image.forked and image.parent in self._images and not self._clues.is_engine_runtime(image):
            image = self._images[image.parent]
        return self._clues.is_engine_runtime(image)

    def _settle(self, epoch: Epoch, pieces: Sequence[Piece], chosen: Piece) -> Attribution:
        evidence = pieces if chosen in pieces else (chosen, *pieces)
        return Attribution(
            epoch=epoch.epoch,
            scope=Scope.ENGINE if chosen.attempt == ENGINE else Scope.ATTEMPT,
            attempt=None if chosen.attempt == ENGINE else AttemptId(chosen.attempt),
            method=chosen.method,
            confidence=Confidence.PROVED if chosen.method <= _SURE else Confidence.POSSIBLE,
            evidence=tuple(tuple(p) for p in evidence),  # type: ignore[misc]
            contradictions=tuple(tuple(p) for p in evidence if self._contradicts(p, chosen)),  # type: ignore[misc]
        )

    def _contradicts(self, piece: Piece, chosen: Piece) -> bool:
        """Tell whether a piece names a task that is neither the chosen one nor around it."""
        if piece.attempt == chosen.attempt or ENGINE in {piece.attempt, chosen.attempt}:
            return False
        around = self._attempts.get(AttemptId(chosen.attempt))
        while around is not None and around.parent is not None:
            if around.parent == piece.attempt:
                return False
            around = self._attempts.get(around.parent)
        return True

    def _live(self, epoch: Epoch, image: Image) -> tuple[Piece, ...]:
        if epoch.live:
            return (Piece(Method.LIVE, epoch.live, "the program said so (provio_task_set)"),)
        told = self._clues.told(image, epoch.tid, epoch.until)
        return (Piece(Method.LIVE, told, f"the engine named process {image.pid}"),) if told else ()

    def _of_image(self, image: Image) -> tuple[Piece, ...]:
        if image.image not in self._around:
            own = self._own_pieces(image)
            above = self._nearest_ancestor(image) or self._recorded_ancestor(image)
            self._around[image.image] = (*own, *above, *self._circumstances(image))
        return self._around[image.image]

    def _own_pieces(self, image: Image) -> tuple[Piece, ...]:
        """Return ranks 1 to 4 of the process itself."""
        if image.image not in self._own:
            clues = self._clues
            found = (
                (Method.LIVE, clues.root(image), f"process {image.pid} was started for it"),
                (Method.CGROUP, clues.cgroup(image), f"control group {image.cgroup_path}"),
                (Method.CARRIED, image.carried, "PROVIO_TASK at exec"),
                (Method.COMMAND_LINE, clues.command_line(image), "the engine's command line"),
            )
            self._own[image.image] = tuple(Piece(m, a, text) for m, a, text in found if a)
        return self._own[image.image]

    def _nearest_ancestor(self, image: Image) -> tuple[Piece, ...]:
        seen = {image.image}
        parent = self._images.get(image.parent)
        while parent is not None and parent.image not in seen:
            seen.add(parent.image)
            if found := self._own_pieces(parent):
                best = min(found)
                return (Piece(Method.ANCESTOR, best.attempt, f"process {parent.pid}: {best.text}"),)
            parent = self._images.get(parent.parent)
        return ()

    def _recorded_ancestor(self, image: Image) -> tuple[Piece, ...]:
        for pid, ticks in image.ancestors:
            if attempt := self._clues.of_process(image.boot, pid, ticks):
                return (Piece(Method.ANCESTOR, attempt, f"process {pid} was started for it"),)
        return ()

    def _circumstances(self, image: Image) -> tuple[Piece, ...]:
        found = (
            (Method.WORKING_DIRECTORY, self._clues.directory(image), "the only attempt in that directory"),
            (
                Method.COMMAND_TEXT,
                self._clues.command_text(image),
                "the only active attempt that runs it",
            ),
        )
        return tuple(Piece(m, a, text) for m, a, text in found if a)

    def _by_output(self, epoch: Epoch) -> tuple[Piece, ...]:
        attempt, path = self._clues.declared_output(epoch.epoch)
        return (
            (Piece(Method.DECLARED_OUTPUT, attempt, f"wrote its declared output {path}"),) if attempt else ()
        )

    def _ask_site(self, image: Image) -> list[Piece]:
        data: dict[str, object] = {
            "pid": image.pid, "ppid": image.ppid, "host": image.host, "argv": image.argv, "exe": image.exe,
            "cwd": image.cwd, "environment": dict(image.environment), "cgroup_path": image.cgroup_path,
        }  # fmt: skip
        answers = (rule(data) for rule in self._site_rules)
        return [Piece(Method.SITE_RULE, a, "rule of this site") for a in answers if a in self._attempts and a]


def _unattributed(epoch: Epoch, pieces: Sequence[Piece]) -> Attribution:
    """Keep what was found: it names attempts of other runs, or nobody."""
    return Attribution(
        epoch=epoch.epoch,
        scope=Scope.UNATTRIBUTED,
        attempt=None,
        method=None,
        confidence=Confidence.POSSIBLE,
        evidence=tuple(tuple(p) for p in pieces),  # type: ignore[misc]
    )
