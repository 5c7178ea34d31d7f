"""Which file each touch concerns: identity by file system and inode, names in order of time.

A file is (file system, inode, generation): the kernel gives the inode of a
deleted file to the next one made, so a handle that *created* the file begins a
new generation where the old one was unlinked or had other names. Touches
without an inode (look-ups of absent files, operations whose identity was not
taken) are joined by path to the file that bore that name last; what was absent
is a file of its own per path.

File systems: by the ``host`` events' mount table where they exist, so that one
network file system is one on all hosts; else device and boot.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from provio.model.events import Event, HostSeen
from provio.model.evidence import FileSeen
from provio.model.wire import HandleFlags, Kind, Op
from provio.pipeline.categories import ALWAYS, DATA, Categories
from provio.pipeline.frame import CREATE, MAPPED_WRITE, Frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from provio.tracers.records import Ints

_ABSENT: Final = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG)
_KINDS: Final = {
    int(Kind.FILE): "file",
    int(Kind.DIRECTORY): "directory",
    int(Kind.PIPE): "pipe",
    int(Kind.FIFO): "fifo",
    int(Kind.SOCKET): "socket",
    int(Kind.DEVICE): "device",
    int(Kind.OTHER): "other",
}
_CHANGES: Final = (
    Op.WRITE, Op.RENAME, Op.LINK, Op.SYMLINK, Op.TRUNCATE, Op.MKDIR, Op.FALLOCATE, Op.EXCHANGE, CREATE,
    MAPPED_WRITE,
)  # fmt: skip
_OWN: Final = int(HandleFlags.ADOPTED | HandleFlags.INHERITED | HandleFlags.CONTINUED)


@dataclass(slots=True)
class Files:
    """Numbered files: those of category data first, so that their touches come first too."""

    seen: list[FileSeen]
    fs: list[str]
    canonical: list[bytes]
    is_data: Ints


def file_systems(frame: Frame, boots: Sequence[str], events: Iterable[Event]) -> tuple[Ints, list[str]]:
    """Return for each touch the number of its file system, and their names."""
    names = {(boot, dev): name for boot, dev, name in _mounts(events)}
    group, first = group_ids(frame.boot, frame.dev)
    numbers: dict[str, int] = {}
    of_group = []
    for boot, dev in zip(frame.boot[first].tolist(), frame.dev[first].tolist(), strict=True):
        default = f"{boots[boot][:12]}:{os.major(dev)}:{os.minor(dev)}"
        name = names.get((boots[boot], dev), default)
        of_group.append(numbers.setdefault(name, len(numbers)))
    return np.array(of_group, dtype=np.int64)[group], list(numbers)


def _mounts(events: Iterable[Event]) -> Iterable[tuple[str, int, str]]:
    for event in events:
        if not isinstance(event, HostSeen):
            continue
        for device, name, *_ in event.mounts:
            major, _, minor = device.partition(":")
            if major.isdigit() and minor.isdigit() and name:
                yield event.stamp.boot_id, os.makedev(int(major), int(minor)), name


def number_files(
    frame: Frame, strings: Sequence[bytes], boots: Sequence[str], events: Iterable[Event], rules: Categories
) -> Files:
    """Set ``frame.file`` and ``frame.other``; return the files."""
    fs, fs_names = file_systems(frame, boots, events)
    keys = _identities(frame, fs)
    keys = split_generations(frame, keys)
    names = Names(frame, keys, len(strings))
    keys = _by_path(frame, keys, names)
    frame.other = _others(frame, fs, keys, names)
    return _numbered(frame, keys, strings, fs, fs_names, rules)


def group_ids(*columns: Ints) -> tuple[Ints, Ints]:
    """Return a dense group number per row for equal tuples, and one row of each group (the first)."""
    order = np.lexsort(columns[::-1])
    fresh = np.ones(len(order), dtype=bool)
    if len(order):
        fresh[1:] = np.any([c[order][1:] != c[order][:-1] for c in columns], axis=0)
    groups = np.empty(len(order), dtype=np.int64)
    groups[order] = np.cumsum(fresh) - 1
    return groups, order[fresh]


def _identities(frame: Frame, fs: Ints) -> Ints:
    """Return a number per (file system, inode), -1 for touches that know only a path."""
    keys = np.full(len(frame), -1, dtype=np.int64)
    known = np.flatnonzero((frame.ino != 0) & (frame.op != Op.SYMLINK))
    keys[known], _ = group_ids(fs[known], frame.ino[known])
    return keys


def split_generations(frame: Frame, keys: Ints) -> Ints:
    """Give a reused inode a new key from the moment at which a handle created the next file with it."""
    created = np.flatnonzero((keys >= 0) & _creates(frame))
    if not len(created):
        return keys
    start = _moments(frame)
    earliest = np.full(keys.max() + 1, np.iinfo(np.int64).max)
    np.minimum.at(earliest, keys[keys >= 0], start[keys >= 0])
    reused = np.unique(keys[created][start[created] > earliest[keys[created]]])
    rows = np.flatnonzero(np.isin(keys, reused))
    rows = rows[np.lexsort((frame.addr[rows], start[rows], keys[rows]))]
    new = keys.copy()
    new[rows] = _generation_keys(frame, rows, keys, int(keys.max()) + 1)
    return new


_MAKES: Final = frozenset({int(Op.MKDIR), int(Op.SYMLINK), int(Op.MKNOD)})
"""Operations whose success proves a new inode."""


def _creates(frame: Frame) -> Ints:
    """Tell which rows are of a handle that made its file (op rows have other flags), or make an inode."""
    own = (frame.handle == frame.addr) & ((frame.flags & _OWN) == 0)
    made: Ints = own & ((frame.flags & HandleFlags.CREATED) != 0)
    by_operation: Ints = np.isin(frame.op, list(_MAKES)) & (frame.err == 0)
    return made | by_operation


def _moments(frame: Frame) -> Ints:
    return np.where(frame.opened > 0, frame.opened, frame.first)


def _generation_keys(frame: Frame, rows: Ints, keys: Ints, fresh: int) -> list[int]:
    """Walk the touches of reused inodes in order of time; see ``split_generations``."""
    creates = _creates(frame)[rows].tolist()
    columns = (
        keys[rows],
        frame.handle[rows],
        frame.op[rows],
        frame.err[rows],
        frame.path[rows],
        frame.path2[rows],
    )
    result: list[int] = []
    inode = current = maker = -1
    names: set[int] = set()
    gone = begun = False
    for made, key, handle, op, err, path, path2 in zip(creates, *(c.tolist() for c in columns), strict=True):
        if key != inode:
            inode = current = key
            names, gone, maker, begun = set(), False, -1, False
        if made and (handle != maker or op in _MAKES):
            if begun and (gone or path not in names):
                current, fresh = fresh, fresh + 1
                names, gone = set(), False
            maker = handle
        begun = True
        if op in (Op.UNLINK, Op.RENAME) and not err:
            names.discard(path)
            gone = gone or (op == Op.UNLINK and not names)
            names.update({path2} - {0})
        else:
            names.add(path)
        result.append(current)
    return result


class Names:
    """Who bore a name when: observations (boot, path, time) -> key."""

    def __init__(self, frame: Frame, keys: Ints, strings: int) -> None:
        plain = np.flatnonzero((keys >= 0) & (frame.path > 0) & (frame.err == 0) & (frame.op != Op.RENAME))
        second = np.flatnonzero(
            (keys >= 0) & (frame.path2 > 0) & (frame.err == 0) & np.isin(frame.op, _SECOND)
        )
        self._strings = strings
        key = np.concatenate((keys[plain], keys[second]))
        time = np.concatenate((_moments(frame)[plain], frame.last[second]))
        boot = np.concatenate((frame.boot[plain], frame.boot[second]))
        place = boot * strings + np.concatenate((frame.path[plain], frame.path2[second]))
        order = np.lexsort((time, place))
        self._place, self._time, self._key = place[order], time[order], key[order]

    def at(self, boot: Ints, path: Ints, time: Ints, *, strictly_before: bool = False) -> Ints:
        """Return the key that bore each path at a time, else the first that bore it later, -1 for none."""
        asked = np.zeros(self._strings, dtype=bool)
        asked[path] = True
        some = np.flatnonzero(asked[self._place % self._strings])
        if not len(some):
            return np.full(len(path), -1, dtype=np.int64)
        places, key, times = self._place[some], self._key[some], self._time[some]
        clock = np.sort(times)
        known = places * (len(clock) + 1) + np.searchsorted(clock, times)
        place = boot * self._strings + path
        # Observations before (or at) the asked time have a smaller rank than its position.
        rank = np.searchsorted(clock, time, side="left" if strictly_before else "right")
        after = np.searchsorted(known, place * (len(clock) + 1) + rank)
        before, later = np.maximum(after - 1, 0), np.minimum(after, len(known) - 1)
        found = np.where((after > 0) & (places[before] == place), key[before], -1)
        if strictly_before:
            return found
        return np.where((found < 0) & (places[later] == place), key[later], found)


_SECOND: Final = (Op.RENAME, Op.LINK, Op.EXCHANGE)
"""Operations that give the file of ``path`` the name ``path2``."""


def _by_path(frame: Frame, keys: Ints, names: Names) -> Ints:
    """Give touches without an inode the file that bore the path, else one file per path."""
    keys = keys.copy()
    link = frame.op == Op.SYMLINK
    frame.path, frame.path2 = np.where(link, frame.path2, frame.path), np.where(link, frame.path, frame.path2)
    rows = np.flatnonzero(keys < 0)
    absent = np.isin(frame.err[rows], _ABSENT)
    found = names.at(frame.boot[rows], frame.path[rows], frame.last[rows])
    keys[rows] = np.where(absent | link[rows], -1, found)
    rows = np.flatnonzero(keys < 0)
    paths, number = np.unique(frame.path[rows], return_inverse=True)
    keys[rows] = number + (int(keys.max()) + 1 if len(keys) else 0)
    del paths
    return keys


def _others(frame: Frame, fs: Ints, keys: Ints, names: Names) -> Ints:
    """Return the key of the replaced file (rename, exchange) or of a copy's target."""
    other = np.full(len(frame), -1, dtype=np.int64)
    moved = np.flatnonzero(np.isin(frame.op, (Op.RENAME, Op.EXCHANGE)) & (frame.err == 0) & (frame.ino2 != 0))
    if len(moved):
        by_name = names.at(frame.boot[moved], frame.path2[moved], frame.last[moved], strictly_before=True)
        other[moved] = np.where(by_name >= 0, by_name, _by_inode(frame, fs, keys, moved))
    copies = np.flatnonzero(frame.target >= 0)
    if len(copies):
        own = np.flatnonzero(frame.handle >= 0)
        own = own[np.argsort(frame.handle[own], kind="stable")]
        at = np.minimum(np.searchsorted(frame.handle[own], frame.target[copies]), len(own) - 1)
        other[copies] = np.where(frame.handle[own][at] == frame.target[copies], keys[own][at], -1)
    return other


