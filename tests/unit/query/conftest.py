"""Every query test runs on both engines that a generation may be held by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.answers import Answers, Story


@pytest.fixture(params=["sqlite", "duckdb"])
def held(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Story], Answers]:
    if request.param == "sqlite":
        return lambda story: story.sqlite()
    return lambda story: story.parquet(tmp_path)
