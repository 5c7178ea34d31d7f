"""Digests of what a run made: taken by the sealer, kept as evidence in the spool.

The sealer reads the current versions that the run wrote, smallest first, until
as many bytes are read as the setting ``digest_limit`` says (default 1 GiB, 0 for
none); more would keep a machine busy after the run. A digest counts only if fstat before and
after reading are equal and both are the version: inode and size as the writer
left them, and mtime and ctime too, or a change of them that evidence explains
(a traced rename, link, chmod or utime; the engine's own word that it touched or
protected the file). Results are appended to ``seal-digests.jsonl`` in the spool,
so that sealing again gives the same tables without reading anything twice.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from provio.engines.settings import effective
from provio.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from provio.model.evidence import FileSeen
    from provio.model.facts import Version

DEFAULT_LIMIT: Final = 1 << 30
_NAME: Final = "seal-digests.jsonl"


class Span(NamedTuple):
    """When (CLOCK_REALTIME ns) a file's ctime was changed without its content; whether mtime was too."""

    since: int
    until: int
    times: bool


class Identity(NamedTuple):
    """Content at a moment: a digest belongs to exactly this."""

    path: bytes
    dev: int
    ino: int
    size: int
    mtime: int
    ctime: int


def take_digests(
    spool: Path,
    versions: Iterable[Version],
    files: Mapping[int, FileSeen],
    explained: Mapping[int, Sequence[Span]] | None = None,
) -> dict[int, str]:
    """Return the digests of versions, taking those that are missing and possible now.

    Args:
        spool: where digests are kept.
        versions: of the run.
        files: by number.
        explained: per file, when its times were changed without its content.
    """
    known = _read(spool / _NAME)
    wanted = {v.version: _identity(v, files[v.file]) for v in versions if _eligible(v, files.get(v.file))}
    spans = {i: (explained or {}).get(v.file, ()) for v in versions if (i := wanted.get(v.version))}
    budget = _limit(spool.parent.parent)
    taken: dict[Identity, str] = {}
    for identity in sorted(set(wanted.values()) - known.keys(), key=lambda i: (i.size, i.path)):
        if identity.size > budget:
            break
        digest = digest_of(identity, spans.get(identity, ()))
        if digest:
            budget -= identity.size
            taken[identity] = digest
    _append(spool / _NAME, taken)
    known.update(taken)
    return {version: known[i] for version, i in wanted.items() if i in known}


def _limit(store: Path) -> int:
    """Return the setting; a file of settings that cannot be read does not keep a run from its seal."""
    try:
        value = effective(store)["digest_limit"].value
    except UsageError:
        return DEFAULT_LIMIT
    return value if isinstance(value, int) else DEFAULT_LIMIT


def _eligible(version: Version, file: FileSeen | None) -> bool:
    """Tell whether a version was written here, is current, and is known well enough to be recognised."""
    return (
        file is not None
        and file.kind == "file"
        and file.category == "data"
        and version.writer >= 0
        and not version.until
        and file.ino > 0
        and min(version.size, version.mtime, version.ctime) >= 0
    )


def _identity(version: Version, file: FileSeen) -> Identity:
    return Identity(version.path, file.dev, file.ino, version.size, version.mtime, version.ctime)


def digest_of(identity: Identity, spans: Sequence[Span] = ()) -> str:
    """Return ``sha256:<hex>`` of a file if it is and stays that content, else ""."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    try:
        descriptor = os.open(identity.path, flags)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        before = os.fstat(descriptor)
        if not _matches(before, identity, spans):
            return ""
        try:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            return ""
        return f"sha256:{digest}" if _content(os.fstat(descriptor)) == _content(before) else ""


def _content(info: os.stat_result) -> tuple[int, ...]:
    return (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


def _matches(info: os.stat_result, identity: Identity, spans: Sequence[Span]) -> bool:
    """Tell whether a file is the version: equal, or changed only in its times as ``spans`` explain."""
    _, dev, ino, size, mtime, ctime = identity
    if not stat.S_ISREG(info.st_mode) or (info.st_dev, info.st_ino, info.st_size) != (dev, ino, size):
        return False
    if (info.st_mtime_ns, info.st_ctime_ns) == (mtime, ctime):
        return True
    return any(
        span.since <= info.st_ctime_ns <= span.until and (span.times or info.st_mtime_ns == mtime)
        for span in spans
    )


def _read(path: Path) -> dict[Identity, str]:
    found = {}
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return {}
    for line in lines:
        try:
            data = json.loads(line)
            numbers = (int(data[name]) for name in Identity._fields[1:])
            found[Identity(bytes.fromhex(data["path"]), *numbers)] = str(data["digest"])
        except (ValueError, KeyError, TypeError):
            continue  # a sealer killed while writing leaves a torn line
    return found


def _append(path: Path, taken: Mapping[Identity, str]) -> None:
    """Keep digests; each line begins with a newline too, so that a torn one before it costs only itself."""
    if not taken:
        return
    lines = [json.dumps(_plain(identity) | {"digest": digest}) for identity, digest in taken.items()]
    try:
        with path.open("a", encoding="ascii") as file:
            file.write("".join(f"\n{line}\n" for line in lines))
    except OSError:
        return  # a read-only spool: the digests are in the generation all the same


def _plain(identity: Identity) -> dict[str, Any]:
    return identity._asdict() | {"path": identity.path.hex()}
