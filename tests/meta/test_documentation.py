"""Everything that a user can meet is documented, and generated pages are current."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from provio.cli import COMMANDS
from provio.engines.settings import SETTINGS
from provio.model.gaps import GapKind
from provio.plugins.manager import hook_documents

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
SOURCES = [
    *(ROOT / "core" / "src").rglob("*.py"),
    *(ROOT / "plugins").rglob("*.py"),
    *(ROOT / "core" / "native" / "preload").glob("*.c"),
]
PAGES = sorted([ROOT / "README.md", ROOT / "core" / "README.md", *(ROOT / "docs").rglob("*.md")])


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", sorted(_generator().PAGES))
def test_generated_page_is_current(page: str) -> None:
    make: Any = _generator().PAGES[page]
    assert (REFERENCE / page).read_text("utf-8") == make(), "run `make docs`"


def test_every_command_is_documented() -> None:
    text = (REFERENCE / "commands.md").read_text()
    assert [name for name in COMMANDS if f"## provio {name}\n" not in text] == []


def test_every_hook_is_documented() -> None:
    text = (REFERENCE / "hooks.md").read_text()
    assert [name for name in hook_documents() if f"## {name}\n" not in text] == []


def test_every_gap_kind_is_documented() -> None:
    text = (REFERENCE / "gaps.md").read_text()
    assert [kind.value for kind in GapKind if f"| `{kind.value}` |" not in text] == []


def test_every_environment_variable_is_documented() -> None:
    text = (REFERENCE / "environment.md").read_text()
    used = {setting.variable for setting in SETTINGS}
    for source in SOURCES:
        used |= set(re.findall(r"[\"'](PROVIO_[A-Z_]+)(?:=[^\"']*)?[\"']", source.read_text()))
    used -= {"PROVIO_RECORD_H"}
    assert sorted(name for name in used if f"`{name}`" not in text) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []
