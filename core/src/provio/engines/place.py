"""Where runs are kept: find or make the store of a workflow (design, section 5).

Here: the rules and their reasons. Not here: what lies in a store (``spool``
beside this file for evidence, ``provio.store`` for generations).
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from provio.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

STORE_NAME = ".provio"


class StorePlace(NamedTuple):
    """A store and how it was found.

    Attributes:
        path: the directory; it exists if it was asked for with ``create``.
        created: this call made it.
        notice: one sentence for the user where the place may surprise, else "".
    """

    path: Path
    created: bool
    notice: str


def find_store(
    directory: str | os.PathLike[str], override: str | os.PathLike[str] | None = None, *, create: bool = True
) -> StorePlace:
    """Return the store for a workflow that lives in ``directory``.

    The override (else ``PROVIO_STORE``) is taken as it is. Otherwise the nearest
    ``.provio`` upward that belongs to this user; else a new one in ``directory``;
    where that is not possible, or another user's store is in the way, the one
    under ``$XDG_STATE_HOME``.

    Args:
        directory: the workflow's directory.
        override: a store chosen by the user.
        create: make the store if none exists; without it the path may be absent.

    Raises:
        StoreError: no place can be written (or the override cannot).
    """
    chosen = os.fspath(override) if override else os.environ.get("PROVIO_STORE", "")
    if chosen:
        return _overridden(Path(chosen), create=create)
    start = Path(os.path.realpath(directory))
    for folder in _upward(start):
        found = folder / STORE_NAME
        if not os.path.lexists(found):
            continue
        if not _is_ours(found):
            what = "belongs to another user" if found.is_dir() else "is not a directory"
            return _state_store(f"{found} {what} and is not used", create=create)
        if not create or os.access(found, os.W_OK | os.X_OK):
            return StorePlace(found, created=False, notice="")
        return _state_store(f"{found} cannot be written", create=create)
    return _new_store(start, create=create)


def state_store() -> Path:
    """Return the store of last resort: ``$XDG_STATE_HOME/provio``."""
    base = os.environ.get("XDG_STATE_HOME", "")
    if not base.startswith("/"):  # the XDG rules: a relative value is ignored
        base = str(Path("~/.local/state").expanduser())
    return Path(base) / "provio"


def _overridden(path: Path, *, create: bool) -> StorePlace:
    path = Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 - resolve() would follow the user's links
    if path.is_dir():
        return StorePlace(path, created=False, notice="")
    if not create:
        return StorePlace(path, created=False, notice="")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return StorePlace(path, created=_make(path), notice="")
    except OSError as error:
        raise StoreError(
            f"the store {path} cannot be made: {error.strerror}",
            hint="choose a directory that you can write with --store or PROVIO_STORE",
        ) from error


def _new_store(start: Path, *, create: bool) -> StorePlace:
    path = start / STORE_NAME
    if not create:
        if start.is_dir() and not os.access(start, os.W_OK | os.X_OK):  # so runs of here went elsewhere
            return _state_store(f"{start} cannot hold a store", create=False)
        return StorePlace(path, created=False, notice="")
    try:
        return StorePlace(path, created=_make(path), notice="")
    except OSError as error:
        return _state_store(f"{start} cannot hold a store ({error.strerror})", create=True)


def _state_store(reason: str, *, create: bool) -> StorePlace:
    """Fall back to the user's state directory, and say so."""
    path = state_store()
    notice = f"{reason}; runs are kept in {path}"
    if not create:
        return StorePlace(path, created=False, notice=notice)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        created = _make(path)
    except OSError as error:
        raise StoreError(
            f"{reason}, and {path} cannot be made: {error.strerror}",
            hint="choose a directory that you can write with --store or PROVIO_STORE",
        ) from error
    if not _is_ours(path) or not os.access(path, os.W_OK | os.X_OK):
        raise StoreError(
            f"{reason}, and {path} is not a directory of yours that can be written",
            hint="choose a directory that you can write with --store or PROVIO_STORE",
        )
    return StorePlace(path, created=created, notice=notice)


def _make(path: Path) -> bool:
    """Make a private store that version control ignores; tell whether it was absent before."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        return False
    try:
        (path / ".gitignore").write_text("*\n")
    except OSError:  # a full disk: the store would be of no use
        (path / ".gitignore").unlink(missing_ok=True)
        path.rmdir()
        raise
    return True


def _is_ours(path: Path) -> bool:
    """Tell whether a store, and the link that may lead to it, belong to this user."""
    try:
        link, target = path.lstat(), path.stat()
    except OSError:
        return False
    me = os.geteuid()
    return stat.S_ISDIR(target.st_mode) and link.st_uid == me and target.st_uid == me


def _upward(start: Path) -> Iterator[Path]:
    """Yield ``start`` and the directories above it in which a store would be trusted.

    A store above is obeyed only where nobody else could have put it or swapped
    a directory on the way: the walk ends below the home directory, at a mount
    boundary, and at a directory that others can write.
    """
    yield start
    home = os.path.realpath(Path("~").expanduser())
    here = start
    while here != here.parent and str(here) != home:
        if _others_can_write(here) or here.stat().st_dev != here.parent.stat().st_dev:
            return
        here = here.parent
        if str(here) == home or _others_can_write(here):
            return
        yield here


def _others_can_write(folder: Path) -> bool:
    """Tell whether somebody else than this user and root can make entries in a directory."""
    try:
        info = folder.stat()
    except OSError:
        return True
    if info.st_uid not in (0, os.geteuid()) or info.st_mode & stat.S_IWOTH:
        return True
    return bool(info.st_mode & stat.S_IWGRP) and not _is_private_group(info.st_gid)


def _is_private_group(gid: int) -> bool:
    """Tell whether a group holds only this user, as Linux distributions give everyone one."""
    import grp
    import pwd

    if gid == 0 and os.geteuid() == 0:
        return True
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    return user.pw_gid == gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
