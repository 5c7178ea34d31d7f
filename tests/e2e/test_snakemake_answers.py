"""What provio answers about real runs of Snakemake under the tracer: whose operation was it?"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from provio.pipeline import answer
from provio.store import Store
from support.snakemake_runs import Workflow


class Answered:
    """A run of a Snakefile and the sealed answers about it."""

    def __init__(self, workflow: Workflow, store: Path | None = None, run: str | None = None) -> None:
        self.path = workflow.path
        self.source = answer(Store(store or workflow.path / ".provio"), run)

    def files(self, rule: str, operation: str) -> dict[str, int]:
        """Bytes by file below the workflow, for all attempts of a rule."""
        rows = self.source.sql(
            "SELECT f.path, sum(a.bytes) FROM accesses a JOIN files f ON f.file = a.file "
            "JOIN attempts t ON t.attempt = a.attempt JOIN tasks k ON k.task = t.task "
            "WHERE k.logical = ? AND a.operation = ? AND f.category = 'data' GROUP BY f.path",
            [rule, operation],
        )
        base = os.fsencode(self.path) + b"/"
        return {
            os.fsdecode(bytes(p).removeprefix(base)): int(n) for p, n in rows if bytes(p).startswith(base)
        }

    def attempts(self, rule: str) -> list[tuple[Any, ...]]:
        """(ordinal, state, exit code, files written) of a rule's attempts."""
        return self.source.sql(
            "SELECT t.ordinal, t.state, t.exit_code, t.files_written FROM attempts t "
            "JOIN tasks k ON k.task = t.task WHERE k.logical = ? ORDER BY t.started_ns, t.ordinal",
            [rule],
        )

    def scopes(self) -> dict[str, int]:
        rows = self.source.sql("SELECT scope, sum(operations) FROM attributions GROUP BY scope")
        return {scope: int(count) for scope, count in rows}


@pytest.fixture
def workflow(tmp_path: Path) -> Workflow:
    return Workflow(tmp_path)


def answered(workflow: Workflow, snakefile: str, *arguments: str, **options: Any) -> Answered:
    workflow.write("Snakefile", snakefile)
    workflow.run(*arguments, "--logger", "provio", **options)
    return Answered(workflow)


def test_shell_job_reads_and_writes_exactly_its_bytes(workflow: Workflow) -> None:
    workflow.write("in.txt", "12345")
    run = answered(
        workflow,
        'rule a:\n    input: "in.txt"\n    output: "o"\n    shell: "cat {input} {input} > {output}"\n',
    )
    assert run.files("a", "read")["in.txt"] == 10
    assert run.files("a", "write")["o"] == 10
    assert "unattributed" not in run.scopes()


def test_failed_attempt_keeps_what_it_wrote(workflow: Workflow) -> None:
    snakefile = """
rule a:
    output: "o"
    retries: 1
    resources: attempt=lambda wildcards, attempt: attempt
    shell: "echo {resources.attempt} > {output}; test {resources.attempt} = 2"
"""
    run = answered(workflow, snakefile)
    assert run.attempts("a") == [(1, "failed", 1, 1), (2, "succeeded", 0, 1)]
    assert run.files("a", "write")["o"] == 4


def test_body_of_run_is_the_attempts_and_its_snakemake_is_the_engines(workflow: Workflow) -> None:
    workflow.write("in.txt", "12345")
    snakefile = """
rule a:
    input: "in.txt"
    output: "o"
    run:
        with open(input[0]) as source, open(output[0], "w") as target:
            target.write(source.read())
        shell("echo more >> {output}")
"""
    run = answered(workflow, snakefile)
    assert run.files("a", "read").get("in.txt") == 5
    assert run.files("a", "write").get("o") == 10
    assert "Snakefile" not in run.files("a", "read")
    assert run.scopes()["engine"] > 100