def _by_inode(frame: Frame, fs: Ints, keys: Ints, rows: Ints) -> Ints:
    """Return the last key of (file system, replaced inode), -1 if it was never touched."""
    last: dict[tuple[int, int], int] = {}
    known = np.flatnonzero(frame.ino != 0)
    wanted = np.isin(frame.ino[known], frame.ino2[rows])
    known = known[wanted]
    for where, ino, key in zip(
        fs[known].tolist(), frame.ino[known].tolist(), keys[known].tolist(), strict=True
    ):
        last[where, ino] = max(key, last.get((where, ino), -1))
    pairs = zip(fs[rows].tolist(), frame.ino2[rows].tolist(), strict=True)
    return np.array([last.get(pair, -1) for pair in pairs], dtype=np.int64)


def _numbered(
    frame: Frame, keys: Ints, strings: Sequence[bytes], fs: Ints, fs_names: Sequence[str], rules: Categories
) -> Files:
    """Number the keys: data first, then by first use; describe each as FileSeen."""
    count = int(keys.max()) + 1 if len(keys) else 0
    groups = _Groups(frame, keys, count, strings)
    category = groups.categories(rules)
    data = np.array([c == DATA for c in category], dtype=bool)
    used = np.flatnonzero(groups.sizes > 0)
    order = used[np.lexsort((used, groups.first[used], ~data[used]))]
    number = np.full(count + 1, -1, dtype=np.int64)
    number[order] = np.arange(len(order))
    frame.file = number[keys]
    frame.other = number[frame.other]  # -1 picks the last element, which is -1
    rows = groups.sample[order]
    inode, device, place = frame.ino[rows].tolist(), frame.dev[rows].tolist(), fs[rows].tolist()
    seen = [
        FileSeen(
            n, device[n] if inode[n] else 0, inode[n], groups.names[key], groups.kind(key), category[key]
        )
        for n, key in enumerate(order.tolist())
    ]
    return Files(
        seen=seen,
        fs=[fs_names[place[n]] if inode[n] else "" for n in range(len(seen))],
        canonical=[groups.canonical[key] for key in order.tolist()],
        is_data=data[order],
    )


