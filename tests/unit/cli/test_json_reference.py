"""docs/reference/json.md names every field that the commands print."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from provio.cli import COMMANDS, call
from support.answers import seismic

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "json.md"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("das")
    story = seismic()
    story.process(40, None, ["tee", "x"], scope="unattributed")
    story.file(40, "x")
    story.version(40, 40, 40, 1)
    story.seal(directory / ".provio")
    return directory / ".provio"


def section(name: str) -> str:
    """Return the part of the page under the heading that names a command."""
    parts = re.split(r"^## (.+)$", PAGE.read_text(), flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    return next(text for title, text in found.items() if name in title.split(", "))


def fields(
    value: Any, free: frozenset[str] = frozenset({"attribution", "operations", "noise", "wildcards"})
) -> set[str]:
    """Return every key in a document, but not the keys of its free mappings."""
    if isinstance(value, list):
        return set().union(*map(fields, value), set())
    if not isinstance(value, dict):
        return set()
    return set(value) | set().union(*(fields(v) for k, v in value.items() if k not in free), set())


@pytest.mark.parametrize(
    "args",
    [
        ["show"], ["show", "--task", "convert"], ["lineage", "fig.png", "--depth", "0"], ["lineage", "x"],
        ["why", "stack.h5"], ["why", "x"], ["config"], ["config", "get", "trace"], ["config", "path"],
        ["plugins"],
        ["runs"], ["gc", "--dry-run"], ["doctor"],
    ],
)  # fmt: skip
def test_every_field_is_on_the_page(
    args: list[str], store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(store.parent)
    call([*args, "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["version"] == 1
    text = section(args[0])
    general = PAGE.read_text().split("## show")[0] + (section("show") if "as in show" in text else "")
    general += section("lineage") if "lineage" in text else ""
    missing = {name for name in fields(document) if not re.search(rf"[`.\"\]]{name}[`\[\"]", text + general)}
    assert missing == set()


def test_every_command_has_its_section() -> None:
    for name in COMMANDS:
        assert section(name), name
