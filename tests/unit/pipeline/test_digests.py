"""Digests: only of exactly the content that the run left, and never twice."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

import pytest

from provio.model.evidence import FileSeen
from provio.model.facts import Version
from provio.pipeline import digests
from provio.pipeline.digests import take_digests

if TYPE_CHECKING:
    from pathlib import Path


def version_of(path: Path, number: int = 0, **values: Any) -> tuple[Version, FileSeen]:
    info = path.stat()
    fields = {
        "version": number, "file": number, "ordinal": 1, "writer": 3, "path": os.fsencode(path), "begun": 1,
        "closed": 2, "until": 0, "size": info.st_size, "mtime": info.st_mtime_ns, "ctime": info.st_ctime_ns,
    }  # fmt: skip
    seen = FileSeen(number, info.st_dev, info.st_ino, (os.fsencode(path),), "file", "data")
    return Version(**{**fields, **values}), seen


@pytest.fixture
def made(tmp_path: Path) -> Path:
    path = tmp_path / "out.txt"
    path.write_bytes(b"content")
    return path


def taken(spool: Path, *pairs: tuple[Version, FileSeen]) -> dict[int, str]:
    return take_digests(spool, [v for v, _ in pairs], {f.file: f for _, f in pairs})


def test_what_the_run_left_is_digested(tmp_path: Path, made: Path) -> None:
    assert taken(tmp_path, version_of(made)) == {0: f"sha256:{hashlib.sha256(b'content').hexdigest()}"}


@pytest.mark.parametrize(
    "change",
    [{"size": 8}, {"mtime": 1}, {"ctime": 1}, {"until": 9}, {"writer": -1}, {"mtime": -1}],
)
def test_content_that_is_not_the_version_is_not_digested(
    tmp_path: Path, made: Path, change: dict[str, int]
) -> None:
    assert taken(tmp_path, version_of(made, **change)) == {}


def test_a_file_that_changes_while_it_is_read_has_no_digest(
    tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = version_of(made)
    real = hashlib.file_digest

    def meddle(file: Any, name: str) -> Any:
        digest = real(file, name)
        made.write_bytes(b"CONTENT")
        return digest

    monkeypatch.setattr(digests.hashlib, "file_digest", meddle)
    assert taken(tmp_path, pair) == {}


def test_links_and_special_files_are_not_followed(tmp_path: Path, made: Path) -> None:
    version, seen = version_of(made)
    made.rename(tmp_path / "real")
    made.symlink_to(tmp_path / "real")
    assert taken(tmp_path, (version, seen)) == {}
    made.unlink()
    os.mkfifo(made)
    assert taken(tmp_path, (version, seen)) == {}


def test_digests_are_kept_as_evidence_and_not_taken_again(
    tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = version_of(made)
    first = taken(tmp_path, pair)
    made.unlink()
    monkeypatch.setattr(digests, "digest_of", lambda _: pytest.fail("read again"))
    with (tmp_path / "seal-digests.jsonl").open("a") as file:
        file.write('{"path": "torn')
    assert taken(tmp_path, pair) == first


def test_reading_stops_at_the_limit_smallest_files_first(
    tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = tmp_path / "large"
    large.write_bytes(b"x" * 100)
    monkeypatch.setenv("PROVIO_DIGEST_LIMIT", "50")
    assert set(taken(tmp_path, version_of(large, 0), version_of(made, 1))) == {1}
    monkeypatch.setenv("PROVIO_DIGEST_LIMIT", "0")
    assert taken(tmp_path / "none", version_of(large, 0)) == {}


def test_times_that_evidence_explains_do_not_make_it_other_content(tmp_path: Path, made: Path) -> None:
    version, seen = version_of(made)
    os.utime(made, ns=(1, 1))
    now = made.stat().st_ctime_ns
    pairs = ([version], {seen.file: seen})
    assert take_digests(tmp_path / "a", *pairs) == {}
    assert take_digests(tmp_path / "b", *pairs, {0: [digests.Span(now - 5, now + 5, times=False)]}) == {}
    assert take_digests(tmp_path / "c", *pairs, {0: [digests.Span(now + 1, now + 5, times=True)]}) == {}
    assert set(take_digests(tmp_path / "d", *pairs, {0: [digests.Span(now - 5, now + 5, times=True)]})) == {0}
