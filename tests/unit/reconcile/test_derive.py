"""Which content was made from which: a path in time, or nothing."""

from __future__ import annotations

import sys

import pytest

from provio.model.gaps import GapKind
from support.scenes import ADOPTED, APPEND, CREATED, Scene


def test_reader_that_writes_afterwards_derives() -> None:
    scene = Scene()
    epoch = scene.program()
    scene.read(epoch, "/a", 10)
    scene.write(epoch, "/b", 20, 30)
    assert scene.derived() == {("/b", "/a")}


def test_read_after_the_last_write_derives_nothing() -> None:
    scene = Scene()
    epoch = scene.program()
    scene.write(epoch, "/b", 10, 20)
    scene.read(epoch, "/a", 30)
    assert scene.derived() == set()


def test_read_that_begins_before_the_last_write_derives() -> None:
    scene = Scene()
    epoch = scene.program()
    scene.write(epoch, "/b", 10, 30, count=2)
    scene.read(epoch, "/a", 20)
    assert scene.derived() == {("/b", "/a")}


def test_two_programs_of_one_job_do_not_mix_their_files() -> None:
    scene = Scene()
    attempt = scene.attempt("both")
    shell = scene.image("bash", carried=attempt)
    for source, target in (("/a", "/b"), ("/c", "/d")):
        sort = scene.program("sort", parent=shell, carried=attempt)
        scene.read(sort, source, 20)
        scene.write(sort, target, 30, 40)
    assert scene.derived() == {("/b", "/a"), ("/d", "/c")}


def test_pipe_carries_what_its_writer_knew() -> None:
    scene = Scene()
    cat, tee = scene.program("cat"), scene.program("tee")
    scene.read(cat, "/a", 10)
    scene.pipe(cat, tee, wrote=(20, 25), read=(15, 26))
    scene.write(tee, "/b", 27, 30)
    scene.write(tee, "/c", 27, 31, flags=ADOPTED)
    assert scene.derived() == {("/b", "/a"), ("/c", "/a")}


def test_chain_of_pipes_carries_to_its_end() -> None:
    scene = Scene()
    one, two, three = (scene.program() for _ in range(3))
    scene.read(one, "/a", 10)
    scene.pipe(one, two, wrote=(20, 21), read=(22, 23))
    scene.pipe(two, three, wrote=(24, 25), read=(26, 27))
    scene.write(three, "/b", 28, 29)
    (derivation,) = scene.facts().derivations
    assert derivation.via == ("epoch:0", "channel:0", "epoch:1", "channel:1", "epoch:2")


def test_pipe_written_before_the_read_carries_nothing() -> None:
    scene = Scene()
    one, two = scene.program(), scene.program()
    scene.pipe(one, two, wrote=(10, 12), read=(13, 14))
    scene.read(one, "/a", 20)
    scene.write(two, "/b", 30, 31)
    assert scene.derived() == set()


def test_pipe_whose_reader_stopped_before_the_writer_knew_carries_nothing() -> None:
    scene = Scene()
    one, two, three = (scene.program() for _ in range(3))
    channel = scene.pipe(one, two, wrote=(10, 50), read=(11, 15))
    scene.channels.append(scene.channels[-1]._replace(channel=channel, epoch=three, first=40, last=60))
    scene.read(one, "/a", 30)
    scene.write(two, "/b", 70, 71)
    scene.write(three, "/c", 70, 71)
    assert scene.derived() == {("/c", "/a")}


def test_pipe_read_after_the_last_write_of_its_reader_carries_nothing() -> None:
    scene = Scene()
    one, two = scene.program(), scene.program()
    scene.read(one, "/a", 10)
    scene.pipe(one, two, wrote=(20, 21), read=(40, 41))
    scene.write(two, "/b", 30, 31)
    assert scene.derived() == set()


def test_forked_child_knows_what_its_parent_read_before_and_not_after() -> None:
    scene = Scene()
    attempt = scene.attempt("pool")
    parent = scene.image("python", carried=attempt)
    top = scene.epoch(parent)
    child = scene.program("python", parent=parent, forked=True, since=20, carried=attempt)
    scene.read(top, "/before", 10)
    scene.read(top, "/after", 30)
    scene.write(child, "/b", 40, 41)
    assert scene.derived() == {("/b", "/before")}


