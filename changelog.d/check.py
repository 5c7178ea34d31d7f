"""Check the changelog's fragments: ``<short-name>.<kind>.md``, one or more sentences, no heading.

The next release moves them into CHANGELOG.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

KINDS = ("added", "changed", "fixed", "removed", "security")


def faults(folder: Path) -> list[str]:
    """Say what is wrong with each fragment, and if there is none at all."""
    fragments = sorted(p for p in folder.glob("*.md") if p.name != "README.md")
    found = [f"{p.name}: {fault}" for p in fragments if (fault := _fault(p))]
    return found if fragments else ["no fragment: say what changes for users in changelog.d/<name>.<kind>.md"]


def _fault(path: Path) -> str:
    parts = path.name.split(".")
    if len(parts) != 3 or parts[1] not in KINDS:
        return f"the name is <short-name>.<kind>.md with kind one of {', '.join(KINDS)}"
    text = path.read_text("utf-8").strip()
    if not text.endswith(".") or text.startswith("#"):
        return "one or more whole sentences, no heading"
    return ""


if __name__ == "__main__":
    problems = faults(Path(__file__).parent)
    print("\n".join(problems) or "changelog: fine")
    sys.exit(bool(problems))
