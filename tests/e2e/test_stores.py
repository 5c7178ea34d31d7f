"""Stores on every kind of file system, and beside somebody else's, give the same answers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.running import environment, provio_command

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.heavy
SCRIPT = "sort names > sorted & cat names | tee copy > other; wait; mv other last; cp sorted again"


def provio(
    *arguments: str, cwd: Path, extra: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run one provio command that must succeed."""
    done = subprocess.run(
        provio_command(*arguments), cwd=cwd, env=environment(cwd, extra), capture_output=True, text=True,
        check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def recorded(directory: Path, store: Path | None, extra: dict[str, str] | None = None) -> dict[str, Any]:
    """Record the script and return what matters of the answers, free of ids and times."""
    (directory / "names").write_text("b\na\n")
    option = ["--store", str(store)] if store else []
    provio("run", *option, "--", "sh", "-c", SCRIPT, cwd=directory, extra=extra)
    shown = json.loads(provio("show", *option, "--json", cwd=directory).stdout)
    (task,) = shown["tasks"]
    (attempt,) = task["attempts"]
    made = {name: sources(directory, option, name) for name in ("sorted", "copy", "last", "again")}
    kept = ("state", "files_read", "files_written", "bytes_read", "bytes_written")
    gaps = sorted({gap["kind"] for gap in shown["gaps"]})
    return {name: attempt[name] for name in kept} | {"made": made, "gaps": gaps}


def sources(directory: Path, option: list[str], name: str) -> set[str]:
    """Return the files that a file was made from."""
    answer = json.loads(provio("lineage", name, "--up", *option, "--json", cwd=directory).stdout)
    labels = {Path(node["label"]).name for node in answer["nodes"] if node["type"] != "attempt"}
    return labels & {"names", "sorted", "copy", "other", "last", "again"} - {name}


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The answers where nothing is special."""
    return recorded(tmp_path_factory.mktemp("usual"), None)


def test_usual_answers_are_right(usual: dict[str, Any]) -> None:
    assert usual["made"] == {"sorted": {"names"}, "copy": {"names"}, "last": {"names"}, "again": {"sorted"}}
    assert usual["state"] == "succeeded"
    assert usual["bytes_written"] == 4 * 4
    assert usual["gaps"] == []


def test_network_file_system_layout_gives_the_same_answers(usual: dict[str, Any], tmp_path: Path) -> None:
    assert recorded(tmp_path, None, {"PROVIO_ARENA": "blocks"}) == usual
    (spool,) = (tmp_path / ".provio" / "spool").iterdir()
    assert len([p for p in (spool / "io").iterdir() if p.suffix == ".preload"]) > 1, "one file per process"


@pytest.fixture(params=["tmpfs", "ext4"])
def mounted(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A fresh file system of that type."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    place, image = tmp_path / "mount", tmp_path / "image"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64m", "none", str(place)]
    if request.param == "ext4":
        make = shutil.which("mkfs.ext4", path=f"{os.environ['PATH']}:/sbin:/usr/sbin")
        if make is None:
            pytest.skip("mkfs.ext4 is not installed")
        image.write_bytes(b"")
        os.truncate(image, 64 << 20)
        subprocess.run([make, "-q", "-F", str(image)], check=True)
        command = ["mount", "-o", "loop", str(image), str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip(f"mounting {request.param} is not allowed here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_file_system_of_the_store_does_not_change_the_answers(usual: dict[str, Any], mounted: Path) -> None:
    work = mounted / "work"
    work.mkdir()
    assert recorded(work, None) == usual


def test_store_on_another_file_system_than_the_data_gives_the_same_answers(
    usual: dict[str, Any], mounted: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    assert recorded(work, mounted / "store") == usual


def test_planted_store_of_another_user_is_left_alone(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    planted = tmp_path / ".provio"
    (planted / "spool").mkdir(parents=True)
    (planted / "config.toml").write_text('trace = "off"\n')
    for path in (planted, planted / "spool", planted / "config.toml"):
        os.chown(path, 65534, 65534)
    (tmp_path / "names").write_text("b\na\n")
    done = provio("run", "--", "sh", "-c", SCRIPT, cwd=tmp_path)
    assert done.stderr.count("another user") == 1
    assert list((planted / "spool").iterdir()) == []
    assert len(list((tmp_path / ".local" / "state" / "provio" / "spool").iterdir())) == 1
    shown = json.loads(provio("show", "--json", cwd=tmp_path).stdout)
    assert shown["tasks"][0]["attempts"][0]["bytes_written"] == 4 * 4, "its setting trace = off is not obeyed"


def tell(*arguments: str, cwd: Path, extra: dict[str, str] | None = None) -> str:
    """Run one provio command that must succeed and return what it says on stderr."""
    return provio(*arguments, cwd=cwd, extra=extra).stderr


def test_store_is_private_and_ignored_by_version_control(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        provio("run", "--no-seal", "--", "true", cwd=tmp_path)
        provio("show", cwd=tmp_path)
    finally:
        os.umask(before)
    store = tmp_path / ".provio"
    assert store.stat().st_mode & 0o7777 == 0o700
    assert (store / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize("said", ["option", "environment", "relative", "option before environment"])
def test_chosen_store_is_used_by_every_command_and_no_other(tmp_path: Path, said: str) -> None:
    work, chosen = tmp_path / "work", tmp_path / "chosen"
    work.mkdir()
    (work / "names").write_text("b\na\n")
    place = "../chosen" if said == "relative" else str(chosen)
    option = ["--store", place] if said.startswith("option") else []
    extra = {} if said == "option" else {"PROVIO_STORE": str(tmp_path / "not") if option else place}
    provio("run", "--no-seal", *option, "--", "sort", "names", "-o", "sorted", cwd=work, extra=extra)
    for words in (["seal", "--all"], ["show"], ["runs"], ["why", "sorted"], ["lineage", "sorted"], ["gc"]):
        assert provio(*words, *option, cwd=work, extra=extra).stdout
    assert len(list((chosen / "runs").iterdir())) == 1
    assert not (work / ".provio").exists()
    assert not (tmp_path / "not").exists()


def test_store_behind_a_link_of_ours_is_used(usual: dict[str, Any], tmp_path: Path) -> None:
    work, real = tmp_path / "work", tmp_path / "real"
    work.mkdir()
    real.mkdir()
    (work / ".provio").symlink_to("../real")
    assert recorded(work, None) == usual
    assert len(list((real / "runs").iterdir())) == 1


@pytest.mark.parametrize("kind", ["link to nothing", "file"])
def test_store_that_is_no_directory_is_left_alone_and_said(tmp_path: Path, kind: str) -> None:
    planted = tmp_path / ".provio"
    planted.symlink_to("/nonexistent/store") if kind != "file" else planted.write_text("mine")
    said = tell("run", "--no-seal", "--", "true", cwd=tmp_path)
    assert said.count("is not a directory") == 1
    assert tell("show", cwd=tmp_path).count("is not a directory") == 1
    assert planted.is_symlink() or planted.read_text() == "mine"


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A file system that becomes read-only after one run was recorded, not sealed, in ``old``."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    place = tmp_path / "mount"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "none", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        for name in ("old", "new"):
            (place / name).mkdir()
            (place / name / "names").write_text("b\na\n")
        provio("run", "--no-seal", "--", "sort", "names", "-o", "sorted", cwd=place / "old")
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_directory_that_cannot_hold_a_store_is_answered_from_the_state_directory(
    read_only: Path, tmp_path: Path
) -> None:
    work, home, result = read_only / "new", {"HOME": str(tmp_path)}, str(tmp_path / "sorted")
    said = tell("run", "--no-seal", "--", "sort", "names", "-o", result, cwd=work, extra=home)
    assert said.count("runs are kept in") == 1
    assert len(list((tmp_path / ".local/state/provio/spool").iterdir())) == 1
    assert "names" in provio("lineage", result, cwd=work, extra=home).stdout
    assert "sort" in provio("runs", cwd=work, extra=home).stdout


def test_run_in_a_store_that_cannot_be_written_is_answered(read_only: Path, tmp_path: Path) -> None:
    for words in (["show"], ["runs"], ["why", "sorted"], ["lineage", "sorted"]):
        assert provio(*words, cwd=read_only / "old", extra={"HOME": str(tmp_path)}).stdout
    shown = provio("show", "--json", cwd=read_only / "old", extra={"HOME": str(tmp_path)}).stdout
    assert json.loads(shown)["run"]["state"] == "succeeded"


NOBODY = 65534


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory in which everybody may make files, outside pytest's private one."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("acting as two users needs root")
    place = Path(tempfile.mkdtemp(prefix="provio-shared-"))
    place.chmod(0o1777)
    yield place
    shutil.rmtree(place)


def as_user(user: int, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run provio as that user, who may also read the interpreter wherever it is installed."""
    home = cwd / f"home-{user}"
    if not home.exists():
        home.mkdir(mode=0o700)
        os.chown(home, user, user)
    become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    if user:
        become += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    done = subprocess.run(
        [*become, *provio_command(*arguments)], cwd=cwd, env=environment(home), capture_output=True,
        text=True, check=False, timeout=120,
    )  # fmt: skip
    if "setpriv" in done.stderr:
        pytest.skip(f"acting as another user needs root with all capabilities: {done.stderr}")
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("first", [0, NOBODY])
def test_two_users_in_one_directory_keep_their_runs_apart(shared: Path, first: int) -> None:
    second = NOBODY - first
    for user, notices in ((first, 0), (second, 1)):
        write = f"echo {user} > from-{user}; cat from-{user} > to-{user}"
        said = as_user(user, "run", "--no-seal", "--", "sh", "-c", write, cwd=shared).stderr
        assert said.count("another user") == notices
        answer = as_user(user, "lineage", f"to-{user}", cwd=shared)
        assert f"from-{user}" in answer.stdout
        assert answer.stderr.count("another user") == notices
        assert len(json.loads(as_user(user, "runs", "--json", cwd=shared).stdout)["runs"]) == 1
    own, aside = shared / ".provio", shared / f"home-{second}/.local/state/provio"
    for store, user in ((own, first), (aside, second)):
        assert {path.lstat().st_uid for path in (store, *store.rglob("*"))} == {user}
        assert store.stat().st_mode & 0o777 == 0o700
