from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from provio.engines import host, host_event, mounts, process_ref, stamp


def test_stamp_has_both_clocks_and_the_thread() -> None:
    before, now, after = time.monotonic_ns(), stamp(), time.monotonic_ns()
    assert before <= now.mono <= after
    assert abs(now.real - time.time_ns()) < 10**10
    assert (now.pid, now.tid) == (os.getpid(), os.gettid() if hasattr(os, "gettid") else now.tid)
    assert stamp(7).tid == 7


def test_process_is_told_from_a_later_one_with_its_pid() -> None:
    me = process_ref()
    assert me.pid == os.getpid()
    ticks = os.sysconf("SC_CLK_TCK")
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    assert 0 < me.start_ticks <= uptime * ticks + ticks


def test_process_that_is_gone_has_only_its_pid() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    gone = process_ref(child.pid)
    assert (gone.pid, gone.start_ticks, gone.cgroup_checked) == (child.pid, 0, False)


def test_process_whose_name_has_brackets_and_blanks_has_its_start_time(tmp_path: Path) -> None:
    program = tmp_path / "a) R (b"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([str(program), "60"]) as child:
        assert abs(host.start_ticks(child.pid) - host.start_ticks(os.getpid())) < 10**7
        assert host.start_ticks(child.pid) > 0
        child.kill()


def test_cgroup_id_is_the_inode_of_its_directory(tmp_path: Path) -> None:
    mount = mounts.cgroup_mount()
    if mount is None or not os.access(mount.point, os.W_OK):
        pytest.skip("making a control group needs a writable cgroup2 mount")
    group = Path(mount.point) / f"provio-test-{os.getpid()}"
    group.mkdir()
    try:
        with subprocess.Popen(["sleep", "60"]) as child:
            (group / "cgroup.procs").write_text(str(child.pid))
            seen = process_ref(child.pid)
            child.kill()
        assert seen.cgroup_id == group.stat().st_ino
        assert seen.cgroup_path.endswith(f"/{group.name}")
        assert seen.cgroup_checked
    finally:
        group.rmdir()


def test_host_event_names_the_root_file_system() -> None:
    event = host_event()
    assert "/" in {point for _, _, point, _, _ in event.mounts}
    assert all(len(row) == 5 for row in event.mounts)


LINE = r"36 35 98:0 /mnt1 /mnt/a\040b\011c rw,noatime master:1 - ext3 /dev/root\040x rw,errors=continue"


def test_mount_line_is_read_with_its_escapes_and_optional_fields() -> None:
    assert mounts.parse_mount(LINE) == mounts.Mount("98:0", "/mnt1", "/mnt/a b\tc", "ext3", "/dev/root x")


@pytest.mark.parametrize("line", ["", "1 2 3", "36 35 98:0 /a /b rw", "1 2 - 3", " - "])
def test_line_that_is_no_mount_is_left_out(line: str) -> None:
    assert mounts.parse_mount(line) is None


def test_network_file_system_has_one_id_on_all_machines() -> None:
    mount = mounts.Mount("0:50", "/", "/data", "nfs4", "server:/export")
    ids = {mounts.file_system_id(mount, "", machine, boot) for machine, boot in [("m1", "b1"), ("m2", "b2")]}
    assert ids == {"net:nfs4:server:/export"}


def test_local_file_system_goes_by_machine_and_uuid_and_else_by_boot() -> None:
    mount = mounts.Mount("8:1", "/", "/", "ext4", "/dev/sda1")
    assert mounts.file_system_id(mount, "u", "m", "b") == "uuid:m:u"
    assert mounts.file_system_id(mount, "", "m", "b") == "dev:b:8:1"
