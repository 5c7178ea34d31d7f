from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from provio.engines.place import find_store
from provio.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    (home / "project" / "workflow").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("PROVIO_STORE", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    return home


def test_store_is_made_in_the_directory_of_the_workflow_private_and_ignored_by_git(home: Path) -> None:
    place = find_store(home / "project")
    assert place == (home / "project" / ".provio", True, "")
    assert stat.S_IMODE(place.path.stat().st_mode) == 0o700
    assert (place.path / ".gitignore").read_text() == "*\n"
    assert find_store(home / "project") == (place.path, False, "")


def test_nearest_store_upward_is_used(home: Path) -> None:
    above = find_store(home / "project").path
    assert find_store(home / "project" / "workflow").path == above


def test_search_ends_below_the_home_directory(home: Path) -> None:
    find_store(home)
    assert find_store(home / "project").path == home / "project" / ".provio"


def test_search_does_not_start_above_a_directory_that_others_can_write(home: Path) -> None:
    find_store(home / "project")
    shared = home / "project" / "workflow"
    shared.chmod(0o777)
    assert find_store(shared).path == shared / ".provio"


def test_store_in_a_directory_that_others_can_write_is_not_obeyed_from_below(home: Path) -> None:
    find_store(home / "project")
    (home / "project").chmod(0o1777)
    below = home / "project" / "workflow"
    assert find_store(below).path == below / ".provio"


def test_directory_of_a_group_with_other_members_counts_as_writable_by_others(home: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory to another group")
    find_store(home / "project")
    os.chown(home / "project", 0, 12)
    (home / "project").chmod(0o775)
    below = home / "project" / "workflow"
    assert find_store(below).path == below / ".provio"


def test_store_of_another_user_is_not_obeyed_and_said_so(home: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    foreign = home / "project" / ".provio"
    foreign.mkdir()
    os.chown(foreign, 65534, 65534)
    place = find_store(home / "project" / "workflow")
    assert place.path == home / ".local" / "state" / "provio"
    assert str(foreign) in place.notice
    assert str(place.path) in place.notice


def test_link_that_another_user_planted_to_a_store_of_ours_is_not_followed(home: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a link away")
    real = find_store(home / "project" / "workflow").path
    link = home / "project" / ".provio"
    link.symlink_to(real)
    os.chown(link, 65534, 65534, follow_symlinks=False)
    assert find_store(home / "project").path == home / ".local" / "state" / "provio"


def test_own_link_to_a_store_is_followed(home: Path) -> None:
    find_store(home / "project" / "workflow")
    (home / "project" / ".provio").symlink_to(home / "project" / "workflow" / ".provio")
    assert find_store(home / "project").path == home / "project" / ".provio"


def test_override_wins_and_is_made(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find_store(home / "project")
    assert find_store(home / "project", home / "a" / "b") == (home / "a" / "b", True, "")
    monkeypatch.setenv("PROVIO_STORE", str(home / "c"))
    assert find_store(home / "project").path == home / "c"
    assert find_store(home / "project", home / "a" / "b").path == home / "a" / "b"


def test_override_that_cannot_be_made_is_an_error_that_names_it(home: Path) -> None:
    (home / "file").write_text("")
    with pytest.raises(StoreError, match="file/store") as caught:
        find_store(home, home / "file" / "store")
    assert "--store" in caught.value.hint


def test_directory_that_cannot_hold_a_store_leads_to_the_state_directory(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    place = find_store("/proc/self")
    assert place.path == home / "state" / "provio"
    assert "/proc/" in place.notice


def test_no_place_at_all_is_an_error(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    with pytest.raises(StoreError):
        find_store("/proc/self")


def test_looking_without_making_changes_nothing(home: Path) -> None:
    place = find_store(home / "project", create=False)
    assert place == (home / "project" / ".provio", False, "")
    assert not place.path.exists()


def test_file_called_provio_is_not_a_store(home: Path) -> None:
    (home / "project" / ".provio").write_text("")
    assert find_store(home / "project").path == home / ".local" / "state" / "provio"
