"""The manifest of a generation: what it is, what it covers, and what its files must be.

Format ``provio.generation``: an object with ``format``, ``version``, ``run``,
``state``, ``sealed_ns``, ``coverage``, ``counts``, ``tools``, ``parents``, ``spool`` (bytes of
each evidence file that it covers), ``files`` (sha256 and size of each file beside
it) and ``gaps`` (how many of each kind). Readers accept the current major version and the one before.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from provio.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FORMAT: Final = "provio.generation"
VERSION: Final = 1
OLDEST: Final = 1
NAME: Final = "manifest.json"


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read and check the manifest of a generation.

    Raises:
        StoreError: it is missing, damaged, foreign, or newer than this provio.
    """
    path = folder / NAME
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise StoreError(
            f"{folder} has no {NAME}: it is not a generation of provio",
            hint="'provio seal --force' makes a new one as long as the spool is there",
        ) from error
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {error}", hint=_RESEAL) from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise StoreError(f"{path} is not a manifest of provio", hint=_RESEAL)
    version = data.get("version")
    if not isinstance(version, int) or not OLDEST <= version <= VERSION:
        raise StoreError(
            f"{path} has format version {version!r}; this provio reads {OLDEST} to {VERSION}",
            hint="it was sealed by a newer provio: upgrade, or seal again with this one from the spool",
        )
    return data


_RESEAL: Final = (
    "seal the run again with 'provio seal --force' while its spool exists, or restore from a backup"
)


def write_manifest(folder: Path, data: Mapping[str, Any]) -> None:
    """Write the manifest beside the files that it lists."""
    text = json.dumps(dict(data), indent=1, sort_keys=True) + "\n"
    (folder / NAME).write_text(text, encoding="ascii")


def describe_files(folder: Path) -> dict[str, dict[str, Any]]:
    """Return sha256 and size of every file below a folder, the manifest excepted."""
    found = sorted(p for p in folder.rglob("*") if p.is_file() and p.name != NAME)
    return {str(p.relative_to(folder)): {"sha256": sha256_of(p), "size": p.stat().st_size} for p in found}


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify(folder: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Return what differs from the manifest, in sentences; empty if all is as it was sealed."""
    found = (check_file(folder, name, manifest) for name in manifest.get("files", {}))
    return [problem for problem in found if problem]


def check_file(folder: Path, name: str, manifest: Mapping[str, Any], *, hash_up_to: int | None = None) -> str:
    """Return how one file differs from the manifest, "" if it does not.

    Args:
        folder: the generation.
        name: the file's name in the manifest.
        manifest: what it should be.
        hash_up_to: compare the SHA-256 only of files up to so many bytes, None for all.
    """
    path = folder / name
    expected = manifest.get("files", {}).get(name)
    try:
        size = path.stat().st_size
    except OSError:
        return f"{name} is missing"
    if expected is None:
        return f"{name} is not in the manifest"
    if size != expected["size"]:
        return f"{name} has {size} bytes instead of {expected['size']}"
    if (hash_up_to is None or size <= hash_up_to) and sha256_of(path) != expected["sha256"]:
        return f"{name} was changed: its SHA-256 differs"
    return ""
