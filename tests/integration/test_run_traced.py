"""What a process under the real tracer knows of itself, and that nothing else shows there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from provio.tracers import preload
from support.running import environment, only_spool, provio_run, run_command

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    not preload.availability().available
    or b"provio_task_set" not in (preload.NATIVE / preload.LIBRARY).read_bytes(),
    reason="the native library was not built",
)


def test_traced_process_sees_no_variable_of_ours_and_knows_its_attempt_all_the_same(tmp_path: Path) -> None:
    code = (
        "import os, json; from provio.engines import current_context; context = current_context(); "
        "print(json.dumps([context.run, context.attempt, str(context.spool), "
        "[name for name in os.environ if name.startswith(('PROVIO', 'LD_'))]]))"
    )
    done = provio_run(sys.executable, "-c", code, cwd=tmp_path)
    run, attempt, spool, ours = json.loads(done.stdout)
    assert (spool, run, ours) == (str(only_spool(tmp_path)), only_spool(tmp_path).name, [])
    assert attempt in "".join(path.read_text() for path in (only_spool(tmp_path) / "events").iterdir())


def test_thread_takes_another_identity_and_hands_it_to_its_children(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys; from provio.engines import current_context, set_task; "
        "run = current_context().run; assert set_task(run + '/' + 'a' * 32); "
        "ask = 'from provio.engines import current_context; print(current_context().attempt)'; "
        "subprocess.run([sys.executable, '-c', ask], check=True); "
        "assert set_task(None); subprocess.run([sys.executable, '-c', ask], check=True); "
        "assert not set_task('nonsense')"
    )
    done = provio_run(sys.executable, "-c", code, cwd=tmp_path)
    assert done.stdout.split() == [b"a" * 32, b"0" * 32], done.stderr


def test_environment_is_exactly_the_one_given(tmp_path: Path) -> None:
    given = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "A": "x\ny",
        "PROVIO_STORE": str(tmp_path / "s"),
    }
    given["PYTHONPATH"] = environment(tmp_path)["PYTHONPATH"]
    for show in (["env", "-0"], ["sh", "-c", "env -0"]):
        plain = subprocess.run(show, cwd=tmp_path, env=given, capture_output=True, check=True)
        done = subprocess.run(run_command(*show), cwd=tmp_path, env=given, capture_output=True, check=True)
        assert sorted(done.stdout.split(b"\0")) == sorted(plain.stdout.split(b"\0"))
        assert done.stderr == b""


def test_library_of_the_user_stays_in_the_environment(tmp_path: Path) -> None:
    theirs = {"LD_PRELOAD": str(preload.NATIVE / "absent.so")}
    done = provio_run("printenv", "LD_PRELOAD", cwd=tmp_path, extra=theirs)
    assert done.stdout.decode().strip() == theirs["LD_PRELOAD"]


def test_run_inside_a_traced_run_knows_its_parent(tmp_path: Path) -> None:
    inner = run_command("true", options=["--store", "inner"])
    done = provio_run(*inner, cwd=tmp_path, options=["--store", "outer"])
    assert (done.returncode, done.stderr) == (0, b"")
    (outer_spool,) = (tmp_path / "outer" / "spool").iterdir()
    (inner_spool,) = (tmp_path / "inner" / "spool").iterdir()
    record = json.loads((inner_spool / "run.json").read_text())
    assert record["parent_run"] == outer_spool.name
    assert any((inner_spool / "io").iterdir())


def test_records_of_the_command_are_in_the_spool(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("hello\n")
    done = provio_run("sh", "-c", "cat in.txt > out.txt", cwd=tmp_path, options=["--trace", "full"])
    assert (done.returncode, done.stderr) == (0, b"")
    arena = b"".join(path.read_bytes() for path in (only_spool(tmp_path) / "io").iterdir())
    assert str(tmp_path / "out.txt").encode() in arena


def test_planted_token_is_not_in_the_records_either(tmp_path: Path) -> None:
    token = "ghp_" + "Zz9" * 12
    argv = [
        "sh",
        "-c",
        f"sh -c 'true --token {token}'; MY_SECRET={token} env >/dev/null",
        token,
        "--password",
        "Zq1x",
    ]
    provio_run(*argv, cwd=tmp_path, extra={"GITHUB_TOKEN": token, "HARMLESS": token})
    content = b"".join(p.read_bytes() for p in only_spool(tmp_path).rglob("*") if p.is_file())
    assert token.encode() not in content
    assert b"Zq1x" not in content
