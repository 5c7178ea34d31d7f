from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from provio.engines import Emitter, Spool, attempt_environment, clean_environment, describe_run, find_store
from provio.engines import environment as module
from provio.importers.events import read_spool_events
from provio.model.events import GapSeen
from provio.model.gaps import GapKind
from provio.model.ids import new_attempt_id
from provio.tracers import preload


@pytest.fixture
def native(tmp_path: Path) -> Path:
    """A directory with a library that any program can load."""
    folder = tmp_path / "native"
    folder.mkdir()
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("building a library needs a C compiler")
    out = str(folder / preload.LIBRARY)
    subprocess.run([compiler, "-shared", "-x", "c", "-", "-o", out], input=b"int pv_x;", check=True)
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return find_store(tmp_path).path


@pytest.fixture
def spool(store: Path, native: Path, monkeypatch: pytest.MonkeyPatch) -> Spool:
    monkeypatch.setattr(module, "arm", lambda place, mode: preload.arm(place, mode, native))
    return Spool.create(store, describe_run(engine="t", engine_version="1", workflow="w"))


def test_attempt_gets_library_identity_spool_and_mode(spool: Spool, native: Path) -> None:
    attempt = new_attempt_id()
    environment = attempt_environment(spool, spool.run.run_id, attempt, {"A": "1"})
    assert environment == {
        "A": "1",
        "LD_PRELOAD": str(native / preload.LIBRARY),
        "PROVIO_TASK": f"{spool.run.run_id}/{attempt}",
        "PROVIO_SPOOL": str(spool.path),
        "PROVIO_TRACE": "aggregate",
    }


def test_empty_environment_stays_empty_and_only_none_means_inherit(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARK", "x")
    attempt = new_attempt_id()
    assert "MARK" not in attempt_environment(spool, spool.run.run_id, attempt, {})
    assert attempt_environment(spool, spool.run.run_id, attempt)["MARK"] == "x"


def test_library_of_the_user_is_kept_behind_ours_and_ours_is_not_doubled(spool: Spool, native: Path) -> None:
    ours = str(native / preload.LIBRARY)
    attempt = new_attempt_id()
    first = attempt_environment(spool, spool.run.run_id, attempt, {"LD_PRELOAD": "/a.so /b.so"})
    assert first["LD_PRELOAD"] == f"{ours}:/a.so /b.so"
    assert attempt_environment(spool, spool.run.run_id, attempt, first)["LD_PRELOAD"] == f"{ours}:/a.so:/b.so"


def test_clean_environment_has_neither_tracer_nor_identity(spool: Spool) -> None:
    given = attempt_environment(spool, spool.run.run_id, new_attempt_id(), {"A": "1", "LD_PRELOAD": "/a.so"})
    assert clean_environment(given) == {"A": "1", "LD_PRELOAD": "/a.so"}


def test_run_without_tracing_arms_nothing_and_has_no_gap(store: Path) -> None:
    assert preload.arm(store, "off") == preload.Arming()


def test_missing_library_is_a_gap_with_what_the_build_said_and_a_remedy(tmp_path: Path, store: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "build.json").write_text(json.dumps({"preload": {"reason": "no C compiler here"}}))
    armed = preload.arm(store, "aggregate", empty)
    assert armed.library == ""
    assert armed.gap is not None
    assert armed.gap.kind is GapKind.NO_TRACER
    assert "no C compiler here" in armed.gap.detail
    assert "gcc" in armed.remedy


def test_missing_library_is_warned_of_once_and_recorded(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "arm", lambda place, mode: preload.arm(place, mode, tmp_path / "none"))
    spool = Spool.create(store, describe_run(engine="t", engine_version="1", workflow="w"))
    emitter: Emitter = spool.emitter()
    module.report_arming(spool, emitter)
    emitter.close()
    assert capsys.readouterr().err.count("provio:") == 1
    ((event,), _) = read_spool_events(spool.path)
    assert isinstance(event, GapSeen)
    assert event.kind == "no-tracer"


@pytest.mark.parametrize("name", ["with blank", "with:colon", "with$ORIGIN"])
def test_library_at_a_path_that_the_loader_would_split_is_reached_through_a_link(
    native: Path, store: Path, tmp_path: Path, name: str
) -> None:
    odd = tmp_path / name
    native.rename(odd)
    armed = preload.arm(store, "aggregate", odd)
    assert Path(armed.library).parent == store
    assert Path(armed.library).resolve() == odd / preload.LIBRARY
    done = subprocess.run(["/bin/true"], env={"LD_PRELOAD": armed.library}, capture_output=True, check=True)
    assert done.stderr == b""
    assert preload.arm(store, "aggregate", odd) == armed


def test_link_goes_to_the_state_directory_where_the_store_has_a_blank_too(
    native: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "my store"
    store.mkdir()
    odd = native.rename(tmp_path / "my native")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert Path(preload.arm(store, "full", odd).library).parent == tmp_path / "state" / "provio"


def test_nowhere_to_link_from_is_a_gap(native: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = native.rename(tmp_path / "my native")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "my state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "my runtime"))
    armed = preload.arm(odd, "full", odd)
    assert armed.gap is not None
    assert armed.gap.kind is GapKind.PRELOAD_PATH


def test_directory_that_others_can_write_is_no_place_for_a_link(
    native: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = native.rename(tmp_path / "my native")
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    runtime.chmod(0o777)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "my state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    assert preload.arm(odd, "full", odd).gap is not None


def test_library_for_another_machine_is_not_used(native: Path) -> None:
    library = native / preload.LIBRARY
    data = bytearray(library.read_bytes())
    data[18] = 243  # RISC-V
    library.write_bytes(data)
    assert "another machine" in preload.availability(native).reason


def test_library_on_a_file_system_that_forbids_execution_is_not_used(native: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    script = (
        "from provio.tracers import preload; from pathlib import Path; import sys; "
        "print(preload.availability(Path(sys.argv[1])).reason)"
    )
    mount = 'mount --bind "$1" "$1" && mount -o remount,bind,noexec "$1" && exec "$2" -c "$3" "$1"'
    import sys

    from support.running import SOURCES

    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", mount, "sh", str(native), sys.executable, script],
        env=os.environ | {"PYTHONPATH": SOURCES}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "noexec" in done.stdout
