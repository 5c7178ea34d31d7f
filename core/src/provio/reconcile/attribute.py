"""Whose each epoch is (design, section 4).

All evidence is collected, the strongest rank decides. Ranks 1 to 4 belong to a
process itself; what its nearest ancestor has of them is rank 5; 6 to 8 are
circumstances; time alone is never evidence. Three refinements:

* In a process that the engine marked as its own runtime, what lies outside a
  live identity is the engine's. What merely inherited the engine's token, or
  descends from the engine, is the engine's only if nothing names a task.
* Where weaker evidence names an attempt inside the chosen one, the inner wins,
  unless the program itself said for whom it works.
* A process that works for an attempt of another run is not ours: it is left
  unattributed, and its evidence names that run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from provio.model.facts import Attribution, Confidence, Method, Scope
from provio.model.ids import ENGINE, AttemptId
from provio.reconcile.ancestry import Ancestry
from provio.reconcile.clues import Clues
from provio.reconcile.piece import Piece

if TYPE_CHECKING:
    from collections.abc import Sequence

    from provio.model.events import Event
    from provio.model.evidence import Epoch, Evidence, Image
    from provio.model.facts import AttemptFact

SiteRule = Callable[[Mapping[str, object]], "str | None"]
"""A plugin's rule: plain data of an epoch (argv, cwd, exe, environment, pid, host) -> attempt id or None."""

_UNSURE: Final = frozenset({Method.DECLARED_OUTPUT})


def attribute(
    evidence: Evidence,
    events: Sequence[Event],
    images: Mapping[int, Image],
    epochs: Sequence[Epoch],
    attempts: Mapping[AttemptId, AttemptFact],
    site_rules: Sequence[SiteRule],
) -> list[Attribution]:
    """Decide every epoch, in order of their numbers."""
    judge = _Judge(Clues(evidence, events, images, attempts), images, epochs, attempts, site_rules)
    return [judge.decide(epoch) for epoch in epochs]


