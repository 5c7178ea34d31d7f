"""Which file a person means by FILE."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provio.errors import UsageError
from provio.query.paths import path_json, path_text, resolve
from support.answers import CWD, Answers, Story, seismic

if TYPE_CHECKING:
    from pathlib import Path

Held = Callable[[Story], Answers]


def test_relative_path_is_taken_from_the_current_directory_first(held: Held) -> None:
    source = held(seismic())
    assert resolve(source, "a.h5", f"{CWD}/work").path == f"{CWD}/work/a.h5".encode()
    assert resolve(source, "a.h5", f"{CWD}/deep/er").path == f"{CWD}/deep/er/a.h5".encode()


def test_relative_path_is_taken_from_the_directory_of_the_run_otherwise(held: Held) -> None:
    assert resolve(held(seismic()), "work/a.h5", "/somewhere").files == (3,)


def test_all_files_that_had_the_name_are_found(held: Held) -> None:
    assert resolve(held(seismic()), "stack.h5", CWD).files == (5, 6)


def test_end_of_a_path_suffices_where_it_is_unique(held: Held) -> None:
    assert resolve(held(seismic()), "er/a.h5", "/").files == (10,)


def test_end_of_a_path_matches_whole_names_only(held: Held) -> None:
    with pytest.raises(UsageError, match="never met"):
        resolve(held(seismic()), "ig.png", "/")


def test_ambiguous_end_lists_the_candidates(held: Held) -> None:
    with pytest.raises(UsageError, match="any of 2 files") as error:
        resolve(held(seismic()), "a.h5", "/")
    assert f"{CWD}/work/a.h5" in error.value.message
    assert f"{CWD}/deep/er/a.h5" in error.value.message


def test_former_name_finds_the_file_under_its_new_one(held: Held) -> None:
    found = resolve(held(seismic()), "stack.h5.tmp", "/")
    assert (found.files, found.former) == ((6,), True)


def test_file_never_met_is_an_error_that_says_what_is_near(held: Held) -> None:
    with pytest.raises(UsageError, match="never met") as error:
        resolve(held(seismic()), "fig.pgn", "/")
    assert f"{CWD}/fig.png" in error.value.message
    assert "provio runs" in error.value.hint


def test_file_unlike_any_other_is_an_error_that_counts_what_was_met(held: Held) -> None:
    with pytest.raises(UsageError, match=r"met 10 data files"):
        resolve(held(seismic()), "zzzzzz", "/")


def test_link_is_followed_where_its_own_name_was_not_met(held: Held, tmp_path: Path) -> None:
    story = Story()
    real = tmp_path / "real.txt"
    real.write_text("x")
    (tmp_path / "link.txt").symlink_to(real)
    story.file(0, os.path.realpath(real))
    assert resolve(held(story), "link.txt", tmp_path).files == (0,)


def test_name_that_is_not_utf8_is_found_by_its_bytes(held: Held) -> None:
    story = Story()
    story.add(
        "files", path=b"/data/das/caf\xe9.txt", paths=[{"b64": "L2RhdGEvZGFzL2NhZukudHh0"}], category="data"
    )
    assert resolve(held(story), b"caf\xe9.txt", CWD).files == (0,)
    assert resolve(held(story), b"caf\xe9.txt", "/").files == (0,)


@pytest.mark.parametrize("name", ["with space.txt", "line\nbreak", "100%_sure", "it's", 'quo"te', "ü" * 1000])
def test_strange_names_are_found_exactly(held: Held, name: str) -> None:
    story = Story()
    story.file(0, name)
    story.file(1, "100xxsure")
    assert resolve(held(story), name, CWD).files == (0,)
    assert resolve(held(story), name, "/").files == (0,)


def test_path_that_is_not_utf8_has_its_bytes_in_json() -> None:
    assert path_json(b"/a/\xff") == {"path": "/a/\\xff", "path_b64": "L2Ev/w=="}
    assert path_json("/a/ü".encode()) == {"path": "/a/ü"}


def test_text_of_a_path_is_relative_to_the_base_only_below_it() -> None:
    assert path_text(b"/data/das/x", b"/data/das") == "x"
    assert path_text(b"/data/dash/x", b"/data/das") == "/data/dash/x"
    assert path_text(b"/x", b"/") == "/x"


@given(st.binary(min_size=1, max_size=60))
def test_text_of_any_path_is_printable_and_one_line(path: bytes) -> None:
    assert path_text(path).isprintable()
