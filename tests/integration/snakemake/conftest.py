"""A directory for a workflow, and a way to write its Snakefile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.snakemake_runs import Workflow, Writer

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def workflow(tmp_path: Path) -> Workflow:
    return Workflow(tmp_path)


@pytest.fixture
def snakefile(workflow: Workflow) -> Writer:
    """Write a Snakefile and return its workflow."""

    def write(text: str) -> Workflow:
        workflow.write("Snakefile", text)
        return workflow

    return write
