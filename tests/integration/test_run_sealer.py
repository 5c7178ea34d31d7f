"""What happens after ``provio run``: the sealer runs by itself, apart from everything."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from provio.engines.sealer import start_sealer
from provio.engines.spool import Spool
from support.running import environment, only_spool, provio_command

if TYPE_CHECKING:
    from collections.abc import Callable

DEADLINE = 30


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline
        os.sched_yield()


def run(directory: Path, *command: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        provio_command("run", "--", *command), cwd=directory, env=environment(directory),
        capture_output=True, check=False, timeout=DEADLINE,
    )  # fmt: skip


def test_run_is_sealed_without_being_asked_and_nobody_waits_for_it(tmp_path: Path) -> None:
    assert run(tmp_path, "echo", "x").stdout == b"x\n"
    spool = only_spool(tmp_path)
    manifest = tmp_path / ".provio" / "runs" / spool.name / "g1" / "manifest.json"
    wait_for(manifest.exists)
    assert (spool / "seal.log").read_bytes() == b""


def test_sealer_holds_neither_terminal_nor_output_nor_directory_nor_identity(tmp_path: Path) -> None:
    (tmp_path / "site" / "provio").mkdir(parents=True)
    (tmp_path / "site" / "provio" / "__init__.py").write_text("")
    (tmp_path / "site" / "provio" / "__main__.py").write_text(SPY)
    run(tmp_path, "true")
    spool = Spool.open(only_spool(tmp_path))
    before = dict(os.environ)
    carried = {"PROVIO_TASK": "x", "PROVIO_SPOOL": "y", "LD_PRELOAD": "/a.so", "PYTHONPATH": "site"}
    here = Path.cwd()
    os.environ.update(carried)
    os.chdir(tmp_path)
    try:
        assert start_sealer(spool)
    finally:
        os.chdir(here)
        os.environ.clear()
        os.environ.update(before)
    log = spool.path / "seal.log"
    wait_for(lambda: log.read_text().endswith("}\n"))
    seen = json.loads(log.read_text().splitlines()[-1])
    assert seen["argv"] == ["seal", "--detached", spool.run.run_id, "--store", str(spool.store)]
    assert (seen["sid"], seen["cwd"], seen["stdin"]) == (seen["pid"], "/", "/dev/null")
    assert seen["preload"] == "/a.so"
    assert seen["ours"] == ["PROVIO_TRACE=off"]


SPY = """
import json, os, sys
print(json.dumps({
    "argv": sys.argv[1:], "sid": os.getsid(0), "pid": os.getpid(), "cwd": os.getcwd(),
    "stdin": os.readlink("/proc/self/fd/0"), "preload": os.environ.get("LD_PRELOAD"),
    "ours": [f"{k}={v}" for k, v in os.environ.items() if k.startswith("PROVIO_")],
}))
"""


def test_sealer_that_cannot_be_started_is_no_error(tmp_path: Path) -> None:
    run(tmp_path, "true")
    spool = Spool.open(only_spool(tmp_path))
    assert start_sealer(Spool(tmp_path / "gone", spool.run)) is False
