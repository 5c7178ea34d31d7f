"""What holds for any evidence, also for nonsense."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from provio.model.ids import ENGINE
from provio.reconcile import reconcile
from support.scenes import ADOPTED, APPEND, CREATED, INHERITED, TRUNCATED, Scene

if TYPE_CHECKING:
    from provio.model.evidence import Evidence
    from provio.model.facts import Facts

PATHS = ("/a", "/b", "/c")
OPS = ("read", "write", "create", "truncate", "rename", "unlink", "link", "exchange", "mapped-write", "utime")
FLAGS = (0, CREATED, TRUNCATED, APPEND, INHERITED, ADOPTED, CREATED | TRUNCATED)
TIMES = st.integers(1, 60)


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """Return a scene of processes, identities, touches and channels in any disorder."""
    scene = Scene()
    scene.run(cwd=draw(st.sampled_from(["/data", "/elsewhere"])))
    attempts = [scene.attempt(f"t{n}", at=draw(TIMES), command="cat") for n in range(draw(st.integers(0, 3)))]
    who = ["", ENGINE, *attempts]
    for n in range(draw(st.integers(1, 5))):
        image = scene.image(
            carried=draw(st.sampled_from(who)), parent=draw(st.integers(-1, max(n, 1))),
            forked=draw(st.booleans()), since=draw(TIMES), cwd=b"/data",
        )  # fmt: skip
        for _ in range(draw(st.integers(0, 2))):
            since = draw(TIMES)
            live = draw(st.sampled_from(who))
            scene.epoch(image, live=live, since=since, until=since + draw(TIMES))
    if scene.epochs:
        _acts(scene, draw)
    return scene


def _acts(scene: Scene, draw: st.DrawFn) -> None:
    epochs = st.integers(0, len(scene.epochs) - 1)
    for _ in range(draw(st.integers(0, 12))):
        path, other = draw(st.sampled_from(PATHS)), draw(st.sampled_from(PATHS))
        first, size = draw(TIMES), draw(st.integers(-1, 3))
        scene.touch(
            draw(epochs), draw(st.sampled_from(OPS)), path, first, first + draw(TIMES),
            flags=draw(st.sampled_from(FLAGS)), opened=max(0, first - draw(TIMES)), other=scene.file(other),
            path2=other.encode(), size_open=size, mtime_open=size, size_close=size, mtime_close=size,
        )  # fmt: skip
    for _ in range(draw(st.integers(0, 3))):
        wrote, read = draw(TIMES), draw(TIMES)
        scene.pipe(
            draw(epochs), draw(epochs), wrote=(wrote, wrote + draw(TIMES)), read=(read, read + draw(TIMES))
        )


def _shuffled(evidence: Evidence, seed: int) -> Evidence:
    chance = random.Random(seed)
    names = ("events", "images", "epochs", "files", "touches", "channels", "gaps")
    rows = {name: list(getattr(evidence, name)) for name in names}
    for row in rows.values():
        chance.shuffle(row)
    return replace(evidence, **rows)


@settings(max_examples=120, deadline=None)
@given(scenes(), st.integers(0, 1000))
def test_order_of_the_evidence_does_not_matter(scene: Scene, seed: int) -> None:
    evidence = scene.evidence()
    assert reconcile(_shuffled(evidence, seed)) == reconcile(evidence)


@settings(max_examples=100, deadline=None)
@given(scenes())
def test_evidence_said_twice_by_the_engine_changes_nothing(scene: Scene) -> None:
    before = scene.facts()
    scene.events *= 2
    assert scene.facts() == before


@settings(max_examples=80, deadline=None)
@given(scenes())
def test_every_epoch_has_exactly_one_owner_and_every_attributed_one_an_attempt_that_exists(
    scene: Scene,
) -> None:
    facts = scene.facts()
    known = {a.attempt for a in facts.attempts}
    assert [a.epoch for a in facts.attributions] == [e.epoch for e in scene.epochs]
    assert all((a.scope == "attempt") == (a.attempt in known) for a in facts.attributions)
    assert sum(e.operations for e in scene.epochs) == facts.coverage.recorded_operations


@settings(max_examples=80, deadline=None)
@given(scenes())
def test_no_touch_meets_two_versions(scene: Scene) -> None:
    met = [a.touch for a in scene.facts().accesses]
    assert len(met) == len(set(met))


@settings(max_examples=120, deadline=None)
@given(scenes())
def test_versions_of_a_file_follow_one_another(scene: Scene) -> None:
    by_file: dict[int, list[tuple[int, int, int]]] = {}
    for v in scene.facts().versions:
        by_file.setdefault(v.file, []).append((v.ordinal, v.begun, v.until))
    for row in by_file.values():
        assert [ordinal for ordinal, _, _ in row] == list(range(row[0][0], row[0][0] + len(row)))
        for (_, begun, until), (_, after, _) in pairwise(row):
            assert begun <= until <= after


@settings(max_examples=120, deadline=None)
@given(scenes())
def test_no_input_was_first_read_after_the_last_write_of_its_output(scene: Scene) -> None:
    facts = scene.facts()
    reads, writes = _moments(scene, facts)
    for d in facts.derivations:
        assert d.output != d.input
        if not d.via[0].startswith("kept:"):
            assert reads[d.input] < writes[d.output]


def _moments(scene: Scene, facts: Facts) -> tuple[dict[int, int], dict[int, int]]:
    reads: dict[int, int] = {}
    writes: dict[int, int] = {}
    for access in facts.accesses:
        touch = scene.touches[access.touch]
        if touch.op == "read":
            reads[access.version] = min(touch.first, reads.get(access.version, touch.first))
        else:
            writes[access.version] = max(touch.last, writes.get(access.version, 0))
    return reads, writes
