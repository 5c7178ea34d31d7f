"""What ``provio doctor`` looks at: this machine, this installation, this directory.

Here: the checks, each a function that gives one or more ``Check``. Standard
library only, so that a base installation can be examined, too. How they are
shown is ``provio.cli.doctor``; plugins add theirs by the hook ``provio_doctor``.
"""

from __future__ import annotations

import os
import pkgutil
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

from provio.engines import mounts
from provio.engines.place import find_store
from provio.errors import ProvioError
from provio.tracers import preload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_EXTRAS: Final = {
    "analyse": (("duckdb", "numpy", "pyarrow"), "runs are recorded, but not sealed or answered"),
    "snakemake": (("snakemake", "snakemake-interface-logger-plugins"), "Snakemake is not recorded"),
}
_COMPILERS: Final = ("cc", "gcc", "clang")
_FAST_CLOCKS: Final = frozenset({"tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page"})
_CAP_PERFMON, _CAP_BPF, _CAP_SYS_ADMIN = 38, 39, 21


class State(StrEnum):
    """How a check came out. Only a problem makes ``provio doctor`` fail."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: what was found, and what to do about it ("" if nothing)."""

    name: str
    state: State
    text: str
    remedy: str = ""


def all_checks(directory: str | os.PathLike[str], store: str | None = None) -> list[Check]:
    """Look at everything; a check that fails itself is a warning, never an exception."""
    parts: tuple[Callable[[], Iterator[Check]], ...] = (
        _python, _preload, _compiler, _other_tracers, lambda: _store(directory, store), _extras,
        _snakemake, _cgroup, _clock, _limits,
    )  # fmt: skip
    return [check for part in parts for check in _guarded(part)]


def _guarded(part: Callable[[], Iterator[Check]]) -> Iterator[Check]:
    try:
        yield from part()
    except (OSError, ValueError, ProvioError) as error:
        name = getattr(part, "__name__", "check").strip("_")
        yield Check(name, State.WARNING, f"could not be checked: {error}")


def _python() -> Iterator[Check]:
    text = f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"
    yield Check("python", State.OK, text)  # an older one could not have read this file


def _preload() -> Iterator[Check]:
    found = preload.availability()
    if not found.available:
        yield Check("tracer preload", State.PROBLEM, found.reason, found.remedy)
        return
    said = _trial(found.reason)
    if said:
        yield Check("tracer preload", State.PROBLEM, f"{found.reason} does not load: {said}", "make native")
        return
    yield Check("tracer preload", State.OK, found.reason)


def _trial(library: str) -> str:
    """Load the library into a trivial program; return what the loader complains about, else ""."""
    path = Path(library)
    if not preload.fits(path):
        return ""  # it will be reached through a link
    program = shutil.which("true") or "/bin/true"
    done = subprocess.run(
        [program], env={"LD_PRELOAD": library}, capture_output=True, check=False, timeout=20
    )
    return done.stderr.decode(errors="replace").strip() or (
        "" if done.returncode == 0 else f"a program under it ended with {done.returncode}"
    )


def _compiler() -> Iterator[Check]:
    found = next((path for name in _COMPILERS if (path := shutil.which(name))), None)
    if found is None:
        text = "no C compiler; only building the tracer from source needs one"
        yield Check("compiler", State.NOTE, text, "for example: apt install gcc")
        return
    done = subprocess.run([found, "--version"], capture_output=True, text=True, check=False, timeout=20)
    yield Check("compiler", State.OK, f"{found}: {done.stdout.partition(chr(10))[0]}")


def _other_tracers() -> Iterator[Check]:
    scope = _read("/proc/sys/kernel/yama/ptrace_scope")
    meaning = {"": "unrestricted", "0": "unrestricted", "1": "children only", "2": "root only", "3": "off"}
    yield Check("ptrace", State.NOTE, f"{meaning.get(scope, scope)} (provio does not use it)")
    has_types = Path("/sys/kernel/btf/vmlinux").exists()
    allowed = _capability(_CAP_SYS_ADMIN) or (_capability(_CAP_BPF) and _capability(_CAP_PERFMON))
    types = "type information present" if has_types else "no kernel type information"
    rights = "allowed" if allowed else "needs CAP_BPF and CAP_PERFMON"
    yield Check("eBPF", State.NOTE, f"{types}, {rights} (provio does not use it yet)")


