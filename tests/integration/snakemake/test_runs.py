"""What the plugin records of real runs of Snakemake: one behaviour a test."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from provio.model import events as ev
from provio.model.ids import ENGINE

if TYPE_CHECKING:
    import pytest

    from support.snakemake_runs import Workflow, Writer


def test_shell_job_is_recorded_with_declarations_command_and_true_end(snakefile: Writer) -> None:
    workflow = snakefile("""
rule make:
    input: "in.txt"
    output: out="a/{w}.txt"
    log: "make.{w}.log"
    benchmark: "bench.{w}.tsv"
    params: k=3, text="hello"
    threads: 2
    resources: mem_mb=10
    shell: "cat {input} > {output.out} 2> {log}"
""")
    workflow.write("in.txt", "1")
    run = workflow.traced("a/x.txt")
    (attempt,) = run.attempts("make")
    assert attempt.start.physical == "make:w=x"
    assert attempt.start.kind == "shell"
    assert attempt.start.ordinal == 1
    assert attempt.start.command == "cat in.txt > a/x.txt 2> make.x.log"
    assert attempt.start.cwd == str(workflow.path)
    assert attempt.start.job == "0"
    assert attempt.start.attributes["wildcards"] == {"w": "x"}
    assert attempt.start.attributes["threads"] == 2
    assert attempt.start.attributes["resources"]["mem_mb"] == 10
    assert (attempt.end.state, attempt.end.exit_code) == ("succeeded", 0)
    declared = run.declared("make")
    for item in [
        ("input", "in.txt"),
        ("output", "a/x.txt"),
        ("log", "make.x.log"),
        ("benchmark", "bench.x.tsv"),
    ]:
        assert item in declared
    assert ("param", "3") in declared
    assert ("param", "hello") in declared
    (process,) = attempt.processes
    assert process.process.pid > 0
    assert process.process.start_ticks > 0
    assert attempt.start.stamp.mono < process.stamp.mono < attempt.end.stamp.mono


def test_run_begins_and_ends_with_identity_configuration_host_and_state(snakefile: Writer) -> None:
    workflow = snakefile('configfile: "c.yaml"\nrule a:\n    output: "a"\n    shell: "touch a"\n')
    workflow.write("c.yaml", "k: 1\nmy_password: hunter2hunter2\n")
    run = workflow.traced()
    (started,) = run.of(ev.RunStarted)
    assert started.engine == "snakemake"
    assert re.fullmatch(r"9\.\d+.*", started.engine_version)
    assert started.workflow == f"file:{workflow.path}/Snakefile"
    (config,) = started.config["files"]
    assert config["path"] == str(workflow.path / "c.yaml")
    assert config["digest"].startswith("sha256:")
    assert started.config["values"]["k"] == 1
    assert b"hunter2" not in b"".join(p.read_bytes() for p in run.spool.rglob("*") if p.is_file())
    assert run.of(ev.HostSeen)[0].mounts
    (ended,) = run.of(ev.RunEnded)
    assert (ended.state, ended.exit_code) == ("succeeded", 0)
    assert "engine-not-traced" in run.gaps()


def test_identity_is_the_remote_and_the_path_in_a_repository(snakefile: Writer, workflow: Workflow) -> None:
    for command in (
        ["git", "init", "-q"],
        ["git", "remote", "add", "origin", "git@example.org:lab/flow.git"],
    ):
        subprocess.run(command, cwd=workflow.path, check=True)
    run = snakefile('rule a:\n    output: "a"\n    shell: "touch a"\n').traced()
    assert run.run["workflow"] == "git:example.org/lab/flow//Snakefile"


def test_job_that_fails_once_is_two_attempts(snakefile: Writer) -> None:
    run = snakefile("""
rule flaky:
    output: "x"
    retries: 1
    shell: "if [ -e flag ]; then touch {output}; else touch flag; exit 3; fi"
