"""Write the reference pages that follow from the code: ``make docs``.

A test (tests/meta) compares the pages with what this gives, so that they cannot
rot. Pages written by hand: json.md, environment.md, spool.md, store.md.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import redirect_stdout
from dataclasses import fields
from pathlib import Path

REFERENCE = Path(__file__).parent / "reference"
NOTE = "<!-- Written by `make docs` from {source}. Do not edit. -->\n"


def tables() -> str:
    """The tables of a generation."""
    from provio.model import tables as model

    lines = ["# Tables", NOTE.format(source="provio.model.tables")]
    lines += [
        "A sealed run is a directory of Parquet files (v2, zstd), one per table. `provio` reads them with DuckDB; any",
        "reader of Parquet does. Numbers such as `image`, `epoch`, `file` and `version` are unique within one",
        "generation. Times ending in `_ns` are CLOCK_REALTIME, those ending in `_mono` CLOCK_MONOTONIC of the host's",
        f"boot. -1 or NULL: not known. Version of this layout: {model.TABLES_VERSION}.",
    ]
    for name, columns in model.TABLES.items():
        lines += ["", f"## {name}", "", "| column | type | meaning |", "|---|---|---|"]
        lines += [f"| `{c.name}` | {c.type} | {c.meaning} |" for c in columns]
    return "\n".join(lines) + "\n"


def gaps() -> str:
    """The kinds of Gap."""
    from provio.model.gaps import GapKind

    lines = [
        "# Gaps", NOTE.format(source="provio.model.gaps"),
        "What could not be seen or decided is said, never left blank: a Gap is a fact like any other, with a kind, a",
        "scope, an interval where known, a count and a sentence. Answers carry the gaps that concern them.", "",
        "| kind | meaning |", "|---|---|",
    ]  # fmt: skip
    return "\n".join([*lines, *(f"| `{kind.value}` | {kind.meaning} |" for kind in GapKind)]) + "\n"


def events() -> str:
    """The events of engine plugins."""
    from provio.model import events as model

    lines = [
        "# Events", NOTE.format(source="provio.model.events"),
        "What engine plugins say, one JSON object a line in `spool/<run-id>/events/*.jsonl`. Every line has `v`",
        f"({model.EVENT_VERSION}), `type`, `seq` (counts the lines of one writer) and `stamp`. Readers ignore fields",
        "that they do not know and refuse a newer `v`.",
    ]  # fmt: skip
    parts = [(cls.type, cls) for cls in model.EVENT_TYPES.values()]
    for title, cls in (
        *parts,
        ("stamp", model.Stamp),
        ("process", model.ProcessRef),
        ("declared", model.Declared),
    ):
        lines += ["", f"## {title}", "", _first(cls.__doc__), "", "| field | type |", "|---|---|"]
        lines += [f"| `{f.name}` | `{f.type}` |" for f in fields(cls) if f.name != "stamp"]
    return "\n".join(lines) + "\n"


def hooks() -> str:
    """The hooks."""
    from provio.plugins.manager import hook_documents

    lines = [
        "# Hooks", NOTE.format(source="provio.plugins.hookspecs"),
        "A plugin is a module named by an entry point in the group `provio`, with functions marked `@provio.hookimpl`.",
        "`examples/plugin` uses every one of them. A hook that raises while a run is recorded or sealed is left out for",
        "that run, which becomes a gap `plugin-failed`; a misspelt hook is an error that names the plugin.",
    ]  # fmt: skip
    for name, text in hook_documents().items():
        lines += ["", f"## {name}", "", "```text", text.rstrip(), "```"]
    return "\n".join(lines) + "\n"


def exit_codes() -> str:
    """The exit codes."""
    from provio import errors

    rows = [("0", "fine"), ("1", "findings or differences")]
    kinds = sorted(errors.ProvioError.__subclasses__(), key=lambda cls: cls.exit_code)
    rows += [(str(cls.exit_code), _first(cls.__doc__)) for cls in kinds]
    rows += [("130", "interrupted"), ("141", "the reader of our output went away (128 + SIGPIPE)")]
    lines = ["# Exit codes", NOTE.format(source="provio.errors"), "| code | meaning |", "|---|---|"]
    lines += [f"| {code} | {meaning} |" for code, meaning in rows]
    return "\n".join([*lines, "", "`provio run` returns the exit code of the command that it ran."]) + "\n"


def commands() -> str:
    """The help of every command."""
    from provio.cli import COMMANDS

    lines = ["# Commands", NOTE.format(source="provio.cli")]
    for name in ("", *COMMANDS):
        lines += [f"## provio {name}".rstrip(), "", "```text", _help(name), "```", ""]
    return "\n".join(lines)


def _help(command: str) -> str:
    from provio.cli import call

    os.environ |= {"COLUMNS": "100", "LINES": "40", "NO_COLOR": "1"}
    out = io.StringIO()
    with redirect_stdout(out):
        call([*([command] if command else []), "--help"])
    return "\n".join(line.rstrip() for line in out.getvalue().strip().splitlines())


def _first(document: str | None) -> str:
    return (document or "").strip().partition("\n")[0]


PAGES = {
    "tables.md": tables,
    "gaps.md": gaps,
    "events.md": events,
    "hooks.md": hooks,
    "exit-codes.md": exit_codes,
    "commands.md": commands,
}
"""Page -> what makes its text."""


def main() -> int:
    """Write every page that differs."""
    for name, make in PAGES.items():
        page, text = REFERENCE / name, make()
        if not page.exists() or page.read_text("utf-8") != text:
            page.write_text(text, "utf-8")
            print(f"Wrote {page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
