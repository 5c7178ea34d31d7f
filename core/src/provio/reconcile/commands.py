"""What a process's own words say: the engine's command line, and a task's command text.

A job key is (rule, wildcards): Snakemake writes it as ``rule:a=1,b=2`` with
quotes around values that have commas, in any order.
"""

from __future__ import annotations

import os
import shlex
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from provio.model.events import TaskEnded, TaskStarted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from provio.model.events import Event
    from provio.model.evidence import Image
    from provio.model.facts import AttemptFact
    from provio.model.ids import AttemptId

JobKey = tuple[str, frozenset[tuple[str, str]]]
_FOREVER: Final = 1 << 63
_SHELL_PREFIX: Final = "set -euo pipefail;"
_INNER_MODES: Final = frozenset({"subprocess", "remote"})
_TARGETS: Final = "--target-jobs"


def job_key(spec: str) -> JobKey:
    """Parse ``rule:a=1,b="x,y"``."""
    rule, _, rest = spec.partition(":")
    pairs = [part.partition("=") for part in _split(rest) if part]
    return rule, frozenset((name, value.strip('"')) for name, _, value in pairs)


def _split(text: str) -> list[str]:
    """Split at commas that no double quotes enclose."""
    parts, quoted = [""], False
    for char in text:
        quoted ^= char == '"'
        if char == "," and not quoted:
            parts.append("")
        else:
            parts[-1] += char
    return parts


class CommandLines:
    """Finds the attempt that a sub-snakemake was started for."""

    def __init__(self, attempts: Mapping[AttemptId, AttemptFact]) -> None:
        self._tries: dict[JobKey, dict[int, str]] = defaultdict(dict)
        for a in attempts.values():
            if a.parent not in attempts:
                self._tries[_key_of(a)].setdefault(a.ordinal, a.attempt)

    def attempt_of(self, image: Image) -> str:
        """Return the attempt, or "" where the process is none or runs several jobs."""
        options = _options(image.argv)
        targets = _values(options, _TARGETS)
        if len(targets) != 1 or not _INNER_MODES.intersection(_values(options, "--mode")):
            return ""
        ordinal = (_values(options, "--attempt") or ["1"])[0]
        tries = self._tries.get(job_key(targets[0]), {})
        return tries.get(int(ordinal), "") if ordinal.isdecimal() else ""


def _key_of(attempt: AttemptFact) -> JobKey:
    wildcards = attempt.attributes.get("wildcards")
    if isinstance(wildcards, Mapping):
        return attempt.logical, frozenset((str(k), str(v)) for k, v in wildcards.items())
    return job_key(attempt.physical)


def _options(argv: Sequence[bytes]) -> list[str]:
    """Return the words of a snakemake command, also of one in the text of ``sh -c``."""
    words = [os.fsdecode(a) for a in argv]
    if _TARGETS in words:
        return words
    if len(words) == 3 and words[1] == "-c" and _TARGETS in words[2]:
        try:
            return shlex.split(words[2])
        except ValueError:
            return []
    return []


def _values(options: Sequence[str], name: str) -> list[str]:
    """Return what follows an option up to the next one."""
    if name not in options:
        return []
    found = []
    for text in options[options.index(name) + 1 :]:
        if text.startswith("--"):
            break
        found.append(text)
    return found


class CommandTexts:
    """Finds the only active attempt that has exactly this command text."""

    def __init__(self, events: Sequence[Event], starts: Iterable[TaskStarted]) -> None:
        ends = {e.attempt: e.stamp.mono for e in events if isinstance(e, TaskEnded)}
        self._rows: dict[str, list[tuple[str, int, int, str]]] = defaultdict(list)
        for s in starts:
            if s.command:
                until = ends.get(s.attempt, _FOREVER)
                self._rows[s.command.strip()].append((s.stamp.boot_id, s.stamp.mono, until, s.attempt))

    def attempt_of(self, image: Image) -> str:
        """Return the attempt; on another boot clocks are not compared: all count as active."""
        if len(image.argv) != 3 or image.argv[1] != b"-c":
            return ""
        text = os.fsdecode(image.argv[2]).removeprefix(_SHELL_PREFIX).strip()
        active = {
            attempt
            for boot, since, until, attempt in self._rows.get(text, ())
            if boot != image.boot or since <= image.since <= until
        }
        return active.pop() if len(active) == 1 else ""