def _store(directory: str | os.PathLike[str], override: str | None) -> Iterator[Check]:
    place = find_store(directory, override, create=False)
    there = place.path.is_dir()
    target = place.path if there else _nearest_existing(place.path)
    state = "exists" if there else "will be made at the first run"
    if not target.is_dir() or not os.access(target, os.W_OK | os.X_OK):
        remedy = "choose a directory that you can write: --store or PROVIO_STORE"
        yield Check("store", State.PROBLEM, f"{place.path}: {target} cannot be written", remedy)
    elif place.notice:
        yield Check("store", State.WARNING, place.notice, "choose a store: --store or PROVIO_STORE")
    else:
        yield Check("store", State.OK, f"{place.path} ({state})")
    yield _file_system(target)


def _file_system(target: Path) -> Check:
    mount = mount_of(target)
    free = shutil.disk_usage(target).free
    text = f"{mount.type if mount else 'unknown'}, {free / 1e9:.1f} GB free"
    if free < 1 << 26:
        return Check("file system", State.WARNING, text, "make room: records are dropped when it is full")
    if mount and mount.type in mounts.NETWORK_TYPES:
        return Check(
            "file system", State.NOTE, f"{text}; a network file system: records go to append-only files"
        )
    return Check("file system", State.OK, text)


def mount_of(path: Path) -> mounts.Mount | None:
    """Return the mount under which a path lies."""
    real = os.path.realpath(path)
    found: mounts.Mount | None = None
    for mount in mounts.read_mounts():
        inside = real == mount.point or real.startswith(mount.point.rstrip("/") + "/")
        if inside and (found is None or len(mount.point) >= len(found.point)):
            found = mount
    return found


def _extras() -> Iterator[Check]:
    for extra, (needs, consequence) in _EXTRAS.items():
        versions = {name: _version(name) for name in needs}
        absent = [name for name, version in versions.items() if not version]
        if absent:
            state = State.WARNING if extra == "analyse" else State.NOTE
            text = f"not installed: {', '.join(absent)}; {consequence}"
            yield Check(f"provio[{extra}]", state, text, f"pip install 'provio[{extra}]'")
        else:
            text = ", ".join(f"{name} {version}" for name, version in versions.items())
            yield Check(f"provio[{extra}]", State.OK, text)


def _snakemake() -> Iterator[Check]:
    if not _version("snakemake"):
        return
    # As Snakemake looks for it: packages on sys.path by the name's beginning; import hooks do not count.
    names = {module.name for module in pkgutil.iter_modules() if module.ispkg}
    if "snakemake_logger_plugin_provio" in names:
        yield Check("snakemake plugin", State.OK, "found; use: snakemake --logger provio")
    else:
        text = "Snakemake is installed, but does not find snakemake_logger_plugin_provio"
        remedy = "install provio into Snakemake's environment (an editable installation needs pip >= 21.3)"
        yield Check("snakemake plugin", State.WARNING, text, remedy)


def _cgroup() -> Iterator[Check]:
    mount = mounts.cgroup_mount()
    if mount is None:
        yield Check("cgroup v2", State.NOTE, "not mounted: tasks are told apart without it")
        return
    own = mounts.cgroup_of(os.getpid())
    checked = "id checked" if own.checked else "id not checked"
    yield Check("cgroup v2", State.OK, f"{mount.point}, this process is in {own.path or '?'} ({checked})")


def _clock() -> Iterator[Check]:
    source = _read("/sys/devices/system/clocksource/clocksource0/current_clocksource") or "unknown"
    resolution = time.get_clock_info("monotonic").resolution
    text = f"{source}, {resolution * 1e9:.0f} ns"
    if source == "unknown" or source in _FAST_CLOCKS:
        yield Check("clock", State.OK, text)
    else:
        text += ": reading the time is a system call here, tracing costs more"
        yield Check("clock", State.NOTE, text)
    if not _is_synchronised():
        text = "not synchronised: order between this and other nodes is only 'possible'"
        yield Check("time of day", State.NOTE, text, "run an NTP client where runs span several nodes")


def _limits() -> Iterator[Check]:
    import resource

    named = {"file size (ulimit -f)": resource.RLIMIT_FSIZE, "memory (ulimit -v)": resource.RLIMIT_AS}
    for name, number in named.items():
        soft = resource.getrlimit(number)[0]
        if soft != resource.RLIM_INFINITY:
            text = f"{name} is limited to {soft:,} bytes: recording stops before it gets there"
            yield Check("limit", State.NOTE, text)


def _is_synchronised() -> bool:
    """Ask the kernel whether the time of day is disciplined; see adjtimex(2)."""
    import ctypes

    time_error = 5
    room = ctypes.create_string_buffer(512)  # struct timex with modes 0: nothing is changed
    try:
        return int(ctypes.CDLL(None).adjtimex(room)) != time_error
    except AttributeError:
        return True


def _capability(number: int) -> bool:
    for line in _read("/proc/self/status").splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> number & 1)
    return False


def _nearest_existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
