"""Claims: one owner at a time, and the dead block nobody."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from provio.errors import StoreError
from provio.store.claims import Owner, claimed, is_dead, me, parse_owner

if TYPE_CHECKING:
    from pathlib import Path


def claim_of(folder: Path, owner: Owner) -> Path:
    path = folder / f"claim.{owner.boot}.{owner.pid}.{owner.start}.{owner.host}"
    path.touch()
    return path


def test_a_claim_is_held_and_given_back(tmp_path: Path) -> None:
    with claimed(tmp_path) as mine:
        assert mine
        (name,) = [p.name for p in tmp_path.iterdir()]
        assert parse_owner(name) == me()
    assert not list(tmp_path.iterdir())


def test_a_claim_is_given_back_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), claimed(tmp_path):
        raise RuntimeError
    assert not list(tmp_path.iterdir())


def test_a_living_owner_is_waited_for_and_named_at_last(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        from provio.engines.host import start_ticks

        claim_of(tmp_path, me()._replace(pid=other.pid, start=start_ticks(other.pid)))
        with pytest.raises(StoreError, match=f"process {other.pid} "), claimed(tmp_path, timeout_s=0.05):
            pass
    finally:
        other.communicate(b"\n")
    with claimed(tmp_path) as mine:  # it is dead now
        assert mine


def test_waiting_ends_when_the_work_is_done_by_the_other(tmp_path: Path) -> None:
    claim_of(tmp_path, Owner("ff" * 16, 1, 1, "elsewhere"))
    answers = iter([False, True])
    with claimed(tmp_path, done=lambda: next(answers)) as mine:
        assert not mine


@pytest.mark.parametrize(
    ("change", "dead"),
    [
        ({}, False),
        ({"start": 1}, True),
        ({"pid": 2**22 - 1}, True),
        ({"boot": "ff" * 16}, True),
        ({"boot": "ff" * 16, "host": "elsewhere"}, False),
    ],
)
def test_an_owner_is_dead_only_where_that_is_provable(change: dict[str, object], dead: bool) -> None:  # noqa: FBT001
    assert is_dead(me()._replace(**change)) is dead


def test_other_files_are_no_claims(tmp_path: Path) -> None:
    for name in ("claim.x", "claim.a.b.c.d", "g1", ".new-1"):
        (tmp_path / name).touch()
    with claimed(tmp_path) as mine:
        assert mine


def test_a_folder_that_cannot_be_written_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError), claimed(tmp_path / "file" / "runs"):
        pass


def test_many_processes_never_hold_a_claim_at_once(tmp_path: Path) -> None:
    code = (
        "import sys,os\n"
        "from pathlib import Path\n"
        "from provio.store.claims import claimed\n"
        "for _ in range(20):\n"
        "    with claimed(Path(sys.argv[1]) / 'runs') as mine:\n"
        "        fd = os.open(sys.argv[1] + '/inside', os.O_CREAT | os.O_EXCL)\n"
        "        os.close(fd); os.unlink(sys.argv[1] + '/inside')\n"
    )
    workers = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], env=os.environ) for _ in range(4)
    ]
    assert [worker.wait(60) for worker in workers] == [0] * 4
