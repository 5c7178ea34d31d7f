"""Compare what strace and provio saw of one execution.

Both sides become the same table: bytes per (owner, file, direction), where the
owner is an attempt, or ``engine:<pid>`` for a Snakemake inside a job, whose own
part and the attempt's part strace cannot tell apart. Sums are compared and not
single calls, because a buffered stream's calls are libc's, not the program's.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from provio.model.ids import ENGINE

if TYPE_CHECKING:
    from e2e.strace_log import Transfer

CLASSES = Path(__file__).with_name("truth_classes.yaml")
MOVES = {"read": "read", "write": "write"}

Key = tuple[str, Any, str]
"""(owner, (major, minor, inode) or path, direction)."""


@dataclass(slots=True)
class Comparison:
    """The result: equal keys, what differs, what only one side saw, what was left out by class."""

    equal: int = 0
    wrong: dict[Key, tuple[int, int]] = field(default_factory=dict)
    """strace's and provio's bytes where both saw the file and disagree, or provio alone claims it."""
    unseen: dict[Key, int] = field(default_factory=dict)
    """What strace saw and provio did not."""
    left_out: Counter[str] = field(default_factory=Counter)
    names: dict[Any, str] = field(default_factory=dict)

    def told(self) -> str:
        """Return the differences as text, with names of files."""
        wrong = [f"wrong  {self._key(k)}: strace {a}, provio {b}" for k, (a, b) in self.wrong.items()]
        unseen = [f"unseen {self._key(k)}: {count}" for k, count in self.unseen.items()]
        return "\n".join([*sorted(wrong), *sorted(unseen), f"left out: {dict(self.left_out)}"])

    def _key(self, key: Key) -> str:
        return f"{key[0][:14]} {key[2]} {self.names.get(key[1], key[1])}"


class Classes:
    """The reviewed classes of transfers that are left out."""

    def __init__(self, path: Path = CLASSES) -> None:
        self._classes = yaml.safe_load(path.read_text())["classes"]
        for entry in self._classes:
            assert entry["why"]
            entry["pattern"] = re.compile(entry["path"].encode())

    def of(self, path: bytes, operation: str, moved: int) -> str:
        """Return the class of a transfer, "" if it counts."""
        for entry in self._classes:
            fits = operation in entry["operations"] and moved <= entry.get("bytes_at_most", moved)
            if fits and entry["pattern"].fullmatch(path):
                return str(entry["name"])
        return ""


Sql = Callable[..., list[tuple[Any, ...]]]


def compare(seen: Iterable[Transfer], sql: Sql) -> Comparison:
    """Compare strace's transfers with the accesses of a generation."""
    result = Comparison()
    classes = Classes()
    inner = inner_engines(sql)
    identities = _Identities(sql)
    transfers = [t for t in seen if t.token and not t.token.endswith(ENGINE.encode())]
    identities.learn(transfers)
    strace: Counter[Key] = Counter()
    for transfer in transfers:
        excluded = classes.of(transfer.path, transfer.op, transfer.bytes)
        if excluded:
            result.left_out[excluded] += 1
            continue
        owner = f"engine:{transfer.pid}" if transfer.pid in inner else transfer.token.decode()[33:]
        key = owner, identities.of(transfer), transfer.op
        strace[key] += transfer.bytes
        result.names[key[1]] = os.fsdecode(transfer.path)
    _judge(result, strace, _provio(sql, inner, classes, result.names))
    return result


def inner_engines(sql: Sql) -> set[int]:
    """Return the pids of Snakemake processes inside jobs."""
    rows = sql("SELECT pid, argv FROM processes")
    return {pid for pid, argv in rows if "snakemake" in (text := str(argv)) and '"--mode"' in text}


class _Identities:
    """From strace's names to (major, minor, inode), for transfers without a stat just before."""

    def __init__(self, sql: Sql) -> None:
        self._named: dict[bytes, set[tuple[int, int, int]]] = {}
        for dev, ino, paths in sql("SELECT dev, ino, paths FROM files WHERE ino <> 0"):
            for name in json.loads(paths):
                if isinstance(name, str):
                    self._add(os.fsencode(name), (os.major(dev), os.minor(dev), ino))

    def learn(self, transfers: Iterable[Transfer]) -> None:
        """Take in what strace itself knows of names."""
        for transfer in transfers:
            if transfer.identity:
                self._add(transfer.path, transfer.identity)

    def of(self, transfer: Transfer) -> Any:
        """Return the identity, or the path where a name does not tell it."""
        if transfer.identity:
            return transfer.identity
        known = self._named.get(transfer.path, set())
        return next(iter(known)) if len(known) == 1 else transfer.path

    def _add(self, path: bytes, identity: tuple[int, int, int]) -> None:
        self._named.setdefault(path, set()).add(identity)


def _provio(sql: Sql, inner: set[int], classes: Classes, names: dict[Any, str]) -> Counter[Key]:
    rows = sql(
        "SELECT p.pid, a.attempt, a.scope, f.dev, f.ino, a.path, a.operation, sum(a.bytes), max(a.bytes) "
        "FROM accesses a JOIN processes p ON p.image = a.image JOIN files f ON f.file = a.file "
        "WHERE a.operation IN ('read', 'write') AND f.kind IN ('file', 'device', 'other') "
        "GROUP BY p.pid, a.attempt, a.scope, f.dev, f.ino, a.path, a.operation"
    )
    found: Counter[Key] = Counter()
    for pid, attempt, scope, dev, ino, path, operation, moved, most in rows:
        if not moved or classes.of(bytes(path), operation, most):
            continue
        if pid not in inner and scope != "attempt":
            continue
        identity = (os.major(dev), os.minor(dev), ino)
        owner = f"engine:{pid}" if pid in inner else str(attempt)
        found[owner, identity, MOVES[operation]] += moved
        names.setdefault(identity, os.fsdecode(bytes(path)))
    return found


def _judge(result: Comparison, strace: Counter[Key], provio: Counter[Key]) -> None:
    for key in strace.keys() | provio.keys():
        truth, told = strace[key], provio[key]
        if truth == told:
            result.equal += 1
        elif told == 0:
            result.unseen[key] = truth
        else:
            result.wrong[key] = (truth, told)
