from __future__ import annotations

import dataclasses
from pathlib import Path

from provio.engines import redact
from provio.model.events import EVENT_TYPES
from provio.model.runs import RunRecord

SPOOL = (Path(__file__).parents[3] / "docs" / "reference" / "spool.md").read_text()


def test_every_field_of_the_record_of_a_run_is_documented() -> None:
    names = {field.name for field in dataclasses.fields(RunRecord)} - {"started_real", "started_mono"}
    assert {name for name in names | {"started"} if f"`{name}`" not in SPOOL} == set()


def test_every_event_type_is_documented() -> None:
    assert {name for name in EVENT_TYPES if f"`{name}`" not in SPOOL} == set()


def test_every_secret_ending_is_secret_in_any_spelling() -> None:
    for ending in redact.SECRET_ENDINGS:
        assert redact.is_secret_name(f"--my-{ending.strip('_').replace('_', '-')}".upper())