def test_exec_forgets() -> None:
    scene = Scene()
    attempt = scene.attempt("job")
    before = scene.image("bash", carried=attempt)
    top = scene.epoch(before)
    scene.read(top, "/script", 10)
    after = scene.program("sort", parent=before, forked=False, carried=attempt, since=20)
    scene.write(after, "/b", 30, 31)
    assert scene.derived() == set()


def test_epochs_of_one_process_do_not_mix() -> None:
    scene = Scene()
    one, two = scene.attempt("one"), scene.attempt("two")
    worker = scene.image("worker")
    first = scene.epoch(worker, live=one, until=20)
    second = scene.epoch(worker, live=two, since=20)
    scene.read(first, "/a", 10)
    scene.write(second, "/b", 30, 31)
    assert scene.derived() == set()


def test_fork_inherits_from_the_epoch_in_force_at_that_moment() -> None:
    scene = Scene()
    attempt = scene.attempt("one")
    worker = scene.image("worker")
    first = scene.epoch(worker, live=attempt, until=20)
    scene.epoch(worker, since=20, live=attempt)
    child = scene.program("worker", parent=worker, forked=True, since=30, carried=attempt)
    scene.read(first, "/a", 10)
    scene.write(child, "/b", 40, 41)
    assert scene.derived() == set()


def test_file_in_between_is_joined_by_its_version() -> None:
    scene = Scene()
    one, two = scene.program(), scene.program()
    scene.read(one, "/a", 10)
    scene.write(one, "/b", 20, 21)
    scene.read(two, "/b", 30)
    scene.write(two, "/c", 40, 41)
    assert scene.derived() == {("/b", "/a"), ("/c", "/b")}


def test_update_in_place_derives_from_what_it_read() -> None:
    scene = Scene()
    epoch = scene.program("sed")
    scene.read(epoch, "/f", 10, size_open=5)
    scene.write(epoch, "/f", 20, 21, flags=0, size_open=5)
    assert scene.derived() == {("/f", "/f")}


def test_reading_back_ones_own_output_derives_nothing() -> None:
    scene = Scene()
    epoch = scene.program()
    scene.write(epoch, "/f", 10, 50, count=5, flags=CREATED, closed=60)
    scene.read(epoch, "/f", 20, opened=10, closed=60)
    assert scene.derived() == set()


def test_what_is_appended_to_stays() -> None:
    scene = Scene()
    one, two = scene.program(), scene.program()
    scene.write(one, "/log", 10, 11)
    scene.write(two, "/log", 20, 21, flags=APPEND, size_open=10)
    assert scene.derived() == {("/log", "/log")}


def test_noise_is_no_input() -> None:
    scene = Scene()
    epoch = scene.program()
    scene.file("/lib/libc.so", category="library")
    scene.read(epoch, "/lib/libc.so", 10)
    scene.write(epoch, "/b", 20, 21)
    assert scene.derived() == set()


def test_channel_that_two_processes_use_both_ways_ends() -> None:
    scene = Scene()
    one, two = scene.program(), scene.program()
    scene.read(one, "/a", 10)
    scene.pipe(one, two, wrote=(20, 90), read=(20, 90))
    scene.pipe(two, one, wrote=(20, 90), read=(20, 90))
    scene.write(two, "/b", 50, 60)
    assert scene.derived() == {("/b", "/a")}


def test_more_derivations_than_can_be_stored_are_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["provio.reconcile.derive"], "_MOST", 3)
    scene = Scene()
    epoch, small = scene.program(), scene.program()
    for n in range(3):
        scene.read(epoch, f"/in/{n}", 10 + n)
        scene.write(epoch, f"/out/{n}", 20 + n)
    scene.write(small, "/other", 30)
    facts = scene.facts()
    assert facts.derivations == ()
    assert [g.detail for g in facts.gaps if g.kind == GapKind.LIMIT] == [
        "too many derivations: what 1 epoch(s) wrote is left out"
    ]


def test_patch_of_a_few_bytes_keeps_the_rest_of_the_content() -> None:
    scene = Scene()
    scene.write(scene.program(), "/f", 10, 11, size_close=100)
    scene.write(scene.program(), "/f", 20, 21, flags=0, bytes=1, size_open=100, size_close=100)
    assert scene.derived() == {("/f", "/f")}


def test_complete_rewrite_in_place_keeps_nothing() -> None:
    scene = Scene()
    scene.write(scene.program(), "/f", 10, 11, size_close=100)
    scene.write(scene.program(), "/f", 20, 21, flags=0, bytes=120, size_open=100, size_close=120)
    assert scene.derived() == set()
