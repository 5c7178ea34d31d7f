"""Redaction in C follows the same examples as in Python, under sanitizers."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from provio.engines.redact import redact_argv, redact_text
from provio.model.wire import RecordType
from support.traced import TRACED, trace

ROOT = Path(__file__).parents[2]
GOLDEN: dict[str, Any] = json.loads((ROOT / "tests" / "golden" / "redaction.json").read_text())
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
APART = [f"-D{name}=pv_{name}" for name in ("memcpy", "memmove", "memset", "memcmp")]


@pytest.fixture(scope="session")
def redactor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    native = ROOT / "core" / "native"
    sources = [
        native / "tests" / "redact" / "main.c",
        native / "preload" / "redact.c",
        native / "preload" / "text.c",
    ]
    program = tmp_path_factory.mktemp("redact") / "redact"
    subprocess.run(
        ["cc", "-D_GNU_SOURCE", "-g", *SANITIZERS, *APART, *map(str, sources), "-o", str(program)], check=True
    )
    return program


def redacted(program: Path, *arguments: bytes, text: bytes = b"") -> bytes:
    return subprocess.run([program, *arguments], input=text, capture_output=True, check=True).stdout


@pytest.mark.parametrize("case", GOLDEN["text"], ids=lambda case: str(case[0]))
def test_text_is_redacted_as_the_example_says(case: list[str], redactor: Path) -> None:
    assert redacted(redactor, text=case[1].encode()).decode() == case[2] == redact_text(case[1])


@pytest.mark.parametrize("case", GOLDEN["argv"], ids=lambda case: str(case[0]))
def test_argument_list_is_redacted_as_the_example_says(case: list[Any], redactor: Path) -> None:
    done = redacted(redactor, *(os.fsencode(a) for a in case[1]))
    assert [os.fsdecode(a) for a in done.split(b"\0")] == case[2] == redact_argv(case[1])


@pytest.mark.skipif(not TRACED.exists(), reason="the preload library is not built: make native")
def test_planted_secret_is_nowhere_in_the_spool(tmp_path: Path) -> None:
    secret = "hunter2-planted-7731"
    script = f"export DB_PASSWORD={secret}; true --token {secret}; env HOSTNAME=password={secret} true"
    trace(["bash", "-c", script, "--api-key", secret], tmp_path, tmp_path / "spool")
    assert all(secret.encode() not in f.read_bytes() for f in (tmp_path / "spool").rglob("*") if f.is_file())


@pytest.mark.skipif(not TRACED.exists(), reason="the preload library is not built: make native")
def test_words_of_the_site_are_redacted_too(tmp_path: Path) -> None:
    seen = trace(
        ["true", "--voucher=abc123"], tmp_path, tmp_path / "spool", extra={"PROVIO_REDACT": "voucher,other"}
    )
    argv = [seen.records.strings[n] for n in seen.records.texts(RecordType.IMAGE, "argv")]
    assert argv == [b"true\0--voucher=***"]
