from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from provio.engines import Emitter, stamp
from provio.errors import EvidenceError
from provio.importers.events import read_events, read_spool_events
from provio.model.events import GapSeen, Stamp
from provio.model.gaps import Gap, GapKind


def event(text: str, at: Stamp | None = None) -> GapSeen:
    return GapSeen(stamp=at or stamp(), kind="limit", scope="run", detail=text)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Three events in one file."""
    (tmp_path / "events").mkdir()
    emitter = Emitter(tmp_path / "events")
    for text in "abc":
        emitter.emit(event(text))
    emitter.close()
    (path,) = (tmp_path / "events").iterdir()
    return path


def details(path: Path, gaps: list[Gap]) -> list[str]:
    return [e.detail for e in read_events(path, gaps) if isinstance(e, GapSeen)]


def test_torn_last_line_is_a_gap_wherever_it_is_torn(path: Path) -> None:
    whole = path.read_bytes()
    last = whole[:-1].rindex(b"\n") + 1
    for size in range(last + 1, len(whole) - 1):
        path.write_bytes(whole[:size])
        gaps: list[Gap] = []
        assert details(path, gaps) == ["a", "b"]
        assert [gap.kind for gap in gaps] == [GapKind.CORRUPT_EVIDENCE]
        assert f"{path}:3" in gaps[0].detail


def test_last_line_that_lacks_only_its_newline_counts(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])
    gaps: list[Gap] = []
    assert details(path, gaps) == ["a", "b", "c"]
    assert gaps == []


@pytest.mark.parametrize(
    "line",
    [
        "", "{", "[]", "3", "null", "\x00\x00", '{"v": 2, "type": "gap"}', '{"v": 1, "type": "unheard-of"}',
        '{"v": 1, "type": "gap"}', '{"v": 1, "type": "gap", "stamp": 3, "kind": "x", "scope": "run"}',
        '{"v": 1, "type": ["gap"]}', "[" * 100_000,
    ],
)  # fmt: skip
def test_line_in_the_middle_that_is_no_event_is_an_error_with_file_and_line(path: Path, line: str) -> None:
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], line, *lines[1:]]) + "\n")
    with pytest.raises(EvidenceError) as caught:
        details(path, [])
    assert f"{path}:2" in caught.value.message


def test_stamp_with_wrong_types_is_an_error(path: Path) -> None:
    data = json.loads(path.read_text().splitlines()[0])
    data["stamp"]["mono"] = "soon"
    path.write_text(json.dumps(data) + "\n")
    with pytest.raises(EvidenceError, match="stamp"):
        details(path, [])


def test_bytes_that_are_not_utf_8_are_an_error(path: Path) -> None:
    path.write_bytes(b'{"v": 1, "type": "\xff\xfe"}\n')
    with pytest.raises(EvidenceError):
        details(path, [])


def test_events_that_the_writer_could_not_write_are_a_gap(path: Path) -> None:
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[2])
    gaps: list[Gap] = []
    assert details(path, gaps) == ["a", "c"]
    assert [(gap.kind, gap.count) for gap in gaps] == [(GapKind.RECORDS_LOST, 1)]


def test_events_of_several_files_come_in_order_of_time(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    one, two = Emitter(tmp_path / "events"), Emitter(tmp_path / "events")
    for text in "abcd":
        (one if text in "ac" else two).emit(event(text))
    one.close()
    two.close()
    (tmp_path / "events" / "notes.txt").write_text("not ours")
    events, gaps = read_spool_events(tmp_path)
    assert [e.detail for e in events if isinstance(e, GapSeen)] == list("abcd")
    assert gaps == []


def test_events_of_two_boots_are_ordered_by_their_time_of_day(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    now = stamp()
    later = dataclasses.replace(now, boot_id="f" * 32, host="other", mono=5, real=now.real + 10**9)
    emitter = Emitter(tmp_path / "events")
    for given in (event("later", later), event("now", now)):
        emitter.emit(given)
    emitter.close()
    events, _ = read_spool_events(tmp_path)
    assert [e.detail for e in events if isinstance(e, GapSeen)] == ["now", "later"]


def test_directory_that_is_no_spool_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="events"):
        read_spool_events(tmp_path)
