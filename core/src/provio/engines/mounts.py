"""Mounts and control groups, read from /proc.

Here: the identity of file systems (design, section 3 "Files") and the cgroup v2
of a process on unified and hybrid hosts. Not here: what is done with them.
"""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path
from typing import Final, NamedTuple

MountRow = tuple[str, str, str, str, str]
"""device number, file-system id, mount point, type, source."""

NETWORK_TYPES: Final = frozenset(
    {
        "9p", "afs", "beegfs", "ceph", "cifs", "fuse.ceph", "fuse.glusterfs", "fuse.sshfs", "gfs2",
        "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "panfs", "pvfs2",
        "smb3", "smbfs", "virtiofs",
    }
)  # fmt: skip
"""Types whose content lives elsewhere: their identity is the source, not the device number."""


class Mount(NamedTuple):
    """One line of mountinfo; see proc_pid_mountinfo(5)."""

    device: str
    root: str
    point: str
    type: str
    source: str


class Cgroup(NamedTuple):
    """The cgroup v2 of a process: inode of its directory (0 unknown), path, whether both were checked."""

    ident: int
    path: str
    checked: bool


def read_mounts() -> list[Mount]:
    """Return this process's mounts in order; later ones cover earlier ones."""
    try:
        lines = os.fsdecode(Path("/proc/self/mountinfo").read_bytes()).splitlines()
    except OSError:
        return []
    return [mount for line in lines if (mount := parse_mount(line))]


def parse_mount(line: str) -> Mount | None:
    """Return the mount of a line, None if it is not one."""
    head, dash, tail = line.partition(" - ")
    fields, origin = head.split(" "), tail.split(" ")
    if not dash or len(fields) < 6 or len(origin) < 2:
        return None
    return Mount(fields[2], _unescape(fields[3]), _unescape(fields[4]), origin[0], _unescape(origin[1]))


def mount_rows(machine: str, boot: str) -> tuple[MountRow, ...]:
    """Return every mount with the id of its file system."""
    from provio.engines.redact import redact_text  # a WebDAV or S3 source may carry a password

    uuids = _uuids()
    return tuple(
        (
            mount.device,
            redact_text(file_system_id(mount, uuids.get(mount.device, ""), machine, boot)),
            mount.point,
            mount.type,
            redact_text(mount.source),
        )
        for mount in read_mounts()
    )


def file_system_id(mount: Mount, uuid: str, machine: str, boot: str) -> str:
    """Name a file system so that two runs on the right machines agree and others do not.

    Network file systems go by source; local ones by machine and UUID; what has
    no UUID (tmpfs, overlay) by device number within this boot.
    """
    if mount.type in NETWORK_TYPES:
        return f"net:{mount.type}:{mount.source}"
    if uuid:
        return f"uuid:{machine}:{uuid}"
    return f"dev:{boot}:{mount.device}"


def cgroup_of(pid: int) -> Cgroup:
    """Return the cgroup v2 of a process.

    ``checked`` says that the directory belongs to the cgroup2 mount and that the
    process was in it before and after its inode was read.
    """
    path = _cgroup_path(pid)
    mount = cgroup_mount()
    if not path or mount is None:
        return Cgroup(0, path, checked=False)
    try:
        info = os.stat(_below(mount, path))  # noqa: PTH116 - one system call, no object
    except (OSError, ValueError):
        return Cgroup(0, path, checked=False)
    if f"{os.major(info.st_dev)}:{os.minor(info.st_dev)}" != mount.device:
        return Cgroup(0, path, checked=False)
    return Cgroup(info.st_ino, path, checked=_cgroup_path(pid) == path)


@functools.cache
def cgroup_mount() -> Mount | None:
    """Return where cgroup v2 is mounted: the whole tree on unified hosts, beside v1 on hybrid ones."""
    found = [mount for mount in read_mounts() if mount.type == "cgroup2"]
    return found[-1] if found else None


def _cgroup_path(pid: int) -> str:
    try:
        text = os.fsdecode(Path(f"/proc/{pid}/cgroup").read_bytes())
    except OSError:
        return ""
    lines = (line for line in text.splitlines() if line.startswith("0::"))
    return next(lines, "")[3:].removesuffix(" (deleted)")


def _below(mount: Mount, path: str) -> str:
    """Return the directory of a cgroup, given that the mount may show a subtree only."""
    if mount.root == "/" and not path.startswith("/.."):
        return mount.point + path
    if path == mount.root or path.startswith(mount.root.rstrip("/") + "/"):
        return mount.point + path[len(mount.root) :]
    raise ValueError(path)


def _unescape(field: str) -> str:
    r"""Undo mountinfo's ``\040``; the bytes may be UTF-8 or not."""
    if "\\" not in field:
        return field
    raw = re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m[1], 8) & 255]), os.fsencode(field))
    return os.fsdecode(raw)


def _uuids() -> dict[str, str]:
    """Map device numbers to file-system UUIDs, from udev's links or its database."""
    found: dict[str, str] = {}
    try:
        for link in os.scandir("/dev/disk/by-uuid"):
            number = link.stat().st_rdev
            found[f"{os.major(number)}:{os.minor(number)}"] = link.name
    except OSError:
        pass
    try:
        for entry in os.scandir("/run/udev/data"):
            if entry.name.startswith("b") and entry.name[1:] not in found:
                text = Path(entry.path).read_text(encoding="utf-8", errors="replace")
                if match := re.search(r"^E:ID_FS_UUID=(.+)$", text, re.MULTILINE):
                    found[entry.name[1:]] = match[1]
    except OSError:
        pass
    return found
