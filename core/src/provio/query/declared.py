"""What tasks declare: which files, in which role. Comparing that with what was seen is ``files``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from provio.query.paths import joined
from provio.query.source import Source, parsed, select_in

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

INPUT_ROLES: Final = frozenset({"input", "script", "config", "environment"})
OUTPUT_ROLES: Final = frozenset({"output", "log", "benchmark"})
FILE_ROLES: Final = INPUT_ROLES | OUTPUT_ROLES


@dataclass(frozen=True, slots=True)
class Declaration:
    """One declared file; a directory covers what is below it."""

    role: str
    path: bytes
    directory: bool

    def covers(self, names: Collection[bytes]) -> bool:
        """Tell whether it means the file that has these names."""
        return self.path in names or any(name.startswith(self.path + b"/") for name in names)


Declarations = dict[str, list[Declaration]]


def declarations(source: Source, attempts: Iterable[str]) -> Declarations:
    """Return the declared files of these attempts; relative ones are taken from the attempt's directory.

    An inner try that declares nothing itself has the declarations of the attempt around it.
    """
    wanted = list(attempts)
    rows = select_in(
        source, "SELECT attempt, parent FROM attempts WHERE parent IS NOT NULL AND attempt IN ({})", wanted
    )
    outer: dict[str, str] = dict(rows)
    own = _own(source, [*wanted, *outer.values()])
    found = {name: own.get(name) or own.get(outer.get(name, "")) for name in wanted}
    return {name: items for name, items in found.items() if items}


def _own(source: Source, attempts: Iterable[str]) -> Declarations:
    rows = select_in(
        source,
        "SELECT d.attempt, d.role, d.value, d.flags, a.cwd FROM declared d "
        "JOIN attempts a ON a.attempt = d.attempt WHERE d.attempt IN ({})",
        attempts,
    )
    found: Declarations = {}
    for attempt, role, value, flags, cwd in rows:
        if role in FILE_ROLES:
            path = joined(os.fsencode(cwd or "/"), os.fsencode(value))
            found.setdefault(attempt, []).append(Declaration(role, path, "directory" in parsed(flags, [])))
    return found


def is_declared(
    known: Mapping[str, Iterable[Declaration]], attempt: str, names: Collection[bytes]
) -> bool | None:
    """Tell whether an attempt declares a file by any of its names; None where it declares nothing at all."""
    items = known.get(attempt)
    return None if items is None else any(item.covers(names) for item in items)