class _Judge:
    """Collects and weighs evidence; remembers what it found for a process image."""

    def __init__(
        self,
        clues: Clues,
        images: Mapping[int, Image],
        epochs: Sequence[Epoch],
        attempts: Mapping[AttemptId, AttemptFact],
        site_rules: Sequence[SiteRule],
    ) -> None:
        self._clues = clues
        self._images = images
        self._attempts = attempts
        self._site_rules = site_rules
        self._ancestry = Ancestry(clues, images, epochs, self._own_pieces)
        self._own: dict[int, tuple[Piece, ...]] = {}
        self._all: dict[int, tuple[Piece, ...]] = {}
        self._around: dict[str, frozenset[str]] = {}

    def decide(self, epoch: Epoch) -> Attribution:
        """Weigh everything that is known of one epoch."""
        image = self._images.get(epoch.image)
        if image is None:
            return _unattributed(epoch, ())
        live = self._live(epoch, image)
        pieces = (*live, *self._of_image(image), *self._by_output(epoch))
        if not live and self._is_engine(image):
            chosen: Piece | None = Piece(Method.LIVE, ENGINE, "process of the engine")
        else:
            chosen = live[0] if live else self._strongest(image, pieces)
        if chosen is None or not self._is_ours(chosen):
            return _unattributed(epoch, pieces)
        return self._settle(epoch, pieces, chosen)

    def _strongest(self, image: Image, pieces: Sequence[Piece]) -> Piece | None:
        named = [p for p in pieces if p.attempt != ENGINE]
        if named:
            best = min(named, key=lambda p: p.method)
            inner = [p for p in named if best.attempt in self._outer(p.attempt)]
            return min(inner, key=lambda p: (-len(self._outer(p.attempt)), p.method)) if inner else best
        return next(iter(pieces), None) or next(iter(self._ask_site(image)), None)

    def _is_ours(self, piece: Piece) -> bool:
        return piece.attempt == ENGINE or piece.attempt in self._attempts

    def _is_engine(self, image: Image) -> bool:
        """Tell whether a process is the engine's runtime, or still runs on its memory after a fork."""
        seen: set[int] = set()
        while not self._clues.is_engine_runtime(image):
            seen.add(image.image)
            parent = self._images.get(image.parent)
            started_for_task = image.ended != "exec" and self._clues.root(image)
            if not image.forked or parent is None or parent.image in seen or started_for_task:
                return False
            image = parent
        return True

    def _settle(self, epoch: Epoch, pieces: Sequence[Piece], chosen: Piece) -> Attribution:
        evidence = pieces if chosen in pieces else (chosen, *pieces)
        against = [p for p in evidence if self._contradicts(p, chosen)]
        return Attribution(
            epoch=epoch.epoch,
            scope=Scope.ENGINE if chosen.attempt == ENGINE else Scope.ATTEMPT,
            attempt=None if chosen.attempt == ENGINE else AttemptId(chosen.attempt),
            method=chosen.method,
            confidence=Confidence.POSSIBLE if chosen.method in _UNSURE else Confidence.PROVED,
            evidence=tuple(tuple(p) for p in evidence),  # type: ignore[misc]
            contradictions=tuple(tuple(p) for p in against),  # type: ignore[misc]
        )

    def _contradicts(self, piece: Piece, chosen: Piece) -> bool:
        """Tell whether a piece names a task of this run that is neither the chosen one nor around it."""
        if piece.attempt == chosen.attempt or ENGINE in {piece.attempt, chosen.attempt}:
            return False
        return piece.attempt in self._attempts and piece.attempt not in self._outer(chosen.attempt)

    def _outer(self, attempt: str) -> frozenset[str]:
        """Return the attempts around an attempt."""
        if attempt not in self._around:
            found: set[str] = set()
            fact = self._attempts.get(AttemptId(attempt))
            while fact is not None and fact.parent is not None and fact.parent not in found:
                found.add(fact.parent)
                fact = self._attempts.get(fact.parent)
            self._around[attempt] = frozenset(found - {attempt})
        return self._around[attempt]

    def _live(self, epoch: Epoch, image: Image) -> tuple[Piece, ...]:
        if epoch.live:
            text = "the program said so (provio_task_set)" + self._elsewhere(epoch.live_run)
            return (Piece(Method.LIVE, epoch.live, text),)
        told = self._clues.told(image, epoch)
        return (Piece(Method.LIVE, told, f"the engine named process {image.pid}"),) if told else ()

    def _elsewhere(self, run: str) -> str:
        return f", of run {run}" if run and run != self._clues.run else ""

    def _of_image(self, image: Image) -> tuple[Piece, ...]:
        if image.image not in self._all:
            above = self._ancestry.of(image)
            between = (above,) if above else ()
            self._all[image.image] = (*self._own_pieces(image), *between, *self._circumstances(image))
        return self._all[image.image]

    def _own_pieces(self, image: Image) -> tuple[Piece, ...]:
        """Return ranks 1 to 4 of the process itself."""
        if image.image not in self._own:
            clues = self._clues
            found = (
                (Method.LIVE, clues.root(image), f"process {image.pid} was started for it"),
                (Method.CGROUP, clues.cgroup(image), f"control group {image.cgroup_path}"),
                (Method.CARRIED, image.carried, "PROVIO_TASK at exec" + self._elsewhere(image.carried_run)),
                (Method.COMMAND_LINE, clues.command_line(image), "the engine's command line"),
            )
            self._own[image.image] = tuple(Piece(m, a, text) for m, a, text in found if a)
        return self._own[image.image]

    def _circumstances(self, image: Image) -> tuple[Piece, ...]:
        clues = self._clues
        found = (
            (Method.WORKING_DIRECTORY, clues.directory(image), "the only attempt in that directory"),
            (Method.COMMAND_TEXT, clues.command_text(image), "the only active attempt that runs it"),
        )
        return tuple(Piece(m, a, text) for m, a, text in found if a)

    def _by_output(self, epoch: Epoch) -> tuple[Piece, ...]:
        attempt, path = self._clues.declared_output(epoch.epoch)
        text = f"wrote its declared output {path}"
        return (Piece(Method.DECLARED_OUTPUT, attempt, text),) if attempt else ()

    def _ask_site(self, image: Image) -> list[Piece]:
        data: dict[str, object] = {
            "pid": image.pid, "ppid": image.ppid, "host": image.host, "argv": image.argv, "exe": image.exe,
            "cwd": image.cwd, "environment": dict(image.environment), "cgroup_path": image.cgroup_path,
        }  # fmt: skip
        answers = (rule(data) for rule in self._site_rules)
        return [Piece(Method.SITE_RULE, a, "rule of this site") for a in answers if a and a in self._attempts]


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
