"""Truth: strace watches the same execution that provio records, and both must say the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from e2e import strace_log, truth
from provio.pipeline import answer
from provio.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
WORKFLOWS = {
    "mixed20": HERE / "workflows" / "mixed20",
    "das": HERE.parents[1] / "examples" / "das",
}

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed (make ci-deps)"),
]


class Witnessed:
    """One workflow, run once under both."""

    def __init__(self, folder: Path) -> None:
        self.source = answer(Store(folder / ".provio"))
        self.transfers = strace_log.transfers(folder / "strace")
        self.comparison = truth.compare(self.transfers, self.source.sql)


@pytest.fixture(scope="module", params=sorted(WORKFLOWS))
def witnessed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Witnessed:
    folder = tmp_path_factory.mktemp(request.param)
    shutil.copytree(WORKFLOWS[request.param], folder, dirs_exist_ok=True)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PROVIO_", "SNAKEMAKE_"))}
    _call([sys.executable, "make_data.py"], folder, environment)
    (folder / "strace").mkdir()
    snakemake = [
        sys.executable,
        "-m",
        "snakemake",
        "--cores",
        "2",
        "--scheduler",
        "greedy",
        "--logger",
        "provio",
    ]
    options = ["--logger-provio-seal", "no", "--logger-provio-store", str(folder / ".provio")]
    _call(
        [*strace_log.STRACE, "-o", str(folder / "strace" / "log"), *snakemake, *options], folder, environment
    )
    return Witnessed(folder)


def _call(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]


def test_nothing_that_provio_says_of_reads_and_writes_is_wrong(witnessed: Witnessed) -> None:
    assert witnessed.comparison.wrong == {}, witnessed.comparison.told()


def test_what_only_strace_saw_is_reported_as_gaps_item_by_item(witnessed: Witnessed) -> None:
    gaps = witnessed.source.sql("SELECT kind, scope, detail FROM gaps")
    missing = {key for key in witnessed.comparison.unseen if not _told(gaps, key)}
    assert not missing, witnessed.comparison.told()


def _told(gaps: list[tuple[str, str, str]], key: truth.Key) -> bool:
    """Tell whether a gap names the owner of an unseen transfer."""
    return any(scope == f"attempt:{key[0]}" for _, scope, _ in gaps)


def test_the_comparison_is_not_empty(witnessed: Witnessed) -> None:
    assert witnessed.comparison.equal > 100
    assert sum(witnessed.comparison.left_out.values()) < len(witnessed.transfers)


def test_every_operation_of_a_job_process_is_attributed(witnessed: Witnessed) -> None:
    scopes = dict(witnessed.source.sql("SELECT scope, count(*) FROM accesses GROUP BY scope"))
    assert scopes.get("attempt", 0) > 100
    assert scopes.get("unattributed", 0) == 0


def test_inputs_and_outputs_of_the_run_body_belong_to_its_attempt(witnessed: Witnessed) -> None:
    rule, wanted = ("body", {"out/07_script.txt", "out/08_body.txt"})
    if not witnessed.source.sql("SELECT 1 FROM tasks WHERE logical = 'body'"):
        rule, wanted = ("stack", {"work/0000.correlated.h5", "results/stack.h5"})
    assert wanted <= _files(witnessed.source.sql, rule)


def _files(sql: Callable[..., list[tuple[bytes, ...]]], rule: str) -> set[str]:
    rows = sql(
        "SELECT DISTINCT f.path FROM accesses a JOIN files f ON f.file = a.file "
        "JOIN attempts t ON t.attempt = a.attempt JOIN tasks k ON k.task = t.task "
        "WHERE k.logical = ? AND a.operation IN ('read', 'write')",
        [rule],
    )
    return {"/".join(os.fsdecode(bytes(path)).rsplit("/", 2)[1:]) for (path,) in rows}
