"""The library that is built here works in the root file system of an older distribution."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from provio.model.wire import RecordType
from provio.tracers.records import read_records
from support.traced import ATTEMPT, RUN, TRACED

pytestmark = pytest.mark.skipif(not TRACED.exists(), reason="the preload library is not built: make native")


@pytest.fixture(scope="module")
def old_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a root file system with an older glibc: $PROVIO_TEST_OLD_ROOT, else made by debootstrap."""
    given = os.environ.get("PROVIO_TEST_OLD_ROOT")
    if given:
        return Path(given)
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        pytest.skip("an old root file system needs root and debootstrap")
    root = tmp_path_factory.mktemp("old") / "root"
    made = subprocess.run(
        ["debootstrap", "--variant=minbase", "bullseye", root], capture_output=True, check=False, timeout=270
    )
    if made.returncode:
        pytest.skip("no old root file system: debootstrap reaches no mirror")
    return root


@pytest.mark.heavy
def test_programs_of_an_older_glibc_are_traced_without_a_message(old_root: Path) -> None:
    place = old_root / "provio-test"
    shutil.rmtree(place, ignore_errors=True)
    (place / "spool" / "io").mkdir(parents=True)
    shutil.copy(TRACED, place / "libprovio_preload.so")
    ours = {
        "LD_PRELOAD": "/provio-test/libprovio_preload.so",
        "PROVIO_TASK": f"{RUN}/{ATTEMPT}",
        "PROVIO_SPOOL": "/provio-test/spool",
        "PROVIO_TRACE": "full",
    }
    variables = [f"{name}={value}" for name, value in ours.items()]
    script = (
        "cd /provio-test; sort -r /etc/passwd >out; env | grep -c PROVIO; perl -e 'system q(cat out >again)'"
    )
    command = ["chroot", str(old_root), "/usr/bin/env", *variables, "bash", "-c", script]
    clean = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    done = subprocess.run(command, env=clean, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"0\n", b"")
    assert (place / "again").read_bytes() == (place / "out").read_bytes()
    records = read_records(sorted((place / "spool" / "io").glob("*.preload")))
    assert {b"/provio-test/out", b"/provio-test/again", b"/etc/passwd"} <= set(records.strings)
    assert len(records.rows[RecordType.IMAGE]) >= 6
