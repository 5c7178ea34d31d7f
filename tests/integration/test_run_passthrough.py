"""``provio run`` leaves a command as it is: input, output, descriptors, environment, exit."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from provio.model.events import ProcessStarted, RunEnded, TaskEnded, TaskStarted
from support.running import environment, events_of, only_spool, provio_run, run_command

if TYPE_CHECKING:
    from pathlib import Path

ALL_BYTES = bytes(range(256)) * 300


def test_stdin_stdout_and_stderr_pass_byte_for_byte(tmp_path: Path) -> None:
    done = provio_run("sh", "-c", "tee /dev/stderr", cwd=tmp_path, input=ALL_BYTES)
    assert (done.returncode, done.stdout, done.stderr) == (0, ALL_BYTES, ALL_BYTES)


def test_nothing_is_printed_on_success(tmp_path: Path) -> None:
    done = provio_run("true", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("code", [0, 1, 2, 3, 77, 126, 127, 128, 130, 255])
def test_exit_code_is_the_commands_own(tmp_path: Path, code: int) -> None:
    done = provio_run("sh", "-c", f"exit {code}", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (code, b"")


@pytest.mark.parametrize("name", ["TERM", "KILL", "INT", "SEGV", "PIPE", "QUIT", "ABRT", "USR1", "HUP"])
def test_command_that_dies_of_a_signal_takes_us_with_it(tmp_path: Path, name: str) -> None:
    plain = subprocess.run(["sh", "-c", f"ulimit -c 0; kill -{name} $$"], check=False)
    done = provio_run("sh", "-c", f"ulimit -c 0; kill -{name} $$", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (plain.returncode, b"", b"")
    (end,) = [e for e in events_of(tmp_path) if isinstance(e, TaskEnded)]
    assert (end.signal, end.exit_code, end.state) == (-plain.returncode, None, "failed")


def test_events_tell_the_life_of_the_command(tmp_path: Path) -> None:
    provio_run("sh", "-c", "exit 3", cwd=tmp_path, options=["--name", "nightly"])
    events = events_of(tmp_path)
    assert [e.type for e in events] == [
        "run.start",
        "host",
        "task.start",
        "task.process",
        "task.end",
        "run.end",
    ]
    _, _, start, process, end, run_end = events
    assert isinstance(start, TaskStarted)
    assert isinstance(process, ProcessStarted)
    assert isinstance(end, TaskEnded)
    assert isinstance(run_end, RunEnded)
    assert (start.logical, start.ordinal, start.cwd, start.command) == (
        "nightly",
        1,
        str(tmp_path),
        "sh -c 'exit 3'",
    )
    assert start.attempt == process.attempt == end.attempt
    assert process.process.start_ticks > 0
    assert process.process.pid != start.stamp.pid
    assert (end.state, end.exit_code, run_end.state, run_end.exit_code) == ("failed", 3, "failed", 3)


def test_cpu_time_and_peak_memory_are_the_commands(tmp_path: Path) -> None:
    work = "import time; x = bytearray(400_000_000)\nwhile time.process_time() < 0.3: pass"
    provio_run(sys.executable, "-S", "-c", work, cwd=tmp_path)
    (end,) = [e for e in events_of(tmp_path) if isinstance(e, TaskEnded)]
    assert 0.3e9 <= end.cpu_user_ns + end.cpu_system_ns < 3e9
    assert 400_000_000 < end.max_rss_bytes < 500_000_000  # more than any worker of pytest that forked us


def test_peak_memory_below_our_own_is_not_known(tmp_path: Path) -> None:
    provio_run("true", cwd=tmp_path)
    (end,) = [e for e in events_of(tmp_path) if isinstance(e, TaskEnded)]
    assert end.max_rss_bytes == 0


def test_command_that_is_not_found_ends_with_127(tmp_path: Path) -> None:
    done = provio_run("no-such-command", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (127, b"")
    assert b"no-such-command" in done.stderr
    assert not (tmp_path / ".provio").exists()


def test_file_that_cannot_be_executed_ends_with_126(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("x")
    done = provio_run("./plain", cwd=tmp_path)
    assert done.returncode == 126
    assert provio_run(str(tmp_path), cwd=tmp_path).returncode == 126


def test_script_whose_interpreter_is_gone_ends_with_127_and_is_recorded_as_failed(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/nowhere/at/all\n")
    script.chmod(0o755)
    assert provio_run("./script", cwd=tmp_path).returncode == 127
    (end,) = [e for e in events_of(tmp_path) if isinstance(e, TaskEnded)]
    assert (end.state, end.exit_code) == ("failed", 127)


def test_script_without_interpreter_line_runs_in_sh_as_from_a_shell(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text('echo "$0 $1"\n')
    script.chmod(0o755)
    assert provio_run("./script", "a b", cwd=tmp_path).stdout == b"./script a b\n"


def test_options_after_the_command_are_the_commands(tmp_path: Path) -> None:
    done = provio_run("echo", "--verbose", "-v", "--", "--name", cwd=tmp_path)
    assert done.stdout == b"--verbose -v -- --name\n"


def test_two_dashes_may_be_left_out(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "provio", "run", "--no-seal", "echo", "-n", "x"]
    assert (
        subprocess.run(
            command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, check=True
        ).stdout
        == b"x"
    )


def test_arguments_and_directory_may_be_any_bytes(tmp_path: Path) -> None:
    odd = tmp_path / "a b\n\udcff\N{SNOWMAN}"
    odd.mkdir()
    done = provio_run("printf", "%s|", "a\udcffb", "c\nd", "", "*", cwd=odd)
    assert done.stdout == b"a\xffb|c\nd||*|"
    (start,) = [e for e in events_of(odd) if isinstance(e, TaskStarted)]
    assert start.cwd == str(odd)


def test_descriptors_beyond_stderr_reach_the_command_and_none_of_ours_does(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    listing = "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd')))"
    plain = subprocess.run(
        [sys.executable, "-c", listing], pass_fds=[writer], capture_output=True, check=True
    )
    done = provio_run(sys.executable, "-c", listing, cwd=tmp_path, pass_fds=[writer])
    os.close(reader)
    os.close(writer)
    assert (done.stdout, done.stderr) == (plain.stdout, b"")


def test_closed_stdin_and_stdout_stay_closed(tmp_path: Path) -> None:
    inner = ["sh", "-c", "for fd in 0 1 2 3 4 5 6 7; do [ -e /proc/$$/fd/$fd ] && echo $fd >&2; done; exit 0"]
    seen = []
    for command in (inner, run_command(*inner)):
        closed = ["sh", "-c", 'exec "$@" <&- >&-', "sh", *command]
        done = subprocess.run(
            closed, cwd=tmp_path, env=environment(tmp_path), capture_output=True, check=False
        )
        seen.append((done.returncode, done.stderr))
    assert seen == [(0, b"2\n"), (0, b"2\n")]


def test_environment_is_the_same_but_for_what_carries_the_identity(tmp_path: Path) -> None:
    plain_env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "A": "x\ny", "B": "\udcff"}
    provio_env = plain_env | {"PYTHONPATH": environment(tmp_path)["PYTHONPATH"]}
    command = run_command("env", "-0", options=["--no-trace"])
    done = subprocess.run(command, cwd=tmp_path, env=provio_env, capture_output=True, check=True)
    plain = subprocess.run(["env", "-0"], env=provio_env, capture_output=True, check=True)
    seen = [entry for entry in done.stdout.split(b"\0") if not entry.startswith(b"PROVIO_")]
    assert sorted(seen) == sorted(
        plain.stdout.split(b"\0")
    )  # also no LC_CTYPE, which Python adds in the C locale


def test_ignored_and_blocked_signals_are_as_they_were(tmp_path: Path) -> None:
    show = ["grep", "^Sig[BI]", "/proc/self/status"]
    seen = []
    for command in (show, run_command(*show)):
        shell = ["sh", "-c", f"trap '' USR1 TERM; exec {shlex.join(command)}"]
        done = subprocess.run(shell, cwd=tmp_path, env=environment(tmp_path), capture_output=True, check=True)
        seen.append([_public(line) for line in done.stdout.splitlines()])
    assert seen[0] == seen[1]


def _public(line: bytes) -> tuple[bytes, int]:
    """Return a line of signals without 32 and 33, which glibc keeps to itself (posix_spawn ignores them)."""
    name, _, bits = line.partition(b":")
    return name, int(bits, 16) & ~(0b11 << 31)


def test_umask_directory_and_group_are_as_they_were(tmp_path: Path) -> None:
    show = "umask; pwd; ps -o pgid= -p $$"
    script = f"umask 027; sh -c '{show}'; \"$@\""
    command = ["sh", "-c", script, "sh", *run_command("sh", "-c", show)]
    out = subprocess.run(
        command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, check=True
    ).stdout
    lines = out.splitlines()
    assert lines[:3] == lines[3:]


def test_command_is_a_child_that_finds_us_as_its_parent(tmp_path: Path) -> None:
    provio_run("sh", "-c", "echo $PPID > parent", cwd=tmp_path)
    assert (
        int((tmp_path / "parent").read_text())
        == json.loads((only_spool(tmp_path) / "run.json").read_text())["pid"]
    )


def test_verbose_and_json_speak_on_stderr_only(tmp_path: Path) -> None:
    done = provio_run("echo", "x", cwd=tmp_path, options=["-v"])
    assert done.stdout == b"x\n"
    assert only_spool(tmp_path).name.encode() in done.stderr
    (tmp_path / "b").mkdir()
    done = provio_run("sh", "-c", "exit 4", cwd=tmp_path / "b", options=["--json", "--store", "mine"])
    said = json.loads(done.stderr)
    assert (said["version"], said["exit_code"], said["store"]) == (1, 4, str(tmp_path / "b" / "mine"))


def test_run_inside_a_run_knows_its_parent(tmp_path: Path) -> None:
    inner = run_command("true", options=["--store", "inner"])
    provio_run(*inner, cwd=tmp_path, options=["--store", "outer"])
    (outer_spool,) = (tmp_path / "outer" / "spool").iterdir()
    (inner_spool,) = (tmp_path / "inner" / "spool").iterdir()
    record = json.loads((inner_spool / "run.json").read_text())
    assert record["parent_run"] == outer_spool.name
    assert record["parent_attempt"] in "".join(p.read_text() for p in (outer_spool / "events").iterdir())


def test_planted_token_is_nowhere_in_the_spool(tmp_path: Path) -> None:
    token = "ghp_" + "Zz9" * 12
    argv = ["sh", "-c", f"true --token {token}; MY_SECRET={token} true", token, "--password", "hunter2x"]
    provio_run(*argv, cwd=tmp_path, extra={"GITHUB_TOKEN": token, "HARMLESS": token})
    content = b"".join(p.read_bytes() for p in only_spool(tmp_path).rglob("*") if p.is_file())
    assert token.encode() not in content
    assert b"hunter2x" not in content
