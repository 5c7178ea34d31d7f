from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from provio.engines import Emitter, stamp
from provio.importers.events import read_events
from provio.model.events import Event, GapSeen, ProcessRef, ProcessStarted
from provio.model.gaps import GapKind
from provio.model.ids import new_attempt_id
from support.running import SOURCES

if TYPE_CHECKING:
    from pathlib import Path


def event(text: str = "") -> GapSeen:
    return GapSeen(stamp=stamp(), kind=GapKind.LIMIT.value, scope="run", detail=text)


def written(folder: Path) -> list[Event]:
    return [e for path in sorted(folder.iterdir()) for e in read_events(path)]


def test_each_event_is_one_line_with_version_type_and_sequence(tmp_path: Path) -> None:
    emitter = Emitter(tmp_path)
    emitter.emit(event("one\ntwo"))
    emitter.emit(event("three"))
    assert emitter.close()
    (path,) = tmp_path.iterdir()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["v"], line["type"], line["seq"]) for line in lines] == [(1, "gap", 0), (1, "gap", 1)]


def test_nothing_is_made_before_the_first_event(tmp_path: Path) -> None:
    assert Emitter(tmp_path).close()
    assert list(tmp_path.iterdir()) == []


def test_event_survives_the_way_through_the_file(tmp_path: Path) -> None:
    emitter = Emitter(tmp_path)
    given = ProcessStarted(
        stamp(), new_attempt_id(), ProcessRef(7, 8, 9, "/x\udcff", True), argv=("a\udc80", "é")
    )
    emitter.emit(given)
    assert written(tmp_path) == [given]


def test_events_of_many_threads_are_whole_and_all_there(tmp_path: Path) -> None:
    emitter = Emitter(tmp_path)

    def emit_many(name: int) -> None:
        for index in range(200):
            emitter.emit(event(f"{name}/{index} " + "x" * 3000))

    threads = [threading.Thread(target=emit_many, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert emitter.close()
    details = [e.detail.split()[0] for e in written(tmp_path) if isinstance(e, GapSeen)]
    assert sorted(details) == sorted(f"{n}/{i}" for n in range(4) for i in range(200))


def test_forked_child_writes_a_file_of_its_own(tmp_path: Path) -> None:
    emitter = Emitter(tmp_path)
    emitter.emit(event("parent"))
    if (pid := os.fork()) == 0:
        emitter.emit(event("child"))
        os._exit(0 if emitter.close() else 1)
    assert os.waitpid(pid, 0)[1] == 0
    emitter.emit(event("parent again"))
    assert emitter.close()
    assert len(list(tmp_path.iterdir())) == 2
    assert {e.detail for e in written(tmp_path) if isinstance(e, GapSeen)} == {
        "parent",
        "child",
        "parent again",
    }


def test_spool_that_is_gone_is_said_once_and_never_raised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    emitter = Emitter(tmp_path / "gone")
    for _ in range(3):
        emitter.emit(event())
    assert emitter.lost == 3
    assert emitter.close() is False
    assert capsys.readouterr().err.count("provio:") == 1


def test_event_that_has_no_json_form_does_not_raise(tmp_path: Path) -> None:
    emitter = Emitter(tmp_path)
    emitter.emit("not an event")  # type: ignore[arg-type]
    assert emitter.lost == 1


def test_emit_after_close_is_written_too(tmp_path: Path) -> None:
    emitter = Emitter(tmp_path)
    emitter.emit(event("a"))
    assert emitter.close()
    assert emitter.close()
    emitter.emit(event("b"))
    assert emitter.close()
    assert len(written(tmp_path)) == 2


def test_secrets_do_not_reach_the_file(tmp_path: Path) -> None:
    emitter = Emitter(tmp_path)
    emitter.emit(event("curl --token hunter2x"))
    emitter.emit(
        ProcessStarted(stamp(), new_attempt_id(), ProcessRef(1), argv=("x", "--password", "hunter2x"))
    )
    emitter.close()
    assert b"hunter2x" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_line_that_did_not_fit_is_cut_off_and_later_ones_are_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    emitter = Emitter(tmp_path)
    emitter.emit(event("first"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        emitter.emit(event("x" * 5000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    emitter.emit(event("last"))
    assert emitter.close() is False
    details = [e.detail for e in written(tmp_path) if isinstance(e, GapSeen)]
    assert details == ["first", "last", "events of the engine were lost"]
    assert "provio:" in capsys.readouterr().err


EMIT_FOREVER = """
import sys
from provio.engines import Emitter, stamp
from provio.model.events import GapSeen
emitter = Emitter(sys.argv[1])
print("ready", flush=True)
while True:
    emitter.emit(GapSeen(stamp=stamp(), kind="limit", scope="run", detail="x" * 9000))
"""


@pytest.mark.parametrize("enough", [1, 20_000, 300_000, 1_500_000])
def test_killed_writer_leaves_whole_lines(tmp_path: Path, enough: int) -> None:
    command = [sys.executable, "-c", EMIT_FOREVER, str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": SOURCES}
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        while sum(path.stat().st_size for path in tmp_path.iterdir()) < enough:
            assert writer.poll() is None
        writer.kill()
    (path,) = tmp_path.iterdir()
    assert path.read_bytes().endswith(b"\n")
    events = list(read_events(path))
    assert [e.detail for e in events if isinstance(e, GapSeen)] == ["x" * 9000] * len(events)


def test_full_file_system_costs_one_warning_and_leaves_readable_events(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    script = """
import os, sys
from provio.engines import Emitter, stamp
from provio.model.events import GapSeen
emitter = Emitter(sys.argv[1])
for _ in range(100):
    emitter.emit(GapSeen(stamp=stamp(), kind="limit", scope="run", detail="x" * 3000))
emitter.close()
print(emitter.lost)
from provio.importers.events import read_events
print(sum(1 for name in os.listdir(sys.argv[1]) for _ in read_events(os.path.join(sys.argv[1], name))))
"""
    mounted = [
        "unshare",
        "-m",
        "sh",
        "-c",
        'mount -t tmpfs -o size=64k none "$1" && exec "$2" -c "$3" "$1"',
        "sh",
    ]
    done = subprocess.run(
        [*mounted, str(tmp_path), sys.executable, script],
        env=os.environ | {"PYTHONPATH": SOURCES},
        capture_output=True,
        text=True,
        check=True,
    )
    lost, kept = map(int, done.stdout.split())
    assert lost > 0
    assert kept >= 100 - lost > 0
    assert done.stderr.count("provio:") == 1
