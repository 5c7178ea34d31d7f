"""The preload tracer: is it here, and what goes into LD_PRELOAD.

Here: availability and arming, standard library only. Whether one program can
take the library is ``elf`` beside this file; what the library does is
``core/native/preload``.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import sys
from pathlib import Path
from typing import Final

from provio.model.gaps import Gap, GapKind
from provio.tracers import elf
from provio.tracers.base import Arming, Availability

LIBRARY: Final = "libprovio_preload.so"
NATIVE: Final = Path(__file__).resolve().parent.parent / "_native"
_LINK: Final = "provio-preload-"
_BREAKS_LD_PRELOAD: Final = frozenset(" :$\t\n")
"""ld.so splits the variable at blanks and colons and expands ``$LIB``; there is no way to quote."""


def availability(native: Path = NATIVE) -> Availability:
    """Tell whether the library was built and can be mapped here."""
    library = native / LIBRARY
    if not sys.platform.startswith("linux"):
        return Availability("preload", available=False, reason=f"it needs Linux, this is {sys.platform}")
    if not library.is_file():
        reason, remedy = _why_not_built(native)
        return Availability("preload", available=False, reason=reason, remedy=remedy)
    if not os.access(library, os.R_OK):
        return _unusable(f"{library} cannot be read", f"chmod a+r '{library}'")
    if os.statvfs(library).f_flag & os.ST_NOEXEC:
        remedy = "install provio on a file system without the mount option noexec"
        return _unusable(f"{library} lies on a file system mounted noexec", remedy)
    if not elf.same_machine(library):
        remedy = "install the provio wheel for this machine, or build it here: make native"
        return _unusable(f"{library} is for another machine", remedy)
    return Availability("preload", available=True, reason=str(library))


def arm(store: str | os.PathLike[str], mode: str, native: Path = NATIVE) -> Arming:
    """Say what goes into LD_PRELOAD for a run.

    Args:
        store: where a link to the library may be put if its own path cannot be used.
        mode: aggregate, full, or off.
        native: where the library was built.
    """
    if mode == "off":
        return Arming()
    state = availability(native)
    if not state.available:
        detail = f"no tracer: {state.reason}"
        gap = Gap(GapKind.NO_TRACER, "run", detail=detail)
        return Arming(gap=gap, remedy=state.remedy or "'provio doctor' tells more")
    library = native / LIBRARY
    if fits(library):
        return Arming(library=str(library))
    linked = _linked(library, Path(store))
    if linked is not None:
        return Arming(library=str(linked))
    detail = f"no tracer: the path of {library} has a blank or colon, and no other place served"
    gap = Gap(GapKind.PRELOAD_PATH, "run", detail=detail)
    return Arming(gap=gap, remedy="choose a store whose path has none: --store or PROVIO_STORE")


def fits(path: Path) -> bool:
    """Tell whether a path can stand in LD_PRELOAD."""
    return _BREAKS_LD_PRELOAD.isdisjoint(str(path))


def join_preload(ours: str, theirs: str) -> str:
    """Return an LD_PRELOAD with our library in front and what the user had behind it."""
    rest = part_preload(theirs)
    return f"{ours}:{rest}" if rest else ours


def part_preload(value: str) -> str:
    """Return an LD_PRELOAD without our library, otherwise as it was."""
    if LIBRARY not in value and _LINK not in value:
        return value
    return ":".join(entry for entry in value.replace(" ", ":").split(":") if entry and not _is_ours(entry))


def _is_ours(entry: str) -> bool:
    name = entry.rpartition("/")[2]
    return name == LIBRARY or (name.startswith(_LINK) and name.endswith(".so"))


def _linked(library: Path, store: Path) -> Path | None:
    """Return a link to the library at a path that fits: in the store, else in a directory of the user's."""
    for folder in (store, *_own_folders()):
        if fits(folder):
            link = folder / f"{_LINK}{_digest(library)}.so"
            with contextlib.suppress(OSError):
                _link(library, link)
                return link
    return None


def _own_folders() -> list[Path]:
    """Return directories that only this user can write: state first, for it is the same on every node."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()) / "provio"
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    with contextlib.suppress(OSError):
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
    return [folder for folder in (state, *([Path(runtime)] if runtime else [])) if _is_private(folder)]


def _is_private(folder: Path) -> bool:
    try:
        info = folder.stat()
    except OSError:
        return False
    return info.st_uid == os.geteuid() and not info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _digest(library: Path) -> str:
    return hashlib.sha256(os.fsencode(library)).hexdigest()[:16]


def _link(library: Path, link: Path) -> None:
    """Make a symbolic link, replacing a stale one by a rename."""
    with contextlib.suppress(OSError):
        if link.readlink() == library and link.lstat().st_uid == os.geteuid():
            return
    beside = link.with_name(f".{link.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    beside.symlink_to(library)
    beside.replace(link)


def _why_not_built(native: Path) -> tuple[str, str]:
    """Return what the build said, and what to do about it."""
    try:
        part = json.loads((native / "build.json").read_bytes())["preload"]
        reason = str(part["reason"])
    except (OSError, ValueError, KeyError, TypeError):
        reason = ""
    remedy = "install a C compiler (for example: apt install gcc) and reinstall provio, or run: make native"
    return (reason or f"{native / LIBRARY} does not exist: the native part was not built"), remedy


def _unusable(reason: str, remedy: str) -> Availability:
    return Availability("preload", available=False, reason=reason, remedy=remedy)
