"""Where content from before a run came from: the run of the same store that wrote it.

A version of another run is the same content only if name, inode, size and
modification time (ns) all agree; a file that was touched or copied since is
not claimed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from provio.query.show import RunAnswer, run_answer
from provio.query.source import Source, select_in
from provio.query.versions import MakerFact, VersionFact, maker_facts, version_facts

if TYPE_CHECKING:
    from collections.abc import Iterable

Identity = tuple[bytes, int, int | None, int | None]


@dataclass(frozen=True, slots=True)
class Origin:
    """Who made a content, in which run. The maker's detail names the run, too."""

    run: RunAnswer
    fact: VersionFact
    maker: MakerFact

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        maker = self.maker
        return {
            "run": self.run.to_json(),
            "closed_ns": self.fact.closed_ns,
            "maker": {"id": maker.id, "type": maker.type, "label": maker.label, **maker.detail},
        }


def origins(facts: Iterable[VersionFact], others: Iterable[Source]) -> dict[int, Origin]:
    """Return the origin of those versions that no process of their own run made.

    Args:
        facts: versions of one run.
        others: other runs, the ones to prefer first; no more are asked than needed.
    """
    wanted = {_identity(fact): fact.version for fact in facts if not fact.maker_id and _is_sure(fact)}
    found: dict[int, Origin] = {}
    for source in others if wanted else ():
        for identity, origin in _made(source, wanted):
            found[wanted.pop(identity)] = origin
        if not wanted:
            break
    return found


def _identity(fact: VersionFact) -> Identity:
    return fact.path, fact.ino, fact.size, fact.mtime


def _is_sure(fact: VersionFact) -> bool:
    return bool(fact.ino) and fact.size is not None and fact.mtime is not None


def _made(source: Source, wanted: Iterable[Identity]) -> list[tuple[Identity, Origin]]:
    """Return which of the wanted contents this run made."""
    paths = [path for path, *_ in wanted]
    rows = select_in(source, "SELECT version FROM versions WHERE writer_epoch >= 0 AND path IN ({})", paths)
    facts = [
        fact for fact in version_facts(source, (row[0] for row in rows)).values() if _identity(fact) in wanted
    ]
    makers = maker_facts(source, facts)
    run = run_answer(source)
    newest = {_identity(fact): fact for fact in sorted(facts, key=lambda fact: fact.closed_mono or 0)}
    return [
        (identity, Origin(run, fact, _of_run(makers[fact.maker_id], run)))
        for identity, fact in newest.items()
        if fact.maker_id in makers
    ]


def _of_run(maker: MakerFact, run: RunAnswer) -> MakerFact:
    """Name the run in the maker; ids of attempts are unique already, others are made so."""
    name = maker.id if maker.type == "attempt" else f"{maker.id}@{run.id[:8]}"
    detail = maker.detail | {"run": run.id}
    return replace(maker, id=name, label=f"{maker.label} of run {run.id[:8]}", detail=detail)
