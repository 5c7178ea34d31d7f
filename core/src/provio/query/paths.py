"""Paths: as JSON and as text, and which file a person means by FILE.

A path from the records is bytes. JSON carries ``path`` and, where that is not
UTF-8, ``path_b64``. ``resolve`` finds a file by any name it ever had; it never
opens the file itself.
"""

from __future__ import annotations

import os
from base64 import b64decode, b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provio.errors import UsageError
from provio.query.source import Source, parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LISTED = 8
"""How many candidates a message lists."""


def path_json(path: bytes) -> dict[str, str]:
    """Return ``{"path"}`` plus ``{"path_b64"}`` where the bytes are not UTF-8."""
    try:
        return {"path": path.decode()}
    except UnicodeDecodeError:
        return {"path": path.decode(errors="backslashreplace"), "path_b64": b64encode(path).decode()}


def path_text(path: bytes, base: bytes = b"") -> str:
    """Return the path for people: relative to ``base`` if below it, control characters escaped."""
    if base and base != b"/" and path.startswith(base.rstrip(b"/") + b"/"):
        path = path[len(base.rstrip(b"/")) + 1 :]
    text = path.decode(errors="backslashreplace")
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def names_of(column: Any) -> tuple[bytes, ...]:
    """Return the names in a ``files.paths`` value; one that is not UTF-8 is ``{"b64": ...}`` there."""
    return tuple(_name(value) for value in parsed(column, []))


def _name(value: Any) -> bytes:
    if isinstance(value, dict):
        return b64decode(value["b64"])
    return str(value).encode("utf-8", "surrogateescape")


class NeverMetError(UsageError):
    """The run never met a file of that name."""


def words_of(column: Any) -> tuple[str, ...]:
    """Return the words of an ``argv`` value as text."""
    return tuple(word.decode(errors="backslashreplace") for word in names_of(column))


@dataclass(frozen=True, slots=True)
class FoundFile:
    """The file that FILE means.

    Attributes:
        path: the name by which it was found, absolute.
        files: numbers of the files (inodes) that had this name, in order of number.
        former: it has another name now (renamed later).
    """

    path: bytes
    files: tuple[int, ...]
    former: bool = False


def resolve(source: Source, text: str | bytes, cwd: str | bytes | None = None) -> FoundFile:
    """Find the file that a person means by ``text``.

    Tried in turn: relative to ``cwd``, to the run's directory, its real path,
    former names, then names that end in ``text``.

    Raises:
        NeverMetError: the run never met it; the message lists what is near.
        UsageError: several names end so; the message lists them.
    """
    return find(source, text, cwd) or _by_suffix(source, os.fsencode(text))


def find(source: Source, text: str | bytes, cwd: str | bytes | None = None) -> FoundFile | None:
    """Find the file that ``text`` names as a whole path (see ``resolve``), None if the run never met it."""
    for path in _candidates(source, os.fsencode(text), os.fsencode(Path.cwd() if cwd is None else cwd)):
        found = _exactly(source, path)
        if found:
            return found
    return None


def joined(base: bytes, path: bytes) -> bytes:
    """Return ``path`` as seen from ``base``, without ``.`` and ``..``, links not followed."""
    return os.path.normpath(path if path.startswith(b"/") else base.rstrip(b"/") + b"/" + path)


def _candidates(source: Source, wanted: bytes, cwd: bytes) -> list[bytes]:
    run_cwd = os.fsencode(str(source.manifest.get("run", {}).get("cwd") or "/"))
    paths = [joined(base, wanted) for base in (cwd, run_cwd)]
    return list(dict.fromkeys([*paths, *(os.path.realpath(path) for path in paths)]))


def _exactly(source: Source, path: bytes) -> FoundFile | None:
    """Find the files of that name, and those that had content of that name."""
    rows = source.sql(
        "SELECT file, 1 FROM files WHERE path = ? UNION "
        "SELECT file, 0 FROM versions WHERE path = ? ORDER BY 1",
        [path, path],
    )
    files = tuple(dict.fromkeys(row[0] for row in rows))
    return FoundFile(path, files, former=not any(row[1] for row in rows)) if rows else None


def _by_suffix(source: Source, wanted: bytes) -> FoundFile:
    """Find the only name that ends in ``/wanted``, current names before former ones."""
    tail = b"/" + os.path.normpath(wanted).lstrip(b"/")
    rows = source.sql(
        "SELECT path, file, paths FROM files WHERE hex(path) LIKE ? ORDER BY file", [f"%{tail.hex().upper()}"]
    )
    current: dict[bytes, list[int]] = {}
    for path, file, _ in rows:
        current.setdefault(bytes(path), []).append(file)
    former = {} if current else _former(source, tail)
    matches = current or former
    if not matches:
        raise _never_met(source, wanted)
    if len(matches) > 1:
        raise _ambiguous(wanted, matches)
    ((path, files),) = matches.items()
    return FoundFile(path, tuple(files), former=bool(former))


def _former(source: Source, tail: bytes) -> dict[bytes, list[int]]:
    """Return former names (before a rename) that end in ``tail``."""
    found: dict[bytes, list[int]] = {}
    for file, names in source.sql("SELECT file, paths FROM files WHERE paths LIKE '%,%'"):
        for name in names_of(names):
            if name.endswith(tail):
                found.setdefault(name, []).append(file)
    return found


def _ambiguous(wanted: bytes, matches: Iterable[bytes]) -> UsageError:
    names = sorted(matches)
    return UsageError(
        f"{path_text(wanted)!r} could be any of {len(names)} files:\n{_listing(names)}",
        hint="give more of the path",
    )


def _never_met(source: Source, wanted: bytes) -> NeverMetError:
    run = str(source.manifest.get("run", {}).get("id", ""))[:8]
    near = _near(source, wanted)
    total = source.sql("SELECT count(*) FROM files WHERE category = 'data'")[0][0]
    if near:
        detail = f"; did you mean\n{_listing(near)}"
    else:
        detail = f"; it met {total} data file{'' if total == 1 else 's'}, none with a similar name"
    return NeverMetError(
        f"run {run} never met a file {path_text(wanted)!r}{detail}",
        hint="'provio runs' lists other runs (choose with --run); 'provio show --files' lists what it met",
    )


def _near(source: Source, wanted: bytes) -> list[bytes]:
    """Return data files of similar names, and those of the same directory."""
    from difflib import get_close_matches

    names = {
        bytes(p): None for (p,) in source.sql("SELECT path FROM files WHERE category = 'data' LIMIT 20000")
    }
    by_base: dict[str, list[bytes]] = {}
    for name in names:
        by_base.setdefault(path_text(name.rpartition(b"/")[2]), []).append(name)
    close = get_close_matches(path_text(wanted.rpartition(b"/")[2]), by_base, n=_LISTED, cutoff=0.6)
    return [name for base in close for name in by_base[base]][:_LISTED]


def _listing(names: Sequence[bytes]) -> str:
    lines = [f"  {path_text(name)}" for name in names[:_LISTED]]
    if len(names) > _LISTED:
        lines.append(f"  … and {len(names) - _LISTED} more")
    return "\n".join(lines)
