"""What a run did."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from provio.errors import UsageError
from provio.query.show import ShowAnswer, show
from support.answers import RUN, T0, Answers, S, Story, attempt_id, seismic

Held = Callable[[Story], Answers]


def attempts(answer: ShowAnswer) -> dict[str, object]:
    return {one.id: one for task in answer.tasks for one in task.attempts}


def test_json_has_the_fields_that_the_specification_names(held: Held) -> None:
    document = json.loads(json.dumps(show(held(seismic())).to_json()))
    assert document["version"] == 1
    assert {"id", "engine", "workflow", "state", "started_ns", "ended_ns"} <= document["run"].keys()
    assert document["run"]["id"] == RUN
    task = document["tasks"][0]
    assert {"logical", "physical", "attempts"} <= task.keys()
    assert {
        "id", "attempt", "state", "exit_code", "started_ns", "ended_ns", "cwd", "pid", "cgroup_id",
        "processes",
        "files_read", "files_written", "bytes_read", "bytes_written", "operations", "attribution",
    } <= task["attempts"][0].keys()  # fmt: skip
    assert document["engine"]["operations"] == 10
    assert document["unattributed"]["operations"] == 10
    assert document["coverage"]["attributed"] == 0.95
    assert document["coverage"]["seen"] == 0.999
    assert [gap["kind"] for gap in document["gaps"]] == ["engine-not-traced", "killed"]


def test_every_try_is_listed_in_order_under_its_task(held: Held) -> None:
    answer = show(held(seismic()))
    stack = next(task for task in answer.tasks if task.logical == "stack")
    assert [(one.attempt, one.state, one.exit_code) for one in stack.attempts] == [
        (1, "failed", 1),
        (2, "succeeded", 0),
    ]


def test_attribution_counts_operations_by_method(held: Held) -> None:
    by_id = attempts(show(held(seismic())))
    assert by_id[attempt_id("A1")].attribution == {"carried": 10}  # type: ignore[attr-defined]
    assert by_id[attempt_id("S2")].attribution == {"live": 10}  # type: ignore[attr-defined]


def test_what_is_not_known_is_none_and_not_zero(held: Held) -> None:
    story = Story()
    story.task(0, "sort", "sort:")
    story.attempt(
        "X", 0, 1, 2, ended_ns=0, cpu_user_ns=-1, max_rss_bytes=-1, io_time_ns=-1, cgroup_id=0, exit_code=None
    )
    (one,) = show(held(story)).tasks[0].attempts
    assert (one.ended_ns, one.duration_ns, one.cpu_ns, one.max_rss_bytes, one.io_share) == (None,) * 5
    assert (one.cgroup_id, one.exit_code) == (None, None)


def test_share_of_time_in_io_is_io_time_over_wall_time(held: Held) -> None:
    story = Story()
    story.task(0, "sort", "sort:")
    story.attempt("X", 0, 1, 3, io_time_ns=S // 2)
    (one,) = show(held(story)).tasks[0].attempts
    assert one.io_share == 0.25


def test_task_is_chosen_by_logical_name_or_by_key(held: Held) -> None:
    source = held(seismic())
    assert len(show(source, task="convert").tasks) == 2
    assert [task.physical for task in show(source, task="convert:sample=b").tasks] == ["convert:sample=b"]


def test_unknown_task_is_an_error_that_suggests_the_nearest(held: Held) -> None:
    with pytest.raises(UsageError, match="no task 'convrt'") as error:
        show(held(seismic()), task="convrt")
    assert "convert" in error.value.hint


def test_attempt_is_chosen_by_its_first_digits(held: Held) -> None:
    answer = show(held(seismic()), attempt=attempt_id("S2")[:4])
    assert list(attempts(answer)) == [attempt_id("S2")]


def test_unknown_or_ambiguous_attempt_is_an_error(held: Held) -> None:
    source = held(seismic())
    with pytest.raises(UsageError, match="no attempt"):
        show(source, attempt="ffff")
    with pytest.raises(UsageError, match="3 attempts"):
        show(source, attempt="5")


def test_running_run_carries_the_moment_of_the_answer(held: Held) -> None:
    story = seismic()
    story.state, story.as_of = "running", T0 + 9 * S
    run = show(held(story)).run
    assert (run.state, run.as_of_ns) == ("running", T0 + 9 * S)


def test_run_without_anything_recorded_has_unknown_coverage(held: Held) -> None:
    story = Story()
    story.manifest["coverage"] = {}
    answer = show(held(story))
    assert answer.coverage.attributed is None
    assert answer.coverage.seen is None
    assert answer.coverage.seen_reason


def test_something_that_ran_unseen_makes_seen_unknown_with_its_reason(held: Held) -> None:
    story = seismic()
    story.add("gaps", kind="static-binary", scope="run", count=2, detail="busybox")
    coverage = show(held(story)).coverage
    assert coverage.seen is None
    assert "static-binary" in coverage.seen_reason
    assert coverage.to_json()["kernel_bytes"] == 10000


def test_ten_thousand_attempts_are_answered_in_a_fraction_of_a_second() -> None:
    story = Story()
    for number in range(10_000):
        story.task(number, f"rule{number % 20}", f"rule{number % 20}:n={number}")
        story.attempt(f"{number:05}", number, 1, 2)
    source = story.sqlite()
    begin = time.process_time()
    text = json.dumps(show(source).to_json())
    assert len(text) > 1_000_000
    assert time.process_time() - begin < 1.0  # 0.2 s alone on the machine