def test_threads_children_and_empty_environments_of_a_body_are_its_attempts(workflow: Workflow) -> None:
    workflow.write("in.txt", "12345")
    snakefile = """
rule a:
    input: "in.txt"
    output: "thread", "fork", "empty"
    run:
        import os, subprocess, threading
        def copy(target):
            with open(input[0]) as source, open(target, "w") as out:
                out.write(source.read())
        thread = threading.Thread(target=copy, args=("thread",))
        thread.start()
        thread.join()
        child = os.fork()
        if child == 0:
            copy("fork")
            os._exit(0)
        os.waitpid(child, 0)
        with open("empty", "w") as out:
            subprocess.run(["/bin/cat", "in.txt"], env={}, stdout=out, check=True)
"""
    run = answered(workflow, snakefile)
    written = run.files("a", "write")
    assert {name: written.get(name) for name in ("thread", "fork", "empty")} == dict.fromkeys(
        ("thread", "fork", "empty"), 5
    )
    assert run.files("a", "read").get("in.txt") == 15


def test_script_job_declares_the_copy_that_is_executed(workflow: Workflow) -> None:
    from provio.query.files import findings

    workflow.write("s.py", 'open(snakemake.output[0], "w").write("1")\n')
    run = answered(workflow, 'rule s:\n    output: "o"\n    script: "s.py"\n')
    assert findings(run.source) == []


def test_shadow_job_is_followed_to_its_final_place(workflow: Workflow) -> None:
    workflow.write("in.txt", "12345")
    rule = 'rule a:\n    input: "in.txt"\n    output: "o"\n    shadow: "minimal"\n'
    run = answered(workflow, rule + '    shell: "cat {input} > {output}"\n')
    assert sum(count for name, count in run.files("a", "write").items() if name.endswith("o")) == 5
    ((cwd,),) = run.source.sql("SELECT cwd FROM attempts")
    assert "/.snakemake/shadow/" in cwd


def test_inner_retries_are_attempts_and_keep_their_files_apart(workflow: Workflow) -> None:
    snakefile = """
rule a:
    output: "o"
    retries: 1
    run:
        first = not os.path.exists("flag")
        with open("flag" if first else output[0], "w") as out:
            out.write("12345")
        assert not first
"""
    run = answered(workflow, "import os\n" + snakefile)
    states = [state for _, state, _, written in run.attempts("a") if written]
    assert states == ["failed", "succeeded"]


def test_lineage_goes_through_temporary_files_that_snakemake_deleted(workflow: Workflow) -> None:
    workflow.write("in.txt", "12345")
    snakefile = """
rule b:
    input: "t"
    output: "o"
    shell: "cat {input} > {output}"
rule a:
    input: "in.txt"
    output: temp("t")
    shell: "cat {input} > {output}"
"""
    run = answered(workflow, snakefile)
    rows = run.source.sql(
        "SELECT o.path, i.path FROM derivations d JOIN versions o ON o.version = d.output "
        "JOIN versions i ON i.version = d.input WHERE d.confidence = 'proved'"
    )
    edges = {(Path(os.fsdecode(bytes(o))).name, Path(os.fsdecode(bytes(i))).name) for o, i in rows}
    assert {("o", "t"), ("t", "in.txt")} <= edges


def test_snakemake_under_provio_run_is_nested_and_traced(workflow: Workflow) -> None:
    workflow.write("Snakefile", 'rule a:\n    output: "o"\n    shell: "echo 1 > {output}"\n')
    command = [sys.executable, "-m", "provio", "run", "--", sys.executable, "-m", "snakemake", "--cores", "1"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PROVIO_")}
    subprocess.run(
        [*command, "--logger", "provio"], cwd=workflow.path, env=environment, check=True, capture_output=True
    )
    store = Store(workflow.path / ".provio")
    runs = {one.id: answer(store, one.id) for one in store.runs()}
    inner = next(g for g in runs.values() if g.manifest["run"]["engine"] == "snakemake")
    outer = next(g for g in runs.values() if g.manifest["run"]["engine"] == "local")
    assert Answered(workflow, run=inner.manifest["run"]["id"]).files("a", "write")["o"] == 2
    assert inner.manifest["run"]["parent_run"] == outer.manifest["run"]["id"]
    assert not inner.sql("SELECT 1 FROM gaps WHERE kind = 'engine-not-traced'")
    assert not [
        p
        for (p,) in outer.sql("SELECT path FROM accesses WHERE operation = 'write'")
        if bytes(p).endswith(b"/o")
    ]
