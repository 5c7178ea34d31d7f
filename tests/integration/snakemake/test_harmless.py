"""Never harm the run: inert where nothing runs, and fail open where something is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.snakemake_runs import Writer

SNAKEFILE = """
rule all:
    input: "b"
rule a:
    output: "a"
    shell: "echo 1 > {output}"
rule b:
    input: "a"
    output: "b"
    shell: "cat {input} > {output}"
"""

INFORMING = [
    ["-n"], ["--dry-run", "--quiet", "rules"], ["--summary"], ["--detailed-summary"], ["--list-rules"],
    ["--list-target-rules"], ["--lint"], ["--dag"], ["--rulegraph"], ["--filegraph"], ["--unlock"],
    ["--list-untracked"], ["--list-changes", "code"], ["--delete-all-output", "--dry-run"], ["--touch"],
    ["--report", "report.html"], ["--cleanup-metadata", "a"], ["--help"], ["--version"], ["no-such-target"],
]  # fmt: skip


@pytest.mark.parametrize("arguments", INFORMING, ids=" ".join)
def test_call_that_only_informs_leaves_nothing_on_disk(snakefile: Writer, arguments: list[str]) -> None:
    workflow = snakefile(SNAKEFILE)
    if "--touch" in arguments or "--report" in arguments:
        workflow.run()
    workflow.run(*arguments, "--logger", "provio", code=None)
    assert not (workflow.path / ".provio").exists()


def test_run_with_nothing_to_do_leaves_nothing_on_disk(snakefile: Writer) -> None:
    workflow = snakefile(SNAKEFILE)
    workflow.run()
    workflow.run("--logger", "provio")
    assert not (workflow.path / ".provio").exists()


def test_store_that_cannot_be_made_is_one_warning_and_the_workflow_succeeds(snakefile: Writer) -> None:
    workflow = snakefile(SNAKEFILE)
    workflow.write("blocked", "a file, not a directory")
    done = workflow.run(
        "--logger", "provio", "--logger-provio-store", str(workflow.path / "blocked" / "store")
    )
    warnings = [line for line in done.stderr.splitlines() if "provio: not recording" in line]
    assert len(warnings) == 1
    assert (workflow.path / "b").read_text() == "1\n"


def test_spool_removed_in_the_middle_harms_nothing(snakefile: Writer) -> None:
    workflow = snakefile(SNAKEFILE.replace('"echo 1', '"rm -rf .provio; echo 1'))
    workflow.run("--logger", "provio")
    assert (workflow.path / "b").read_text() == "1\n"


def test_results_output_and_exit_code_are_those_without_the_plugin(snakefile: Writer) -> None:
    workflow = snakefile(SNAKEFILE.replace('"cat', '"echo to-stdout; echo to-stderr >&2; cat'))
    plain = workflow.run("--quiet", "all")
    (workflow.path / "a").unlink()
    (workflow.path / "b").unlink()
    with_plugin = workflow.run("--quiet", "all", "--logger", "provio")
    assert (with_plugin.stdout, with_plugin.stderr) == (plain.stdout, plain.stderr)
    assert "to-stdout" in plain.stdout


def test_snakemake_without_the_option_loads_only_the_settings_module() -> None:
    code = "import snakemake_logger_plugin_provio, sys; print([m for m in sys.modules if m[:6] == 'provio'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_child_with_a_broken_context_runs_as_without_provio(snakefile: Writer) -> None:
    workflow = snakefile('rule a:\n    output: "a"\n    run:\n        shell("touch a")\n')
    env = {"PROVIO_TASK": f"{'a' * 32}/{'b' * 32}", "PROVIO_SPOOL": os.devnull}
    done = workflow.run(env=env)
    assert (workflow.path / "a").exists()
    assert "Traceback" not in done.stderr


def test_failing_description_of_a_job_costs_only_its_declarations(snakefile: Writer) -> None:
    workflow = snakefile("""
class Odd:
    def __repr__(self): raise RuntimeError("no")
    def __str__(self): raise RuntimeError("no")
rule a:
    output: "a"
    params: odd=Odd()
    shell: "touch {output}"
""")
    run = workflow.traced("--cores", "1")
    (attempt,) = run.attempts("a")
    assert attempt.end.state == "succeeded"
    assert ("output", "a") in run.declared("a")
