"""What lies in a spool directory: which files, how large, from which process; what is missing.

Here: listing and sizes (the manifest records them, so that ``gc`` and ``seal``
know what a generation covers) and the ``.where`` notes. Decoding is
``provio.tracers.records`` and ``provio.importers.events``.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_NOTES = ".where"


@dataclass(frozen=True, slots=True)
class SpoolListing:
    """The evidence files of a spool at one moment.

    Attributes:
        sizes: bytes per file, by name relative to the spool (holes included).
        stamps: mtime in ns per file; an arena grows within its size.
        io: I/O files, in order of name.
        missing: ``.where`` notes without their I/O file: (name, what the note says).
    """

    path: Path
    sizes: dict[str, int]
    stamps: dict[str, int]
    io: tuple[Path, ...]
    missing: tuple[tuple[str, dict[str, Any]], ...]


def list_spool(path: Path, folders: Sequence[str] = ("", "events", "io")) -> SpoolListing:
    """List the evidence of a spool (sealer's own files excepted)."""
    sizes, stamps = {}, {}
    for folder in folders:
        for entry in sorted(_entries(path / folder), key=lambda e: e.name):
            if not entry.is_file(follow_symlinks=False) or entry.name.startswith("seal"):
                continue
            info = entry.stat(follow_symlinks=False)
            name = f"{folder}/{entry.name}" if folder else entry.name
            sizes[name], stamps[name] = info.st_size, info.st_mtime_ns
    names = [n for n in sizes if n.startswith("io/")]
    io = tuple(path / n for n in names if not n.endswith((_NOTES, ".tmp")))
    return SpoolListing(path, sizes, stamps, io, _missing(path, names))


def covers(manifest: Mapping[str, Any], spool: Path) -> bool:
    """Tell whether a generation says all that its spool holds now.

    It does not where a file was added, grew or changed, where the run was not
    over, or where a process that was alive then has ended since.
    """
    if manifest.get("state") == "running":
        return False
    from provio.pipeline.liveness import is_alive

    if not all(is_alive(pid, start) for pid, start in manifest.get("alive", ())):
        return False
    covered = manifest.get("spool", {})
    if manifest.get("settled") != io_changed(spool):
        return bool(covered == described(list_spool(spool)))
    rest = {name: size for name, size in covered.items() if not name.startswith("io/")}
    return rest == described(list_spool(spool, ("", "events")))


def io_changed(spool: Path) -> int:
    """Return when (ns) an I/O file last came or went, -1 if there is no such directory.

    A generation whose every process was of the sealer's boot and had ended is
    ``settled`` at that moment: nobody is left who could write into those files, so
    that thousands of them need not be looked at before every answer.
    """
    try:
        return (spool / "io").stat().st_mtime_ns
    except OSError:
        return -1


def described(listing: SpoolListing) -> dict[str, dict[str, int]]:
    """Return what a manifest says of the evidence that it covers."""
    return {name: {"size": size, "mtime_ns": listing.stamps[name]} for name, size in listing.sizes.items()}


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _missing(path: Path, names: list[str]) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Return the notes whose arena never arrived; ``<id>.where`` announces ``<id>.<tracer>``."""
    arrived = {n.rpartition(".")[0] for n in names if not n.endswith(_NOTES)}
    lost = [n for n in names if n.endswith(_NOTES) and n.removesuffix(_NOTES) not in arrived]
    return tuple((n, _note(path / n)) for n in lost)


def _note(path: Path) -> dict[str, Any]:
    """Read a note: JSON, or ``name=value`` lines as a tracer in C writes them."""
    try:
        text = path.read_text("utf-8", "surrogateescape")
    except OSError:
        return {}
    try:
        value = json.loads(text)
        return value if isinstance(value, dict) else {}
    except ValueError:
        pairs = (line.partition("=") for line in text.splitlines())
        return {name.strip(): value.strip() for name, _, value in pairs}
