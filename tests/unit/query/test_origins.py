"""Content from before a run, found in the run that made it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from provio.query.lineage import lineage
from provio.query.paths import resolve
from provio.query.why import why
from support.answers import CWD, Answers, Story, seismic

if TYPE_CHECKING:
    from collections.abc import Callable

OTHER = "cd" * 16


def maker_of_raw(**identity: int) -> Answers:
    """Return another run, in which ``fetch`` wrote raw/a.dat."""
    story = Story()
    story.manifest["run"]["id"] = OTHER
    story.task(0, "fetch", "fetch:sample=a")
    story.process(0, story.attempt("F", 0, 1, 2), ["curl"])
    story.file(0, "raw/a.dat", ino=100)
    story.version(0, 0, 0, 2, **{"size": 77, "mtime": 5, **identity})
    return story.sqlite()


@pytest.fixture
def later() -> Answers:
    story = seismic()
    story.rows["versions"][0] |= {"size": 77, "mtime": 5}
    return story.sqlite()


def ask(source: Answers, others: Callable[[], list[Answers]]) -> list[str]:
    answer = lineage(source, resolve(source, "raw/a.dat", CWD), others=others())
    return [node.label for node in answer.nodes if node.type == "attempt"]


def test_content_of_the_same_name_inode_size_and_time_is_the_other_runs(later: Answers) -> None:
    assert ask(later, lambda: [maker_of_raw()]) == [f"fetch:sample=a of run {OTHER[:8]}"]


@pytest.mark.parametrize("changed", [{"size": 78}, {"mtime": 6}])
def test_content_that_was_touched_since_is_not_claimed(later: Answers, changed: dict[str, int]) -> None:
    assert ask(later, lambda: [maker_of_raw(**changed)]) == []


def test_other_runs_are_asked_only_until_all_is_found(later: Answers) -> None:
    def runs() -> list[Answers]:
        return iter([maker_of_raw(), pytest.fail])  # type: ignore[return-value]

    assert len(ask(later, runs)) == 1


def test_why_tells_the_other_run(later: Answers) -> None:
    answer = why(later, resolve(later, "raw/a.dat", CWD), [maker_of_raw()])
    assert answer.origin is not None
    assert (answer.origin.run.id, answer.origin.maker.detail["logical"]) == (OTHER, "fetch")


def test_content_of_this_run_is_not_looked_for_elsewhere(later: Answers) -> None:
    assert why(later, resolve(later, "fig.png", CWD), [maker_of_raw()]).origin is None
