"""Evidence of real shells, recorded once (tests/golden/reconcile/record.py), gives the reviewed facts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.goldens import conclusions, load_evidence

GOLDEN = Path(__file__).parents[2] / "golden" / "reconcile"
CASES = sorted(GOLDEN.glob("*.json"))


def test_there_are_examples() -> None:
    assert len(CASES) >= 9


@pytest.mark.parametrize("case", CASES, ids=lambda p: p.stem)
def test_shell_example_gives_the_reviewed_facts(case: Path) -> None:
    data = json.loads(case.read_text())
    assert conclusions(load_evidence(data["evidence"])) == data["expected"]
