from __future__ import annotations

from pathlib import Path

import pytest

from provio.engines import redact

REDACTION = (Path(__file__).parents[3] / "docs" / "reference" / "redaction.md").read_text()


@pytest.mark.parametrize("ending", redact.SECRET_ENDINGS)
def test_every_secret_ending_is_documented_and_secret_in_any_spelling(ending: str) -> None:
    spelled = ending.replace("key", "_key").replace("__", "_").replace("credentials", "credential")
    assert f"`{spelled}" in REDACTION
    assert redact.is_secret_name(f"--my-{ending.strip('_').replace('_', '-')}".upper())
