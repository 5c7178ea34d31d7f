"""The distribution whose name Snakemake's plugin catalogue expects."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import provio

ROOT = Path(__file__).parents[3]


def project(path: Path) -> dict[str, Any]:
    return dict(tomllib.loads(path.read_text())["project"])


def test_alias_depends_on_exactly_this_version_of_provio() -> None:
    alias = project(ROOT / "plugins" / "snakemake" / "alias" / "pyproject.toml")
    assert alias["name"] == "snakemake-logger-plugin-provio"
    assert alias["version"] == provio.__version__
    assert alias["dependencies"] == [f"provio[snakemake]=={provio.__version__}"]


def test_every_setting_is_explained_to_readers_of_the_catalogue() -> None:
    docs = ROOT / "plugins" / "snakemake" / "alias" / "docs"
    assert (docs / "intro.md").exists()
    assert "SNAKEMAKE_LOGGER_PROVIO_X" in (docs / "further.md").read_text()
