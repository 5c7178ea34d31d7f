"""I/O files of other tracers: turned into wire format by the readers of plugins (hook ``provio_tracers``).

The spool is not changed: the wire form is written to a temporary directory and
gone after reading. A reader that refuses a file, or raises, leaves it out with
a Gap.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from provio.model.gaps import Gap, GapKind
from provio.tracers.base import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from provio.model.runs import RunRecord
    from provio.plugins.guard import Guard
    from provio.tracers.base import TracerReader


@contextmanager
def wire_files(paths: Sequence[Path], run: RunRecord, guard: Guard) -> Iterator[list[Path]]:
    """Give the files with those of other tracers replaced by their wire form."""
    readers = _readers(guard)
    foreign = [path for path in paths if path.suffix.removeprefix(".") in readers]
    if not foreign:
        yield list(paths)
        return
    kept = [path for path in paths if path not in set(foreign)]
    with tempfile.TemporaryDirectory(prefix="provio-wire-") as folder:
        for path in foreign:
            plugin, reader = readers[path.suffix.removeprefix(".")]
            kept += _converted(path, Path(folder), reader, plugin, run, guard)
        yield kept


def _readers(guard: Guard) -> dict[str, tuple[str, TracerReader]]:
    """Return the readers that convert, by suffix; the first plugin that names a suffix has it."""
    found: dict[str, tuple[str, TracerReader]] = {}
    for plugin, readers in guard.each("provio_tracers"):
        for reader in readers:
            if reader.to_wire is not None:
                found.setdefault(reader.suffix, (plugin, reader))
    return found


def _converted(
    path: Path, folder: Path, reader: TracerReader, plugin: str, run: RunRecord, guard: Guard
) -> list[Path]:
    origin = Origin(run.run_id, "", run.boot_id, run.host, run.started_real, run.started_mono)
    target = folder / path.name
    try:
        assert reader.to_wire is not None  # noqa: S101 - see _readers
        target.write_bytes(reader.to_wire(path.read_bytes(), origin))
    except ValueError as error:
        guard.gaps.append(Gap(GapKind.CORRUPT_EVIDENCE, "run", detail=f"io/{path.name}: {error}"))
        return []
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything
        guard.fail(plugin, "provio_tracers", error)
        return []
    return [target]
