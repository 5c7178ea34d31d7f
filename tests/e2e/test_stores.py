"""Stores on every kind of file system, and beside somebody else's, give the same answers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
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