class _Groups:
    """What the touches of each key say together."""

    def __init__(self, frame: Frame, keys: Ints, count: int, strings: Sequence[bytes]) -> None:
        self._frame, self._keys, self._strings = frame, keys, strings
        self.sizes = np.bincount(keys, minlength=count)
        moments = _moments(frame)
        self.first = np.full(count, np.iinfo(np.int64).max)
        np.minimum.at(self.first, keys, moments)
        self._kind = np.zeros(count, dtype=np.int64)
        np.maximum.at(self._kind, keys, frame.kind)
        self._absent = np.ones(count, dtype=bool)
        self._absent[keys[~np.isin(frame.err, _ABSENT) | (frame.ino != 0)]] = False
        self.sample = np.zeros(count, dtype=np.int64)
        self.sample[keys[::-1]] = np.arange(len(keys))[::-1]
        identified = np.flatnonzero(frame.ino != 0)
        self.sample[keys[identified]] = identified
        self._known = np.zeros(count, dtype=bool)
        self._known[keys[identified]] = True
        self.names, self.canonical = self._name(moments, count)

    def kind(self, key: int) -> str:
        """Return what kind of file a key is."""
        if self._absent[key]:
            return "absent"
        return _KINDS.get(int(self._kind[key]), "file" if self._known[key] else "other")

    def _name(self, moments: Ints, count: int) -> tuple[list[tuple[bytes, ...]], list[bytes]]:
        """Return for each key all its names in order of time, and the one it has last."""
        f = self._frame
        rows = np.flatnonzero(f.path > 0)
        second = np.flatnonzero((f.path2 > 0) & (f.err == 0) & np.isin(f.op, _SECOND))
        key = np.concatenate((self._keys[rows], self._keys[second]))
        path = np.concatenate((f.path[rows], f.path2[second]))
        time = np.concatenate((moments[rows], f.last[second] + 1))
        order = np.argsort(time, kind="stable")
        pairs, at = np.unique(key[order] * len(self._strings) + path[order], return_index=True)
        first = order[at]
        first = first[np.lexsort((time[first], key[first]))]
        del pairs
        names: list[list[int]] = [[] for _ in range(count)]
        for k, p in zip(key[first].tolist(), path[first].tolist(), strict=True):
            names[k].append(p)
        removed = self._removed([k for k, n in enumerate(names) if len(n) > 1])
        text = self._strings
        canonical = [
            text[next((p for p in reversed(n) if (k, p) not in removed), n[-1])] if n else b""
            for k, n in enumerate(names)
        ]
        return [tuple(text[p] for p in n) for n in names], canonical

    def _removed(self, several: list[int]) -> set[tuple[int, int]]:
        """Return (key, name) pairs that were taken away and not given again, for keys with several names."""
        f = self._frame
        ops = (Op.UNLINK, Op.RENAME, Op.LINK)
        rows = np.flatnonzero(np.isin(f.op, ops) & (f.err == 0) & np.isin(self._keys, several))
        rows = rows[np.argsort(f.last[rows], kind="stable")]
        removed: set[tuple[int, int]] = set()
        columns = (self._keys[rows], f.op[rows], f.path[rows], f.path2[rows])
        for key, op, path, path2 in zip(*(c.tolist() for c in columns), strict=True):
            if op != Op.LINK:
                removed.add((key, path))
            removed.discard((key, path2))
        return removed

    def categories(self, rules: Categories) -> list[str]:
        """Return the category of every key; what the run changed is data."""
        f = self._frame
        changed = np.zeros(len(self.sizes), dtype=bool)
        changed[self._keys[(np.isin(f.op, _CHANGES) & (f.err == 0)) | _creates(f)]] = True
        device = self._kind == Kind.DEVICE
        found = [rules.of(path) for path in self.canonical]
        for key in self._searched(found):
            found[key] = "program"
        return [
            "device" if is_device else DATA if is_changed and name not in ALWAYS else name
            for name, is_changed, is_device in zip(found, changed.tolist(), device.tolist(), strict=True)
        ]

    def _searched(self, category: Sequence[str]) -> set[int]:
        """Return absent files that were only a shell's search for a program along PATH.

        Same process image, same last part of the name, and the program was then
        found (in a system directory) or executed.
        """
        f = self._frame
        program = np.array([c == "program" for c in category], dtype=bool)
        hits = np.flatnonzero((f.err == 0) & (f.path > 0) & (program[self._keys] | (f.op == Op.EXEC)))
        found = set(zip(f.image[hits].tolist(), map(self._last, f.path[hits].tolist()), strict=True))
        looked = np.flatnonzero(self._absent[self._keys] & np.isin(f.image, f.image[hits]))
        searched: set[int] = set()
        other: set[int] = set()
        columns = (self._keys[looked], f.image[looked], f.path[looked])
        for key, image, path in zip(*(c.tolist() for c in columns), strict=True):
            (searched if (image, self._last(path)) in found else other).add(key)
        return searched - other

    def _last(self, path: int) -> bytes:
        return self._strings[path].rpartition(b"/")[2]
