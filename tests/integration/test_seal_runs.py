"""Sealing whole runs: repeatable, atomic, off when a run goes on, live answers meanwhile."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from provio.engines.host import start_ticks
from provio.errors import EvidenceError, SetupError, StoreError, UsageError
from provio.model.wire import HandleFlags, Kind, Op
from provio.pipeline import answer, seal
from provio.store import Store
from spoolmaker import ATTEMPTS, RUN, Bench
from spoolwriter import direction

if TYPE_CHECKING:
    from pathlib import Path

GONE = {"pid": 2**22 - 1, "start_ticks": 1}
MADE = HandleFlags.CREATED | HandleFlags.CLOSED


def story(bench: Bench, ino: int = 100) -> None:
    """``sort`` reads a and writes b; ``stack`` reads b and writes c, at its second try."""
    for number, (task, given, made) in enumerate((("sort", "a", "b"), ("stack", "b", "c"))):
        attempt, base = ATTEMPTS[number], 10_000 * (number + 1)
        bench.task(attempt, task, begin=base, end=base + 9_000, pid=100 + number)
        writer = bench.writer(attempt)
        image = writer.image(100 + number, t=base + 10, argv=task.encode(), objects=b"/usr/lib/libc.so.6")
        times = {"t_open": base + 100, "t_close": base + 900}
        writer.handle(
            f"/w/{given}", ino + number, read=direction(2, 20, base + 200, base + 300), size_open=20,
            size_close=20,            **times,
        )  # fmt: skip
        writer.handle(
            f"/w/{made}", ino + number + 1, write=direction(2, 20, base + 400, base + 500), flags=MADE,
            size_close=20,
            mtime_close=5, **times,
        )  # fmt: skip
        writer.op(Op.STAT, "/w/absent", err=2, t=base + 600)
        writer.end(image, t=base + 1000, rchar=20, wchar=20, utime=5, stime=6, maxrss=7)
        bench.add(writer, f"{attempt}.preload")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path)
    story(made)
    made.over()
    return made


@pytest.fixture
def store(bench: Bench) -> Store:
    return Store(bench.store)


def test_a_sealed_run_answers_who_read_and_wrote_what(store: Store) -> None:
    generation = seal(store, RUN)
    assert (generation.state, generation.number, generation.as_of) == ("succeeded", 1, 0)
    rows = generation.sql(
        "SELECT t.logical, f.path, a.operation, a.bytes FROM accesses a JOIN files f ON f.file = a.file "
        "JOIN attempts p ON p.attempt = a.attempt JOIN tasks t ON t.task = p.task "
        "WHERE a.operation IN ('read', 'write') ORDER BY 1, 3"
    )
    assert rows == [
        ("sort", b"/w/a", "read", 20),
        ("sort", b"/w/b", "write", 20),
        ("stack", b"/w/b", "read", 20),
        ("stack", b"/w/c", "write", 20),
    ]
    derived = generation.sql(
        "SELECT o.path, i.path, d.bytes FROM derivations d JOIN versions o ON o.version = d.output "
        "JOIN versions i ON i.version = d.input WHERE d.confidence = 'proved' ORDER BY 1"
    )
    assert derived == [(b"/w/b", b"/w/a", 20), (b"/w/c", b"/w/b", 20)]


def test_attempts_carry_their_sums(store: Store) -> None:
    rows = seal(store, RUN).sql(
        "SELECT processes, files_read, files_written, bytes_read, bytes_written, operations, cpu_user_ns, "
        "cpu_system_ns, max_rss_bytes FROM attempts ORDER BY task"
    )
    assert rows == [(1, 1, 1, 20, 20, 5, 5, 6, 7)] * 2


def test_noise_is_kept_with_its_owner_but_makes_no_versions(store: Store) -> None:
    rows = seal(store, RUN).sql(
        "SELECT f.category, a.operation, a.version, a.attempt IS NOT NULL FROM accesses a "
        "JOIN files f ON f.file = a.file WHERE f.category <> 'data'"
    )
    assert rows == [("library", "mapped-read", -1, True)] * 2


def test_the_manifest_says_what_it_covers(store: Store) -> None:
    manifest = seal(store, RUN).manifest
    assert manifest["run"]["id"] == RUN
    assert manifest["coverage"]["recorded_operations"] == 10
    assert set(manifest["spool"]) == {
        "run.json",
        "events/engine.jsonl",
        *(f"io/{a}.preload" for a in ATTEMPTS[:2]),
    }
    assert manifest["rows"]["attempts"] == manifest["counts"]["attempts"] == 2


def test_sealing_again_changes_nothing(store: Store) -> None:
    first = seal(store, RUN)
    assert seal(store, RUN).path == first.path
    assert seal(store, RUN, force=True).path == first.path


def test_the_same_evidence_elsewhere_gives_the_same_bytes(store: Store, tmp_path: Path) -> None:
    other = Store(tmp_path / "copy")
    shutil.copytree(store.path, other.path)
    assert seal(store, RUN).manifest["files"] == seal(other, RUN).manifest["files"]


def test_late_evidence_makes_the_next_generation(store: Store, bench: Bench) -> None:
    first = seal(store, RUN)
    writer = bench.writer(ATTEMPTS[0])
    writer.end(writer.image(500))
    bench.add(writer, "late.preload")
    second = answer(store)
    assert (first.number, second.number) == (1, 2)
    assert len(list(second.rows("processes"))) == 3
    assert first.path.is_dir()


def test_a_sealed_run_answers_without_its_spool(store: Store, bench: Bench) -> None:
    sealed = seal(store, RUN)
    assert [r.removed for r in store.gc()] == [True]
    assert answer(store, RUN[:4]).path == sealed.path
    assert seal(store, RUN, force=True).path == sealed.path


def test_a_running_workflow_answers_from_the_live_spool(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    story(bench)
    store = Store(bench.store)
    before = time.time_ns()
    generation = answer(store)
    assert generation.state == "running"
    assert before <= generation.as_of <= time.time_ns()
    assert generation.sql("SELECT count(*) FROM attempts") == [(2,)]
    assert not store.generations(RUN).exists()
    with pytest.raises(StoreError, match="not over"):
        seal(store, RUN)


def test_a_run_of_another_host_is_sealed_only_by_force(tmp_path: Path) -> None:
    bench = Bench(tmp_path, boot_id="ff" * 16, machine_id="other")
    story(bench)
    store = Store(bench.store)
    assert answer(store).state == "running"
    with pytest.raises(StoreError, match="another") as caught:
        seal(store, RUN)
    assert "--force" in caught.value.hint
    assert seal(store, RUN, force=True).state == "crashed"


def test_a_run_whose_engine_died_is_crashed(tmp_path: Path) -> None:
    bench = Bench(tmp_path, **GONE)
    story(bench)
    assert answer(Store(bench.store)).state == "crashed"


def test_a_process_alive_at_seal_is_a_gap_until_it_ends(bench: Bench, store: Store) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    writer = bench.writer(ATTEMPTS[0])
    writer.image(child.pid, start=start_ticks(child.pid), argv=b"daemon")
    bench.add(writer, "daemon.preload")
    try:
        assert "still-running" in seal(store, RUN).manifest["gaps"]
        assert "alive" in store.gc()[0].reason
    finally:
        child.communicate(b"\n")
    again = answer(store)
    assert again.number == 2
    assert "still-running" not in again.manifest["gaps"]
    assert "killed" in again.manifest["gaps"]


def test_many_sealers_make_one_generation(store: Store) -> None:
    command = [sys.executable, "-m", "provio", "seal", RUN, "--store", str(store.path)]
    sealers = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    assert [s.wait(60) for s in sealers] == [0] * 4
    for sealer in sealers:
        assert sealer.stdout is not None
        sealer.stdout.close()
    assert [p.name for p in store.generations(RUN).iterdir()] == ["g1"]


def test_threads_wait_for_each_other(store: Store) -> None:
    done: list[Any] = []
    threads = [threading.Thread(target=lambda: done.append(seal(store, RUN).number)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [1, 1, 1]


@pytest.mark.parametrize("number", range(12))
def test_a_killed_sealer_leaves_nothing_or_a_whole_generation(store: Store, number: int) -> None:
    delay = random.Random(number).random() * 0.6
    sealer = subprocess.Popen(
        [sys.executable, "-m", "provio", "seal", "--detached", RUN, "--store", str(store.path)]
    )
    try:
        sealer.wait(delay)
    except subprocess.TimeoutExpired:
        sealer.send_signal(signal.SIGKILL)
        sealer.wait()
    numbers = [p.name for p in store.generations(RUN).iterdir()] if store.generations(RUN).is_dir() else []
    for name in numbers:
        if name.startswith("g"):
            assert not store.newest(RUN).verify()  # type: ignore[union-attr]
    assert answer(store).number == 1
    assert [p.name for p in store.generations(RUN).iterdir() if not p.name.startswith("claim")] == ["g1"]


def test_a_damaged_generation_is_replaced_by_the_next(store: Store) -> None:
    first = seal(store, RUN)
    (first.path / "files.parquet").write_bytes(b"")
    assert seal(store, RUN, force=True).number == 2


def test_damage_in_one_file_is_a_gap_and_the_rest_answers(store: Store, bench: Bench) -> None:
    (bench.path / "io" / "foreign.preload").write_bytes(b"\x7fELF" * 2000)
    generation = seal(store, RUN)
    assert generation.manifest["gaps"]["corrupt-evidence"] == 1
    (detail,) = generation.sql("SELECT detail FROM gaps WHERE kind = 'corrupt-evidence'")[0]
    assert "foreign.preload" in detail


def test_a_newer_io_file_stops_the_seal_with_a_remedy(store: Store, bench: Bench) -> None:
    bench.add(bench.writer(ATTEMPTS[0], major=9), "new.preload")
    with pytest.raises(EvidenceError, match=r"version 9\.0"):
        seal(store, RUN)
    assert not [p for p in store.generations(RUN).iterdir() if not p.name.startswith("claim")]


def test_an_unknown_run_is_a_usage_error(store: Store) -> None:
    with pytest.raises(UsageError):
        seal(store, "00" * 16)


def test_without_the_analysis_libraries_the_spool_stays_and_the_remedy_is_said(
    store: Store, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SetupError, match="pyarrow") as caught:
        seal(store, RUN)
    assert "provio[analyse]" in caught.value.hint
    assert bench.path.is_dir()


def test_outputs_are_digested(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.task(ATTEMPTS[0])
    made = tmp_path / "out"
    made.write_bytes(b"content")
    info = made.stat()
    writer = bench.writer(ATTEMPTS[0])
    image = writer.image(t=150)
    writer.handle(
        str(made), info.st_ino, dev=info.st_dev, write=direction(1, 7, 200, 300), flags=MADE, t_open=180,
        t_close=400,         size_close=7, mtime_close=info.st_mtime_ns, ctime_close=info.st_ctime_ns,
    )  # fmt: skip
    writer.end(image)
    bench.add(writer)
    bench.over()
    ((digest,),) = seal(Store(bench.store), RUN).sql("SELECT digest FROM versions WHERE writer_epoch >= 0")
    assert digest.startswith("sha256:ed7002b439e9")


def test_full_mode_keeps_every_record(tmp_path: Path) -> None:
    bench = Bench(tmp_path, mode="full")
    bench.task(ATTEMPTS[0])
    writer = bench.writer(ATTEMPTS[0])
    image = writer.image()
    handle = writer.handle("/w/a", 5, read=direction(2, 20, 200, 300))
    pipe = writer.handle("", 9, kind=Kind.PIPE, write=direction(1, 3, 200, 300))
    writer.end(image)
    writer.io(handle, Op.READ, 0, 10, t=200)
    writer.io(handle, Op.READ, 10, 10, t=210)
    writer.io(pipe, Op.WRITE, -1, 3, t=220)
    bench.add(writer)
    bench.over()
    rows = seal(Store(bench.store), RUN).sql(
        'SELECT r.op, f.path, r."offset", r.result FROM records r '
        "LEFT JOIN files f ON f.file = r.file ORDER BY t_mono"
    )
    assert rows == [(1, b"/w/a", 0, 10), (1, b"/w/a", 10, 10), (2, None, -1, 3)]


# The command line ---------------------------------------------------------------------------


def provio(*arguments: str, store: Store) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "provio", *arguments, "--store", str(store.path)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ, timeout=60)


def test_commands_seal_list_and_collect(store: Store) -> None:
    listed = json.loads(provio("runs", "--json", store=store).stdout)
    assert [(r["id"], r["state"]) for r in listed["runs"]] == [(RUN, "ended")]
    sealed = json.loads(provio("seal", "--all", "--json", store=store).stdout)
    assert [(s["id"], s["generation"], s["state"]) for s in sealed["sealed"]] == [(RUN, 1, "succeeded")]
    assert sealed["failed"] == []
    text = provio("runs", store=store).stdout.splitlines()
    assert text[0].split()[:2] == ["RUN", "STATE"]
    assert text[1].split()[:2] == [RUN[:12], "succeeded"]
    planned = provio("gc", "--dry-run", store=store)
    assert planned.stdout.startswith("would remove")
    assert json.loads(provio("gc", "--json", store=store).stdout)["spools"][0]["removed"] is True
    assert provio("gc", store=store).stderr == "there are no spools\n"


def test_a_detached_seal_says_nothing(store: Store) -> None:
    done = provio("seal", "--detached", RUN, store=store)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "code"), [(("seal", "zz"), 2), (("seal", "--all", "ab"), 2), (("runs", "--limit", "0"), 2)]
)
def test_wrong_calls_exit_with_2(store: Store, arguments: tuple[str, ...], code: int) -> None:
    done = provio(*arguments, store=store)
    assert done.returncode == code
    assert "hint: " in done.stderr


def test_a_run_that_goes_on_exits_with_5(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    story(bench)
    done = provio("seal", store=Store(bench.store))
    assert (done.returncode, done.stdout) == (5, "")
    assert "--force" in done.stderr


@pytest.mark.parametrize("command", ["seal", "gc", "runs"])
def test_help_begins_with_examples(command: str) -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "provio", command, "--help"], capture_output=True, text=True, check=True
    )
    assert shown.stdout.startswith("Examples:\n  provio ")
