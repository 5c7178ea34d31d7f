"""Whose an epoch is: every rank alone, and against the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from provio.model.facts import Confidence, Method, Scope
from provio.model.gaps import GapKind
from provio.model.ids import ENGINE, AttemptId
from provio.reconcile import reconcile
from support.scenes import BOOT, RUN, Scene

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CGROUP = "/user.slice/job-7"
COMMAND = "sort a > b"
SHELL = (b"/bin/bash", b"-c", b"set -euo pipefail;  " + COMMAND.encode())


def _live(scene: Scene, attempt: AttemptId) -> int:
    return scene.epoch(scene.image(), live=attempt)


def _told(scene: Scene, attempt: AttemptId) -> int:
    epoch = scene.program("python")
    scene.identity(attempt, scene.process(epoch), at=1)
    return epoch


def _root(scene: Scene, attempt: AttemptId) -> int:
    epoch = scene.program("bash")
    scene.starts_process(attempt, scene.process(epoch))
    return epoch


def _cgroup(scene: Scene, attempt: AttemptId) -> int:
    epoch = scene.program("cat", cgroup_path=CGROUP)
    named = scene.process(epoch, pid=9, start_ticks=9, cgroup_id=5, cgroup_path=CGROUP, cgroup_checked=True)
    scene.starts_process(attempt, named)
    return epoch


def _below_cgroup(scene: Scene, attempt: AttemptId) -> int:
    epoch = _cgroup(scene, attempt)
    return scene.program("cat", cgroup_path=CGROUP + "/child") if epoch >= 0 else -1


def _carried(scene: Scene, attempt: AttemptId) -> int:
    return scene.program("cat", carried=attempt)


def _target(text: str) -> tuple[bytes, ...]:
    return (
        *b"python -m snakemake --target-jobs".split(), text.encode(),
        *b"--allowed-rules sort --attempt 1 --mode subprocess".split(),
    )  # fmt: skip


def _command_line(scene: Scene, attempt: AttemptId) -> int:
    assert attempt
    return scene.program(_target("sort:"))


def _ancestor(scene: Scene, attempt: AttemptId) -> int:
    top = scene.image("bash", carried=attempt)
    middle = scene.image("bash", parent=top, forked=True)
    return scene.program("sort", parent=middle)


def _live_ancestor(scene: Scene, attempt: AttemptId) -> int:
    top = scene.image("python", carried=ENGINE, since=5)
    scene.epoch(top, until=20)
    scene.epoch(top, live=attempt, since=20, until=50)
    scene.epoch(top, since=50)
    return scene.program("sort", parent=top, since=30)


def _recorded_ancestor(scene: Scene, attempt: AttemptId) -> int:
    epoch = scene.program("sort", ancestors=((77, 777), (50, 555)))
    scene.starts_process(attempt, scene.process(epoch, pid=50, start_ticks=555))
    return epoch


def _directory(scene: Scene, attempt: AttemptId) -> int:
    assert attempt
    return scene.program("sort", cwd=b"/scratch/1")


def _below_directory(scene: Scene, attempt: AttemptId) -> int:
    assert attempt
    return scene.program("sort", cwd=b"/scratch/1/tmp/x")


def _command(scene: Scene, attempt: AttemptId) -> int:
    assert attempt
    return scene.program(SHELL)


def _output(scene: Scene, attempt: AttemptId) -> int:
    assert attempt
    epoch = scene.program("sort")
    scene.write(epoch, "/data/b", 10)
    return epoch


Plant = "Callable[[Scene, AttemptId], int]"
RANKS = {
    _live: Method.LIVE,
    _told: Method.LIVE,
    _root: Method.LIVE,
    _cgroup: Method.CGROUP,
    _below_cgroup: Method.CGROUP,
    _carried: Method.CARRIED,
    _command_line: Method.COMMAND_LINE,
    _ancestor: Method.ANCESTOR,
    _live_ancestor: Method.ANCESTOR,
    _recorded_ancestor: Method.ANCESTOR,
    _directory: Method.WORKING_DIRECTORY,
    _below_directory: Method.WORKING_DIRECTORY,
    _command: Method.COMMAND_TEXT,
    _output: Method.DECLARED_OUTPUT,
}


def _sort(scene: Scene) -> AttemptId:
    scene.run()
    return scene.attempt("sort", cwd="/scratch/1", command=COMMAND, outputs=("/data/b",))


@pytest.mark.parametrize(("plant", "method"), RANKS.items(), ids=lambda p: getattr(p, "__name__", str(p)))
def test_each_kind_of_evidence_decides_alone(
    plant: Callable[[Scene, AttemptId], int], method: Method
) -> None:
    scene = Scene()
    attempt = _sort(scene)
    epoch = plant(scene, attempt)
    other = scene.attempt("other", cwd="/scratch/2", command="other", outputs=("/data/other",))
    found = scene.owner(epoch)
    assert (found.attempt, found.method, found.contradictions) == (attempt, method, ())
    assert found.attempt != other


@pytest.mark.parametrize(
    ("more", "method"),
    [
        ({"cgroup_path": CGROUP}, Method.CGROUP),
        ({"carried": True}, Method.CARRIED),
        ({"argv": _target("sort:")}, Method.COMMAND_LINE),
        ({"parent": True}, Method.ANCESTOR),
        ({"cwd": b"/scratch/1"}, Method.WORKING_DIRECTORY),
        ({"argv": SHELL}, Method.COMMAND_TEXT),
        ({"writes": True}, Method.DECLARED_OUTPUT),
    ],
)
def test_live_identity_outranks_all_else_and_the_loser_is_recorded(
    more: dict[str, object], method: Method
) -> None:
    scene = Scene()
    loser = _sort(scene)
    winner = scene.attempt("winner")
    writes = more.pop("writes", False)
    if more.pop("carried", False):
        more["carried"] = loser
    if more.pop("parent", False):
        more["parent"] = scene.image("bash", carried=loser)
    argv = more.pop("argv", "cat")
    epoch = scene.epoch(scene.image(argv, **more), live=winner)  # type: ignore[arg-type]
    if writes:
        scene.write(epoch, "/data/b", 10)
    named = scene.process(epoch, pid=9, start_ticks=9, cgroup_path=CGROUP, cgroup_id=5, cgroup_checked=True)
    scene.starts_process(loser, named)
    facts = scene.facts()
    found = facts.attributions[epoch]
    assert (found.attempt, found.method) == (winner, Method.LIVE)
    assert [(m, a) for m, a, _ in found.contradictions] == [(method, loser)]
    assert GapKind.CONTRADICTION in {g.kind for g in facts.gaps}


def test_all_evidence_is_kept_strongest_first() -> None:
    scene = Scene()
    attempt = _sort(scene)
    epoch = scene.program(SHELL, carried=attempt, cwd=b"/scratch/1")
    scene.write(epoch, "/data/b", 10)
    methods = [m for m, _, _ in scene.owner(epoch).evidence]
    assert methods == [
        Method.CARRIED, Method.WORKING_DIRECTORY, Method.COMMAND_TEXT, Method.DECLARED_OUTPUT,
    ]  # fmt: skip


def test_nothing_but_time_leaves_an_epoch_unattributed_and_its_operations_undecided() -> None:
    scene = Scene()
    scene.run()
    scene.attempt("only")
    epoch = scene.program("cat")
    facts = scene.facts()
    assert facts.attributions[epoch].scope == Scope.UNATTRIBUTED
    assert [(g.kind, g.count) for g in facts.gaps] == [(GapKind.UNDECIDED, 1)]


def test_process_with_a_reused_pid_is_not_the_one_that_was_named() -> None:
    scene = Scene()
    attempt = scene.attempt("sort")
    epoch = scene.program("cat")
    scene.starts_process(attempt, scene.process(epoch, start_ticks=1))
    assert scene.owner(epoch).attempt is None


@pytest.mark.parametrize("start_ticks", [0])
def test_process_whose_start_is_unknown_is_not_matched_by_pid_alone(start_ticks: int) -> None:
    scene = Scene()
    attempt = scene.attempt("sort")
    epoch = scene.program("cat", start_ticks=start_ticks)
    scene.starts_process(attempt, scene.process(epoch))
    assert scene.owner(epoch).attempt is None


def test_control_group_shared_by_two_attempts_proves_nothing() -> None:
    scene = Scene()
    attempt = _sort(scene)
    epoch = _cgroup(scene, attempt)
    other = scene.attempt("other")
    ref = scene.process(epoch, pid=8, start_ticks=8, cgroup_id=5, cgroup_path=CGROUP, cgroup_checked=True)
    scene.starts_process(other, ref)
    assert scene.owner(epoch).method is None


def test_control_group_of_the_engine_proves_nothing() -> None:
    scene = Scene()
    attempt = scene.attempt("sort")
    epoch = _cgroup(scene, attempt)
    ref = scene.process(epoch, pid=8, start_ticks=8, cgroup_id=5, cgroup_path=CGROUP, cgroup_checked=True)
    scene.run(process=ref)
    assert scene.owner(epoch).method is None


def test_group_job_with_several_targets_is_not_given_to_the_first() -> None:
    scene = Scene()
    _sort(scene)
    argv = list(_target("sort:"))
    argv.insert(4, b"uniq:")
    assert scene.owner(scene.program(tuple(argv))).method is None


def test_target_with_wildcards_is_the_job_with_the_same_ones_in_any_order() -> None:
    scene = Scene()
    attempt = scene.attempt("sort", physical="sort:a=1,b=2", attributes={"wildcards": {"a": "1", "b": "2"}})
    assert scene.owner(scene.program(_target("sort:b=2,a=1"))).attempt == attempt


def test_shell_that_starts_a_sub_snakemake_is_found_by_the_command_line_in_its_text() -> None:
    scene = Scene()
    attempt = scene.attempt("sort", physical="sort:a=x y", attributes={"wildcards": {"a": "x y"}})
    text = "cd /work && python -m snakemake --target-jobs 'sort:a=x y' --attempt 1 --mode subprocess"
    assert scene.owner(scene.program((b"/bin/sh", b"-c", text.encode()))).attempt == attempt


def test_command_line_names_the_try_by_its_number() -> None:
    scene = Scene()
    scene.attempt("sort", ordinal=1)
    second = scene.attempt("sort", ordinal=2)
    argv = tuple(b"2" if word == b"1" else word for word in _target("sort:"))
    assert scene.owner(scene.program(argv)).attempt == second


def test_snakemake_that_a_user_calls_with_target_jobs_but_without_a_mode_is_no_job() -> None:
    scene = Scene()
    _sort(scene)
    assert scene.owner(scene.program(_target("sort:")[:-2])).method is None


def test_equal_command_text_is_decided_by_which_attempt_is_active() -> None:
    scene = Scene()
    scene.run()
    scene.attempt("sort", ordinal=1, command=COMMAND, at=1, until=10)
    second = scene.attempt("sort", ordinal=2, command=COMMAND, at=20, until=90)
    found = scene.owner(scene.program(SHELL, since=30))
    assert (found.attempt, found.method) == (second, Method.COMMAND_TEXT)


def test_command_text_of_two_active_attempts_decides_nothing() -> None:
    scene = Scene()
    scene.attempt("one", command=COMMAND)
    scene.attempt("two", command=COMMAND)
    assert scene.owner(scene.program(SHELL)).method is None


def test_command_text_on_another_boot_is_not_compared_by_clock() -> None:
    scene = Scene()
    scene.run()
    scene.attempt("one", command=COMMAND, at=1, until=10)
    scene.attempt("two", command=COMMAND, at=20, until=90)
    assert scene.owner(scene.program(SHELL, since=30, boot="c" * 32)).method is None


def test_shared_directory_of_the_run_proves_nothing() -> None:
    scene = Scene()
    scene.run(cwd="/data")
    scene.attempt("sort", cwd="/data")
    assert scene.owner(scene.program("cat", cwd=b"/data")).method is None


def test_declared_outputs_of_two_attempts_cancel_out() -> None:
    scene = Scene()
    scene.attempt("one", outputs=("/data/1",))
    scene.attempt("two", outputs=("/data/2",))
    epoch = scene.program("tee")
    scene.write(epoch, "/data/1", 10)
    scene.write(epoch, "/data/2", 10)
    assert scene.owner(epoch).method is None


def test_vote_is_only_possible_never_proved() -> None:
    scene = Scene()
    epoch = _output(scene, _sort(scene))
    assert scene.owner(epoch).confidence == Confidence.POSSIBLE


def test_engine_process_is_the_engines_whatever_else_points_to_a_task() -> None:
    scene = Scene()
    epoch = scene.program("snakemake", cwd=b"/scratch/1")
    scene.run(process=scene.process(epoch))
    scene.attempt("sort", cwd="/scratch/1", process=scene.process(epoch))
    assert scene.owner(epoch).scope == Scope.ENGINE


def test_runtime_of_a_sub_engine_belongs_to_the_task_only_while_the_task_is_live_in_it() -> None:
    scene = Scene()
    attempt = scene.attempt("sort")
    image = scene.image("snakemake", carried=attempt)
    before = scene.epoch(image, until=20)
    during = scene.epoch(image, since=20, until=50, live=attempt)
    after = scene.epoch(image, since=50)
    scene.identity(ENGINE, scene.process(before), at=6)
    found = [scene.owner(e).scope for e in (before, during, after)]
    assert found == [Scope.ENGINE, Scope.ATTEMPT, Scope.ENGINE]


def test_identity_told_by_events_ends_where_the_engine_takes_the_process_back() -> None:
    scene = Scene()
    attempt = scene.attempt("sort")
    image = scene.image("snakemake")
    epochs = [scene.epoch(image, since=a, until=b) for a, b in ((5, 20), (20, 50), (50, 90))]
    process = scene.process(epochs[0])
    for at, who in ((6, ENGINE), (20, attempt), (50, ENGINE)):
        scene.identity(who, process, at=at)
    found = [scene.owner(e).scope for e in epochs]
    assert found == [Scope.ENGINE, Scope.ATTEMPT, Scope.ENGINE]


def test_identity_of_one_thread_is_not_that_of_another() -> None:
    scene = Scene()
    one, two = scene.attempt("one"), scene.attempt("two")
    image = scene.image("snakemake")
    epochs = [scene.epoch(image, tid=t) for t in (11, 12, 13)]
    process = scene.process(epochs[0])
    scene.identity(ENGINE, process, at=1)
    scene.identity(one, process, at=2, thread=11)
    scene.identity(two, process, at=2, thread=12)
    owners = [scene.owner(e) for e in epochs]
    assert [o.attempt for o in owners] == [one, two, None]
    assert owners[2].scope == Scope.ENGINE


def test_process_that_carries_the_engine_is_still_the_tasks_below_the_tasks_process() -> None:
    scene = Scene()
    attempt = scene.attempt("sort")
    shell = scene.image("bash", carried=ENGINE)
    top = scene.epoch(shell)
    scene.starts_process(attempt, scene.process(top))
    child = scene.program("sort", parent=shell, carried=ENGINE)
    assert [scene.owner(e).attempt for e in (top, child)] == [attempt, attempt]


def test_helper_of_the_engine_belongs_to_the_engine() -> None:
    scene = Scene()
    scene.attempt("sort", cwd="/elsewhere")
    engine = scene.image("snakemake")
    top = scene.epoch(engine)
    scene.run(process=scene.process(top))
    assert scene.owner(scene.program("cbc", parent=engine, carried=ENGINE)).scope == Scope.ENGINE
    assert scene.owner(scene.program("uname", parent=engine)).scope == Scope.ENGINE


def test_work_for_another_run_is_not_ours_and_says_so() -> None:
    scene = Scene()
    scene.run()
    scene.attempt("sort")
    foreign = AttemptId("9" * 32)
    epoch = scene.program("cat", carried=foreign, carried_run="8" * 32)
    facts = scene.facts()
    found = facts.attributions[epoch]
    assert found.scope == Scope.UNATTRIBUTED
    assert "8" * 32 in found.evidence[0][2]
    assert foreign not in {a.attempt for a in facts.attempts}


def test_inner_attempt_wins_over_the_control_group_of_the_one_around_it() -> None:
    scene = Scene()
    outer = _sort(scene)
    inner = scene.attempt("inner", parent=outer, cwd="/scratch/1/inner")
    _cgroup(scene, outer)
    found = scene.owner(scene.program("cat", cgroup_path=CGROUP, carried=inner))
    assert (found.attempt, found.contradictions) == (inner, ())


def test_rule_of_the_site_is_asked_last() -> None:
    scene = Scene()
    attempt = scene.attempt("sort")
    asked: list[object] = []

    def rule(epoch: Mapping[str, object]) -> str | None:
        asked.append(epoch["pid"])
        return attempt

    known = scene.program("cat", carried=attempt)
    unknown = scene.program("dog")
    facts = reconcile(scene.evidence(), [rule])
    assert [facts.attributions[e].method for e in (known, unknown)] == [Method.CARRIED, Method.SITE_RULE]
    assert asked == [101]


def test_parents_that_go_in_a_circle_do_no_harm() -> None:
    scene = Scene()
    scene.program("a", parent=1, forked=True)
    scene.program("b", parent=0, forked=True)
    assert [a.scope for a in scene.facts().attributions] == [Scope.UNATTRIBUTED] * 2


def test_epoch_of_an_image_that_is_not_there_is_unattributed() -> None:
    scene = Scene()
    epoch = scene.program("cat")
    scene.images.clear()
    assert scene.owner(epoch).scope == Scope.UNATTRIBUTED


assert BOOT != RUN