""").traced()
    first, second = run.attempts("flaky")
    assert (first.start.ordinal, second.start.ordinal) == (1, 2)
    assert first.start.physical == second.start.physical
    assert (first.end.state, first.end.exit_code) == ("failed", 3)
    assert "exit status 3" in first.end.message
    assert (second.end.state, second.end.exit_code) == ("succeeded", 0)
    assert [e.state for e in run.of(ev.RunEnded)] == ["succeeded"]


def test_failure_keeps_its_attempt_and_the_clean_up_of_its_output(snakefile: Writer) -> None:
    run = snakefile('rule bad:\n    output: "x"\n    shell: "echo half > x; kill -9 $$"\n').traced(code=1)
    (attempt,) = run.attempts("bad")
    assert attempt.end.state == "failed"
    assert attempt.end.signal == 9
    (clean,) = [e for e in run.of(ev.EngineFile) if e.action == "clean"]
    assert (Path(clean.path).name, clean.attempt) == ("x", attempt.id)
    assert [e.state for e in run.of(ev.RunEnded)] == ["failed"]


def test_command_that_succeeds_without_its_output_is_a_failed_attempt(snakefile: Writer) -> None:
    run = snakefile('rule none:\n    output: "x"\n    shell: "true"\n').traced("--latency-wait", "0", code=1)
    (attempt,) = run.attempts("none")
    assert attempt.end.state == "failed"
    assert "x" in attempt.end.message


def test_keep_going_records_the_jobs_after_a_failure(snakefile: Writer) -> None:
    run = snakefile("""
rule all:
    input: "good", "bad"
rule bad:
    output: "bad"
    priority: 10
    shell: "false"
rule good:
    output: "good"
    shell: "touch good"
""").traced("--keep-going", "--cores", "1", code=1)
    assert run.attempts("bad")[0].end.state == "failed"
    assert run.attempts("good")[0].end.state == "succeeded"
    assert not run.attempts("all")


def test_what_snakemake_itself_does_to_files_is_told(snakefile: Writer) -> None:
    workflow = snakefile("""
rule last:
    input: "temp.txt"
    output: protected("kept.txt"), touch("done.flag"), directory("d")
    log: "never-written.log"
    shell: "cp {input} {output[0]}; mkdir d; touch d/x"
rule first:
    output: temp("temp.txt")
    shell: "echo 1 > {output}"
""")
    run = workflow.traced("kept.txt")
    (last,) = run.attempts("last")
    acts = {(e.action, Path(e.path).name): e.attempt for e in run.of(ev.EngineFile)}
    assert ("delete", "temp.txt") in acts
    assert acts["protect", "kept.txt"] == last.id
    assert acts["touch", "done.flag"] == last.id
    assert ("touch", "never-written.log") in acts
    declared = run.declared("last")
    assert declared["output", "kept.txt"] == ("protected",)
    assert declared["output", "d"] == ("directory",)
    assert declared["output", "done.flag"] == ("touch",)
    assert run.declared("first")["output", "temp.txt"] == ("temp",)


def test_script_job_declares_the_script_that_snakemake_read(snakefile: Writer, workflow: Workflow) -> None:
    workflow.write("s.py", 'open(snakemake.output[0], "w").write("1")\n')
    run = snakefile('rule s:\n    output: "s"\n    script: "s.py"\n').traced()
    (attempt,) = run.attempts("s")
    assert attempt.start.kind == "script"
    assert ("script", "s.py") in run.declared("s")
    assert attempt.processes


def test_file_that_jobs_inherit_as_their_stderr_is_declared(workflow: Workflow) -> None:
    workflow.write("Snakefile", 'rule a:\n    output: "a"\n    shell: "echo talk >&2; touch a"\n')
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--logger", "provio"]
    options = ["--logger-provio-seal", "no"]
    with (workflow.path / "talk.log").open("w") as log:
        subprocess.run([*command, *options], cwd=workflow.path, stderr=log, check=True)
    assert ("environment", "talk.log") in workflow.recorded().declared("a")


def test_run_job_is_one_attempt_whose_inner_snakemake_is_engine(snakefile: Writer) -> None:
    run = snakefile("""
rule body:
    output: "x"
    run:
        with open(output[0], "w") as out:
            out.write("1")
        shell("cat /etc/hostname >> {output}")
""").traced()
    (attempt,) = run.attempts("body")
    assert attempt.start.kind == "run"
    assert attempt.end.state == "succeeded"
    engine = [e for e in run.of(ev.IdentityChanged) if e.attempt == ENGINE and e.thread == 0]
    assert len(engine) >= 1
    inner = {e.process.pid for e in engine}
    shells = [p for p in attempt.processes if "hostname" in " ".join(p.argv)]
    assert len(shells) == 1
    assert shells[0].stamp.pid in inner


def test_environment_given_empty_stays_empty_but_for_ours(snakefile: Writer) -> None:
    workflow = snakefile("""
