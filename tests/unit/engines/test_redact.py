from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provio.engines import redact, redact_argv, redact_config, redact_text, stamp
from provio.model.events import Declared, Event, RunStarted, TaskEnded, TaskStarted
from provio.model.ids import new_attempt_id, new_run_id

if TYPE_CHECKING:
    from collections.abc import Iterator

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "redaction.json").read_text())
SECRET = "hunter2x"


@pytest.mark.parametrize(("what", "given_", "expected"), GOLDEN["text"])
def test_text_examples(what: str, given_: str, expected: str) -> None:
    assert redact_text(given_) == expected


@pytest.mark.parametrize(("what", "given_", "expected"), GOLDEN["text"])
def test_redacting_twice_changes_nothing_more(what: str, given_: str, expected: str) -> None:
    assert redact_text(expected) == expected


@pytest.mark.parametrize(("what", "given_", "expected"), GOLDEN["argv"])
def test_argument_examples(what: str, given_: list[str], expected: list[str]) -> None:
    assert redact_argv(given_) == expected


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
NAMES = st.sampled_from(
    ["--password", "--api-key", "DB_TOKEN", "client.secret", "PGPASSWORD", "x-auth-token"]
)


@given(WORDS, NAMES, st.from_regex(r"[A-Za-z0-9%^*+_-]{6,30}", fullmatch=True), WORDS)
def test_value_after_a_secret_name_is_never_left(before: str, name: str, value: str, after: str) -> None:
    secret = f"Zq{value}"
    assert secret not in redact_text(f"{before} {name}={secret} {after}")
    assert not any(secret in argument for argument in redact_argv([before, f"{name}={secret}", after]))


@given(st.lists(WORDS))
def test_any_arguments_are_taken_and_none_is_added_or_dropped(argv: list[str]) -> None:
    assert len(redact_argv(argv)) == len(argv)


def test_settings_keep_their_shape() -> None:
    given_ = {
        "db": {"password": SECRET, "host": "h", "tokens": ["a"]},
        "secret": [SECRET, {"x": SECRET}],
        "token": None,
        "use_token": True,
        "args": f"--token {SECRET}",
        "n": 3,
    }
    assert redact_config(given_) == {
        "db": {"password": "***", "host": "h", "tokens": ["a"]},
        "secret": ["***", {"x": SECRET}],
        "token": None,
        "use_token": True,
        "args": "--token ***",
        "n": 3,
    }


def test_every_part_of_an_event_that_comes_from_users_is_redacted() -> None:
    run, attempt = new_run_id(), new_attempt_id()
    text = f"x --token {SECRET}"
    events: list[Event] = [
        RunStarted(stamp(), run, "e", "1", "w", "/", argv=("--token", SECRET), config={"password": SECRET}),
        TaskStarted(
            stamp(), run, attempt, "l", "p", 1, "shell", "/",
            command=text, attributes={"params": {"api_key": SECRET}},
            declared=(Declared("param", SECRET, "password"), Declared("param", text)),
        ),
        TaskEnded(stamp(), attempt, "failed", message=text),
    ]  # fmt: skip
    for event in events:
        assert SECRET not in repr(redact.redact_event(event))


def test_declared_paths_stay_as_they_are() -> None:
    path = Declared("input", "/data/token=abc/x", "token")
    event = TaskStarted(stamp(), new_run_id(), new_attempt_id(), "l", "p", 1, "shell", "/", declared=(path,))
    assert redact.redact_event(event) == event


@pytest.fixture
def site_rule() -> Iterator[None]:
    redact.add_redactor(hide_patients)
    yield
    redact._redactors.remove(hide_patients)


def hide_patients(text: str) -> str:
    return text.replace("patient-17", "patient-*")


def test_rule_of_the_site_is_applied_too(site_rule: None) -> None:
    assert redact_argv(["x", "patient-17.vcf"]) == ["x", "patient-*.vcf"]


def test_long_text_is_redacted_in_time_that_grows_with_its_length() -> None:
    text = "token" * 20_000 + " --token 'x" + "a=b " * 20_000
    assert len(redact_text(text)) < len(text)
