"""What holds for the code as a whole: sizes, docstrings, public names, the numbers of the wire format."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import provio
from provio.model import wire

if TYPE_CHECKING:
    from enum import IntEnum, IntFlag

ROOT = Path(__file__).parents[2]
FOLDERS = ("core/src", "core/native", "plugins", "tests", "docs", "bench", "examples")
PYTHON = sorted(p for folder in FOLDERS for p in (ROOT / folder).rglob("*.py"))
SHIPPED = [p for p in PYTHON if p.is_relative_to(ROOT / "core" / "src") or p.is_relative_to(ROOT / "plugins")]
C = sorted(p for kind in ("*.c", "*.h") for p in (ROOT / "core" / "native").rglob(kind))
MODULE_LINES, FUNCTION_LINES = 500, 80

HEADER = (ROOT / "core" / "native" / "common" / "record.h").read_text()
PREFIXES = {
    "REC": wire.RecordType, "OP": wire.Op, "GAP": wire.GapCode, "DROP": wire.Drop, "TRACER": wire.Tracer,
    "LAYOUT": wire.Layout, "BLOCK": wire.BlockKind, "ORIGIN": wire.Origin, "END": wire.End, "KIND": wire.Kind,
    "HANDLE": wire.HandleFlags, "OPF": wire.OpFlags,
}  # fmt: skip


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", [*PYTHON, *C], ids=_name)
def test_no_file_is_longer_than_a_reader_s_patience(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= MODULE_LINES


def test_no_python_function_is_longer_than_a_screen() -> None:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    long = [
        f"{_name(path)}:{node.lineno} {node.name}"
        for path in PYTHON
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, kinds) and (node.end_lineno or 0) - node.lineno >= FUNCTION_LINES
    ]
    assert long == []


def test_no_c_function_is_longer_than_a_screen() -> None:
    long = []
    for path in C:
        begin = 0
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line == "{":
                begin = number
            elif line == "}" and begin and number - begin >= FUNCTION_LINES:
                long.append(f"{_name(path)}:{begin}")
    assert long == []


def test_every_shipped_module_says_what_belongs_in_it() -> None:
    silent = [_name(path) for path in SHIPPED if not ast.get_docstring(ast.parse(path.read_text("utf-8")))]
    assert silent == []


def test_public_names_are_exactly_those_that_can_be_imported() -> None:
    assert len(set(provio.__all__)) == len(provio.__all__)
    assert [name for name in provio.__all__ if getattr(provio, name, None) is None] == []
    assert dir(provio) == sorted(provio.__all__)
    with pytest.raises(AttributeError):
        _ = provio.no_such_name


@pytest.mark.parametrize("prefix", sorted(PREFIXES))
def test_numbers_of_the_wire_format_are_those_of_the_header(prefix: str) -> None:
    kind: type[IntEnum | IntFlag] = PREFIXES[prefix]
    body = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.DOTALL)
    found = re.findall(rf"\bPROVIO_{prefix}_([A-Z0-9_]+)\s*=\s*(\d+(?:\s*<<\s*\d+)?)", body)
    assert {name: _number(text) for name, text in found} == {member.name: member.value for member in kind}


def _number(text: str) -> int:
    base, _, shift = text.partition("<<")
    return int(base) << int(shift or 0)


def test_constants_of_the_wire_format_are_those_of_the_header() -> None:
    defined = dict(re.findall(r"^#define PROVIO_(\w+) +(\S+)", HEADER, flags=re.MULTILINE))
    assert int(defined["FORMAT_MAJOR"]) == wire.FORMAT_MAJOR
    assert int(defined["FORMAT_MINOR"]) == wire.FORMAT_MINOR
    assert int(defined["HEADER_SIZE"].rstrip("u")) == wire.HEADER_SIZE
    assert int(defined["BLOCK_MAGIC"].rstrip("u"), 16) == wire.BLOCK_MAGIC
    assert int(defined["REF_SHIFT"]) == wire.REF_SHIFT
    assert ast.literal_eval(f"b{defined['FILE_MAGIC']}") == wire.FILE_MAGIC


def test_engine_interface_loads_no_third_party_module() -> None:
    program = (
        "import sys; before = set(sys.modules)\n"
        "from provio import engines\n"
        "[getattr(engines, name) for name in engines.__all__]\n"
        "found = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(found - set(sys.stdlib_module_names) - {'provio'}))"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


def test_changelog_fragments_are_well_formed() -> None:
    subprocess.run([sys.executable, ROOT / "changelog.d" / "check.py"], check=True, capture_output=True)
