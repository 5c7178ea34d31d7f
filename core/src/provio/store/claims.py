"""Claims: at most one process seals a run, and a dead one blocks nobody.

A claim is an empty file made with O_EXCL whose *name* tells its owner
(``claim.<boot>.<pid>.<start>.<host>``), so that it never exists without one and
removing a dead owner's claim can never remove another's. A claimer makes its
file, then looks for others: dead ones are removed, a living one makes it step
back. Two that step back at once try again after different waits.

The rename that publishes a generation is atomic and exclusive by itself; claims
only save the work of doing it twice.
"""

from __future__ import annotations

import os
import random
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from provio.engines.host import boot_id, host_name, start_ticks
from provio.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_PREFIX: Final = "claim."


class Owner(NamedTuple):
    """Who holds a claim."""

    boot: str
    pid: int
    start: int
    host: str


def me() -> Owner:
    """Return this process as an owner."""
    return Owner(boot_id(), os.getpid(), start_ticks(os.getpid()), host_name().replace("/", "_"))


def is_dead(owner: Owner) -> bool:
    """Tell whether an owner is provably gone: this host has restarted, or the process is no more."""
    if owner.boot == boot_id():
        return start_ticks(owner.pid) != owner.start
    return owner.host == host_name().replace("/", "_")


@contextmanager
def claimed(
    folder: Path, *, timeout_s: float = 600.0, done: Callable[[], bool] = lambda: False
) -> Iterator[bool]:
    """Hold the claim of a folder; yield False where ``done()`` came true while waiting.

    Raises:
        StoreError: a living owner kept it for longer than the timeout, or the
            folder cannot be written.
    """
    path = folder / _name(me())
    if not _acquire(folder, path, time.monotonic() + timeout_s, done):
        yield False
        return
    try:
        yield True
    finally:
        path.unlink(missing_ok=True)


def _acquire(folder: Path, path: Path, deadline: float, done: Callable[[], bool]) -> bool:
    wait = 0.005
    while not done():
        if _try(folder, path):
            return True
        if time.monotonic() > deadline:
            holder = next(iter(_others(folder, path)), None)
            raise StoreError(
                f"{folder} is being sealed by {_text(holder)}",
                hint="wait for it; if that process is gone for good, remove its claim.* file there",
            )
        time.sleep(wait * (0.5 + random.random()))  # noqa: S311 - only spreads retries
        wait = min(wait * 2, 0.25)
    return False


def _try(folder: Path, path: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except FileExistsError:  # another thread of this process
        return False
    except OSError as error:
        raise StoreError(
            f"{folder} cannot be written: {error.strerror}", hint="check its permissions and free space"
        ) from error
    living = [owner for owner in _others(folder, path) if not _removed_if_dead(folder, owner)]
    if living:
        path.unlink(missing_ok=True)
    return not living


def _others(folder: Path, own: Path) -> list[Owner]:
    names = [e.name for e in os.scandir(folder) if e.name.startswith(_PREFIX) and e.name != own.name]
    return [owner for owner in map(parse_owner, names) if owner]


def _removed_if_dead(folder: Path, owner: Owner) -> bool:
    if not is_dead(owner):
        return False
    (folder / _name(owner)).unlink(missing_ok=True)
    return True


def _name(owner: Owner) -> str:
    return f"{_PREFIX}{owner.boot}.{owner.pid}.{owner.start}.{owner.host}"


def parse_owner(name: str) -> Owner | None:
    """Return the owner that a claim's name tells, None for other names."""
    parts = name.split(".", 4)
    if len(parts) != 5 or not (parts[2].isdigit() and parts[3].isdigit()):
        return None
    return Owner(parts[1], int(parts[2]), int(parts[3]), parts[4])


def _text(owner: Owner | None) -> str:
    return f"process {owner.pid} on {owner.host}" if owner else "another thread"
