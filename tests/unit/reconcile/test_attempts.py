"""Attempts and the run's state."""

from __future__ import annotations

from dataclasses import replace

from provio.model.gaps import GapKind
from provio.model.ids import AttemptId
from support.scenes import Scene, attempt_id


def test_attempt_with_an_end_has_its_state_and_exit_code() -> None:
    scene = Scene()
    attempt = scene.attempt("sort", until=None)
    scene.ends(attempt, state="failed", exit_code=3, at=50)
    (fact,) = scene.facts().attempts
    assert (fact.state, fact.exit_code, fact.ended_ns) == ("failed", 3, 1_000_050)


def test_attempt_without_an_end_is_lost_when_the_run_is_over_and_that_is_a_gap() -> None:
    scene = Scene()
    attempt = scene.attempt("sort", until=None)
    facts = scene.facts()
    assert [a.state for a in facts.attempts] == ["lost"]
    assert (GapKind.EVENTS_MISSING, f"attempt:{attempt}") in {(g.kind, g.scope) for g in facts.gaps}


def test_attempt_without_an_end_is_running_while_the_run_is() -> None:
    scene = Scene()
    scene.attempt("sort", until=None)
    facts = scene.facts(over=False)
    assert (facts.state, facts.attempts[0].state, facts.gaps) == ("running", "running", ())


def test_run_that_is_over_without_its_last_word_crashed() -> None:
    assert Scene().facts().state == "crashed"


def test_run_with_an_end_has_its_state_even_while_processes_live() -> None:
    scene = Scene()
    scene.run_ends("failed")
    assert scene.facts(over=False).state == "failed"


def test_second_try_names_the_first() -> None:
    scene = Scene()
    first = scene.attempt("sort", ordinal=1, at=1)
    second = scene.attempt("sort", ordinal=2, at=20)
    third = scene.attempt("sort", ordinal=3, at=40)
    retry_of = {a.attempt: a.retry_of for a in scene.facts().attempts}
    assert retry_of == {first: None, second: first, third: second}


def test_tries_are_ordered_by_ordinal_also_where_clocks_disagree() -> None:
    scene = Scene()
    second = scene.attempt("sort", ordinal=2, at=1)
    first = scene.attempt("sort", ordinal=1, at=20)
    retry_of = {a.attempt: a.retry_of for a in scene.facts().attempts}
    assert retry_of == {first: None, second: first}


def test_inner_tries_follow_one_another_and_not_the_attempt_around_them() -> None:
    scene = Scene()
    outer = scene.attempt("sort")
    inner = [
        scene.attempt("sort", at=2 + n, ordinal=n, parent=outer, logical="sort", physical="sort")
        for n in (5, 6)
    ]
    retry_of = {a.attempt: a.retry_of for a in scene.facts().attempts}
    assert retry_of == {outer: None, inner[0]: None, inner[1]: inner[0]}


def test_same_event_twice_changes_nothing() -> None:
    scene = Scene()
    scene.run()
    scene.attempt("sort")
    once = scene.facts()
    scene.events *= 2
    assert scene.facts() == once


def test_two_starts_that_name_different_tasks_are_a_contradiction() -> None:
    scene = Scene()
    attempt = scene.attempt("sort")
    (start, *_) = scene.events
    scene.events.append(replace(start, logical="uniq"))  # type: ignore[call-arg]
    gaps = [g for g in scene.facts().gaps if g.kind == GapKind.CONTRADICTION]
    assert [g.scope for g in gaps] == [f"attempt:{attempt}"]


def test_second_start_of_an_attempt_may_correct_its_directory() -> None:
    scene = Scene()
    scene.attempt("sort")
    (start, *_) = scene.events
    scene.events.append(replace(start, stamp=replace(start.stamp, mono=2, real=1_000_002), cwd="/shadow"))  # type: ignore[call-arg]
    facts = scene.facts()
    assert [a.cwd for a in facts.attempts] == ["/shadow"]
    assert facts.gaps == ()


def test_later_failure_of_what_had_succeeded_is_the_last_word() -> None:
    scene = Scene()
    attempt = scene.attempt("sort", until=None)
    scene.ends(attempt, at=50, exit_code=0)
    scene.ends(attempt, at=60, state="failed", message="output missing")
    facts = scene.facts()
    assert [(a.state, a.exit_code, a.message) for a in facts.attempts] == [("failed", 0, "output missing")]
    assert not [g for g in facts.gaps if g.kind == GapKind.CONTRADICTION]


def test_success_after_failure_of_one_attempt_is_a_contradiction() -> None:
    scene = Scene()
    attempt = scene.attempt("sort", until=None)
    scene.ends(attempt, at=50, state="failed")
    scene.ends(attempt, at=60, state="succeeded")
    assert GapKind.CONTRADICTION in {g.kind for g in scene.facts().gaps}


def test_attempt_that_only_a_process_names_is_kept() -> None:
    scene = Scene()
    scene.run()
    lost = attempt_id("lost")
    epoch = scene.program("cat", carried=lost)
    facts = scene.facts()
    assert [(a.attempt, a.state) for a in facts.attempts] == [(lost, "lost")]
    assert facts.attributions[epoch].attempt == lost


def test_attempt_that_only_a_live_identity_names_is_kept() -> None:
    scene = Scene()
    scene.run()
    lost = attempt_id("lost")
    epoch = scene.epoch(scene.image("python"), live=lost)
    facts = scene.facts()
    assert [a.attempt for a in facts.attempts] == [lost]
    assert facts.attributions[epoch].attempt == lost


def test_attempt_that_only_its_end_names_is_kept() -> None:
    scene = Scene()
    scene.run()
    scene.ends(AttemptId("e" * 32), state="failed")
    assert [(a.attempt, a.state) for a in scene.facts().attempts] == [("e" * 32, "failed")]