rule body:
    output: "x"
    run:
        import subprocess
        command = ["/bin/cat", "/proc/self/environ"]
        PIPE = subprocess.PIPE
        empty = subprocess.Popen(command, -1, None, None, PIPE, None, None, True, False, None, {})
        empty = empty.communicate()[0]
        named = subprocess.run(command, env={"ONLY": "1"}, stdout=PIPE).stdout
        with open(output[0], "wb") as out:
            out.write(empty + b"|" + named)
""")
    workflow.traced()
    empty, named = (workflow.path / "x").read_bytes().split(b"|")
    names = lambda text: {v.split(b"=")[0].decode() for v in text.split(b"\0") if v}  # noqa: E731
    ours = {n for n in names(empty) if n.startswith("PROVIO_")} | {"LD_PRELOAD"}
    assert names(empty) <= ours
    assert names(named) <= ours | {"ONLY"}
    assert b"ONLY=1" in named


def test_shadow_job_is_told_with_the_directory_in_which_it_ran(snakefile: Writer) -> None:
    run = snakefile('rule s:\n    output: "x"\n    shadow: "minimal"\n    shell: "pwd > {output}"\n').traced()
    starts = run.of(ev.TaskStarted)
    assert len({s.attempt for s in starts}) == 1
    assert "/.snakemake/shadow/" in starts[-1].cwd
    assert (Path(run.run["cwd"]) / "x").read_text().strip() == starts[-1].cwd


def test_retries_of_the_inner_snakemake_are_attempts_inside_the_outer_one(snakefile: Writer) -> None:
    run = snakefile("""
rule body:
    output: "x"
    retries: 1
    run:
        import os
        if not os.path.exists("flag"):
            open("flag", "w").close()
            raise ValueError("first time")
        shell("touch {output}")
""").traced()
    outer, first, second = run.attempts("body")
    assert outer.start.parent is None
    assert (first.start.parent, second.start.parent) == (outer.id, outer.id)
    assert (first.start.ordinal, second.start.ordinal) == (1, 2)
    assert (first.end.state, second.end.state, outer.end.state) == ("failed", "succeeded", "succeeded")
    assert "first time" in first.end.message


def test_helpers_of_the_engine_belong_to_no_attempt(snakefile: Writer) -> None:
    workflow = snakefile("""
onstart:
    shell("cat /proc/self/environ > onstart.env")
rule a:
    output: "a"
    shell: "cat /proc/self/environ > {output}"
""")
    workflow.traced()
    library = re.compile(rb"PROVIO_TASK=\w{32}/(\w{32})")
    inside = library.search((workflow.path / "a").read_bytes())
    hook = library.search((workflow.path / "onstart.env").read_bytes())
    if inside:  # a traced program's own copy is cleaned; the kernel's is as it was at exec
        assert inside[1].decode() != ENGINE
        assert hook[1].decode() == ENGINE


def test_parallel_jobs_of_one_rule_keep_their_processes_apart(snakefile: Writer) -> None:
    run = snakefile("""
rule all:
    input: expand("o/{i}", i=range(6))
rule one:
    output: "o/{i}"
    shell: "echo {wildcards.i} > {output}"
""").traced("--cores", "4")
    attempts = run.attempts("one")
    assert len({a.id for a in attempts}) == 6
    for attempt in attempts:
        (process,) = attempt.processes
        assert f"> o/{attempt.start.attributes['wildcards']['i']}" in process.argv[0]


def test_wildcards_with_commas_and_quotes_give_distinct_keys(snakefile: Writer) -> None:
    run = snakefile("""
rule all:
    input: "o/1,b=2-3", "o/1-b=2,3"
rule one:
    output: "o/{a}-{b}"
    shell: "touch {output:q}"
""").traced()
    keys = [a.start.physical for a in run.attempts("one")]
    assert len(set(keys)) == 2


def test_members_of_a_pipe_group_are_attempts_of_their_own(snakefile: Writer) -> None:
    run = snakefile("""
rule take:
    input: "p"
    output: "x"
    shell: "cat {input} > {output}"
rule give:
    output: pipe("p")
    shell: "echo 1 > {output}"
