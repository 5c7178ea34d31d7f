"""What the kernel says about this moment, a process, and this node.

Here: ``stamp``, ``process_ref``, ``host_event`` and the small readers of /proc
under them. Mounts and control groups are in ``mounts`` beside this file. Every
reader answers with a neutral value where the kernel does not: capture never fails.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from pathlib import Path

from provio.engines import mounts
from provio.model.events import HostSeen, ProcessRef, Stamp


def stamp(tid: int | None = None) -> Stamp:
    """Say when and where an event is made: now, in this process.

    Args:
        tid: the thread whose act the event reports; None for the calling one.
    """
    return Stamp(
        mono=time.clock_gettime_ns(time.CLOCK_MONOTONIC),
        real=time.clock_gettime_ns(time.CLOCK_REALTIME),
        boot_id=boot_id(),
        host=host_name(),
        pid=os.getpid(),
        tid=threading.get_native_id() if tid is None else tid,
    )


def process_ref(pid: int | None = None) -> ProcessRef:
    """Describe a process by what tells it from any other of this boot; None for the calling one."""
    pid = os.getpid() if pid is None else pid
    ticks = start_ticks(pid)
    group = mounts.cgroup_of(pid)
    if ticks and start_ticks(pid) != ticks:  # the pid was given to another process meanwhile
        return ProcessRef(pid=pid)
    return ProcessRef(
        pid=pid,
        start_ticks=ticks,
        cgroup_id=group.ident,
        cgroup_path=group.path,
        cgroup_checked=group.checked,
    )


def host_event() -> HostSeen:
    """Describe this node: its identity and its mounts."""
    return HostSeen(stamp=stamp(), machine_id=machine_id(), mounts=mounts.mount_rows(machine_id(), boot_id()))


def start_ticks(pid: int) -> int:
    """Return field 22 of /proc/<pid>/stat, 0 if the process is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
        return int(text[text.rindex(b")") + 2 :].split()[19])  # the name may hold spaces and brackets
    except (OSError, ValueError, IndexError):
        return 0


@functools.cache
def boot_id() -> str:
    """Return this boot's id as 32 hexadecimal digits."""
    return _first_line("/proc/sys/kernel/random/boot_id").replace("-", "")


@functools.cache
def machine_id() -> str:
    """Return the machine id of systemd or D-Bus, "" where there is none."""
    return _first_line("/etc/machine-id") or _first_line("/var/lib/dbus/machine-id")


def host_name() -> str:
    """Return the node name."""
    return os.uname().nodename


def pid_namespace() -> int:
    """Return the inode of this process's pid namespace, 0 if unknown."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116 - a magic link, not a path
    except OSError:
        return 0


def libc_version() -> str:
    """Return name and version of the C library, such as ``glibc 2.36``."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        return ""


def user_name() -> str:
    """Return the account name of the effective user, "" if it has none."""
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return ""


def _first_line(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace").partition("\n")[0].strip()
    except OSError:
        return ""