""").traced("x")
    (give,), (take,) = run.attempts("give"), run.attempts("take")
    assert len(give.processes) == len(take.processes) == 1
    assert run.declared("give")["output", "p"] == ("pipe",)


def test_interrupt_by_the_user_ends_run_and_job_as_cancelled(snakefile: Writer) -> None:
    workflow = snakefile('rule wait:\n    output: "x"\n    shell: "echo > begun; exec sleep 60"\n')
    os.mkfifo(workflow.path / "begun")
    with workflow.start("--logger", "provio") as snakemake:
        (workflow.path / "begun").read_text()  # returns when the job has begun
        os.killpg(snakemake.pid, signal.SIGINT)
        assert snakemake.wait(60) != 0
    run = workflow.recorded()
    (attempt,) = run.attempts("wait")
    assert attempt.end.state == "cancelled"
    assert [e.state for e in run.of(ev.RunEnded)] == ["cancelled"]


def test_settings_work_as_options_environment_and_profile(
    snakefile: Writer, workflow: Workflow, tmp_path_factory: pytest.TempPathFactory
) -> None:
    snakefile('rule a:\n    output: "a"\n    shell: "touch a"\n')
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    given = {"store": f"{elsewhere}/s1", "name": "one", "trace": "full", "workflow": "mine", "seal": "no"}
    options = [word for name, value in given.items() for word in (f"--logger-provio-{name}", value)]
    workflow.run("--logger", "provio", *options)
    (spool,) = (elsewhere / "s1" / "spool").iterdir()
    record = json.loads((spool / "run.json").read_text())
    assert (record["name"], record["mode"], record["workflow"]) == ("one", "full", "mine")

    env = {"SNAKEMAKE_LOGGER_PROVIO_STORE": str(elsewhere / "s2"), "SNAKEMAKE_LOGGER_PROVIO_TRACE": "full"}
    workflow.run("--logger", "provio", "--forceall", env=env)
    (spool,) = (elsewhere / "s2" / "spool").iterdir()
    assert json.loads((spool / "run.json").read_text())["mode"] == "full"

    (workflow.path / "prof").mkdir()
    lines = ["logger: [provio]", f"logger-provio-store: {elsewhere}/s3", "logger-provio-seal: no"]
    workflow.write("prof/config.yaml", "\n".join([*lines, "logger-provio-name: p"]))
    workflow.run("--profile", "prof", "--forceall", env={"SNAKEMAKE_LOGGER_PROVIO_SEAL": None})
    (spool,) = (elsewhere / "s3" / "spool").iterdir()
    assert json.loads((spool / "run.json").read_text())["name"] == "p"
    assert not (workflow.path / ".provio").exists()
    assert not list(elsewhere.rglob("seal.log"))


def test_one_line_tells_the_run_and_quiet_removes_it(snakefile: Writer) -> None:
    workflow = snakefile('rule a:\n    output: "a"\n    shell: "touch a"\n')
    loud = workflow.run("--logger", "provio")
    (line,) = [text for text in loud.stderr.splitlines() if text.startswith("provio:") and "ask:" in text]
    assert workflow.recorded().run["run_id"] in line
    for quiet in (["--quiet"], ["--quiet", "all"]):
        done = workflow.run("--logger", "provio", "--forceall", *quiet)
        assert "ask:" not in done.stderr
        assert workflow.recorded().attempts("a")
    assert loud.stdout == ""


def test_nested_in_another_run_it_says_so(snakefile: Writer) -> None:
    workflow = snakefile('rule a:\n    output: "a"\n    shell: "touch a"\n')
    outer = f"{'a' * 32}/{'b' * 32}"
    run = workflow.traced(env={"PROVIO_TASK": outer, "PROVIO_SPOOL": str(workflow.path)})
    assert (run.run["parent_run"], run.run["parent_attempt"]) == ("a" * 32, "b" * 32)
    assert run.of(ev.TaskStarted)[0].run == run.run["run_id"]


def test_background_sealer_is_started_when_asked(snakefile: Writer) -> None:
    workflow = snakefile('rule a:\n    output: "a"\n    shell: "touch a"\n')
    run = workflow.traced(env={"SNAKEMAKE_LOGGER_PROVIO_SEAL": "yes"})
    assert (run.spool / "seal.log").exists() or not run.spool.exists()
    assert (workflow.path / ".provio").is_dir()
