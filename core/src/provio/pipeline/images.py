"""Process images and epochs: from wire records to dense numbers.

Here: parents resolved across files, what a fork inherits, totals per image from
the process's totals, a default epoch for every image, and images made up for
records whose IMAGE record was lost. Not here: who an image works for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from provio.model.evidence import Epoch, Image
from provio.model.ids import ENGINE
from provio.model.wire import End, Origin, RecordType
from provio.tracers.records import Ints, Records, lookup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_ENDED: Final = {int(End.EXIT): "exit", int(End.EXEC): "exec"}


@dataclass(slots=True)
class ImageTable:
    """Images and epochs with the way from addresses to numbers.

    Attributes:
        images, epochs: rows whose position is their number.
        file: index of the I/O file of each image.
        objects: per image, numbers of the strings that list loaded objects.
        lost: images made up because their record was lost.
    """

    images: list[Image]
    epochs: list[Epoch]
    file: list[int]
    objects: list[tuple[int, ...]]
    lost: list[int]
    image_addr: Ints
    epoch_addr: Ints
    default_epoch: Ints

    def image_of(self, addr: Ints) -> Ints:
        """Return image numbers of addresses, -1 where there is no such record."""
        return lookup(self.image_addr, addr, np.arange(len(self.image_addr)))

    def epoch_of(self, addr: Ints, image: Ints) -> Ints:
        """Return epoch numbers; the image's default epoch where the address names none."""
        known = lookup(self.epoch_addr, addr, np.arange(len(self.epoch_addr)))
        fallback = self.default_epoch[np.maximum(image, 0)] if len(self.default_epoch) else known
        return np.where(known >= 0, known, np.where(image >= 0, fallback, -1))


def build_images(records: Records, unknown: Iterable[tuple[int, int, int]]) -> ImageTable:
    """Number the images and epochs of a spool.

    Args:
        records: the decoded files.
        unknown: (file index, pid, first time) of records without an image.
    """
    objects: list[tuple[int, ...]] = [
        (n,) if n else () for n in records.texts(RecordType.IMAGE, "objects").tolist()
    ]
    files = records.file_of(records.addr[RecordType.IMAGE]).tolist()
    images = _images(records, files, objects)
    _inherit(images)
    _take_out_children(images, _totals(records))
    lost = []
    for file, pid, since in unknown:
        lost.append(len(images))
        images.append(_made_up(len(images), records, file, pid, since))
        files.append(file)
        objects.append(())
    epochs, epoch_addr = _epochs(records, images)
    defaults = _defaults(images, epochs)
    return ImageTable(
        images, epochs, files, objects, lost, records.addr[RecordType.IMAGE], epoch_addr, defaults
    )


_Process = tuple[str, int, int]
"""Boot, pid, start time."""

_TEXTS: Final = ("argv", "env", "exe", "cwd", "cgroup", "ancestors")
_NUMBERS: Final = (
    "op", "pid", "ppid", "nspid", "start_ticks", "execs", "t", "uid", "rank", "rchar", "wchar",
)  # fmt: skip


def _images(records: Records, files: list[int], objects: list[tuple[int, ...]]) -> list[Image]:
    rows = records.rows[RecordType.IMAGE]
    numbers = [rows[name].astype(np.int64).tolist() for name in _NUMBERS]
    texts = [records.texts(RecordType.IMAGE, name).tolist() for name in _TEXTS]
    tokens = (_ids(rows, "run"), _ids(rows, "attempt"))
    parse = _Parser(records.strings)
    ends = _ends(records, objects)
    by_process = {
        (records.files[files[n]].header.boot, pid, start, execs): n
        for n, (pid, start, execs) in enumerate(zip(numbers[1], numbers[4], numbers[5], strict=True))
    }
    images = []
    for n, (parent, run, attempt, number, text) in enumerate(
        zip(
            _parents(records).tolist(),
            *tokens,
            zip(*numbers, strict=True),
            zip(*texts, strict=True),
            strict=True,
        )
    ):
        op, pid, ppid, nspid, start, execs, since, uid, rank, rchar, wchar = number
        argv, env, exe, cwd, cgroup, ancestors = text
        header = records.files[files[n]].header
        before = by_process.get((header.boot, pid, start, execs - 1), -1)
        after = by_process.get((header.boot, pid, start, execs + 1), -1)
        end = ends.get(n)
        if end is not None:
            last = _finished(end, ends.get(before), rchar, wchar)
        else:  # killed or alive; where another program took over, its begin tells the end
            last = {"until": numbers[6][after], "ended": "exec"} if after >= 0 else {"until": 0}
        images.append(
            Image(
                image=n, pid=pid, ppid=ppid, nspid=nspid, start_ticks=start, execs=execs, boot=header.boot,
                host=header.host, parent=parent, forked=op == Origin.FORK, since=since,
                carried=attempt or (ENGINE if run else ""), carried_run=run, argv=parse.items(argv),
                exe=records.strings[exe], cwd=records.strings[cwd], cgroup_path=parse.cgroup(cgroup),
                environment=parse.environment(env), ancestors=parse.ancestors(ancestors), user=uid,
                rank=rank - 1, **last,
            )
        )  # fmt: skip
    return images


def _ids(rows: Any, name: str) -> list[str]:
    """Return a column of ids as text, "" for zero bytes."""
    return [raw.hex() if any(raw) else "" for raw in map(bytes, rows[name].tolist())]


class _Parser:
    """Parses the texts of images, each distinct one once."""

    def __init__(self, strings: Sequence[bytes]) -> None:
        self._strings = strings
        self._known: dict[tuple[str, int], Any] = {}

    def _once(self, what: str, number: int, function: Callable[[bytes], Any]) -> Any:
        key = (what, number)
        if key not in self._known:
            self._known[key] = function(self._strings[number])
        return self._known[key]

    def items(self, number: int) -> tuple[bytes, ...]:
        """Parse a NUL-separated list."""
        found: tuple[bytes, ...] = self._once("items", number, _list)
        return found

    def environment(self, number: int) -> tuple[tuple[str, str], ...]:
        """Parse NAME=VALUE items."""
        found: tuple[tuple[str, str], ...] = self._once("environment", number, _environment)
        return found

    def ancestors(self, number: int) -> tuple[tuple[int, int], ...]:
        """Parse pid:start items."""
        found: tuple[tuple[int, int], ...] = self._once("ancestors", number, _ancestors)
        return found

    def cgroup(self, number: int) -> str:
        """Parse the text of /proc/<pid>/cgroup."""
        found: str = self._once("cgroup", number, cgroup_path)
        return found


def _ends(records: Records, objects: list[tuple[int, ...]]) -> dict[int, Any]:
    """Return per image the record of its end; what it had loaded since goes into ``objects``."""
    rows = records.rows[RecordType.IMAGE_END]
    addr = records.addr[RecordType.IMAGE]
    whose = lookup(addr, records.refs(RecordType.IMAGE_END, "image"), np.arange(len(addr))).tolist()
    loaded = records.texts(RecordType.IMAGE_END, "objects").tolist()
    columns = (
        rows[name].tolist()
        for name in (
            "op", "t", "rchar", "wchar", "utime", "stime", "maxrss", "io_time", "own_read", "own_written",
        )
    )  # fmt: skip
    ends: dict[int, Any] = {}
    for image, more, *end in zip(whose, loaded, *columns, strict=True):
        if image < 0 or end[0] not in _ENDED:
            continue
        ends[image] = end
        if more:
            objects[image] = (*objects[image], more)
    return ends


def _finished(end: Sequence[int], before: Sequence[int] | None, rchar: int, wchar: int) -> dict[str, Any]:
    """Turn the process's totals at the end of an image into those of the image."""
    op, t, read, written, user, system, maxrss, io_time, own_read, own_written = end
    if before is not None:  # the same process ran another program before
        user, system = user - before[4], system - before[5]
    return {
        "until": t,
        "ended": _ENDED[op],
        "rchar": max(read - own_read - rchar, 0),
        "wchar": max(written - own_written - wchar, 0),
        "cpu_user_ns": max(user, 0),
        "cpu_system_ns": max(system, 0),
        "max_rss_bytes": maxrss,
        "io_time_ns": io_time or -1,
    }


def _totals(records: Records) -> dict[int, tuple[int, int]]:
    """Return what the kernel had counted of a process when an image of it ended by exit."""
    rows = records.rows[RecordType.IMAGE_END]
    addr = records.addr[RecordType.IMAGE]
    whose = lookup(addr, records.refs(RecordType.IMAGE_END, "image"), np.arange(len(addr))).tolist()
    columns = zip(rows["op"].tolist(), whose, rows["rchar"].tolist(), rows["wchar"].tolist(), strict=True)
    return {n: (read, written) for op, n, read, written in columns if op == End.EXIT and n >= 0}


def _take_out_children(images: list[Image], totals: Mapping[int, tuple[int, int]]) -> None:
    """Take the bytes of children out of their parents' counts.

    Linux adds a child's I/O to its parent's /proc/<pid>/io when the parent waits
    for it (wait_task_zombie), so that a shell's count holds all that its commands
    moved: its programs' bytes, and what the kernel, ld.so and the tracer read to
    start them. A child that ended within its parent's time is taken as waited for.
    """
    processes: dict[_Process, list[int]] = {}
    for image in sorted(images, key=lambda i: i.since):
        processes.setdefault(_process(image), []).append(image.image)
    counts = {n: (i.rchar, i.wchar) for n, i in enumerate(images) if i.rchar >= 0 and i.wchar >= 0}
    taken: dict[int, list[tuple[int, int]]] = {}
    for members in processes.values():
        waiting = _waiting(images, processes, members)
        if waiting in counts and all(n in counts for n in members):
            whole = totals.get(members[-1])
            taken.setdefault(waiting, []).extend([whole] if whole else [counts[n] for n in members])
    for n, moved in taken.items():
        read, written = (sum(column) for column in zip(*moved, strict=True))
        own = max(counts[n][0] - read, 0), max(counts[n][1] - written, 0)
        images[n] = replace(images[n], rchar=own[0], wchar=own[1])


def _process(image: Image) -> _Process:
    return image.boot, image.pid, image.start_ticks


def _waiting(images: list[Image], processes: dict[_Process, list[int]], members: list[int]) -> int:
    """Return the image that was its parent's when a process ended, -1 where none is known."""
    last, parent = images[members[-1]], images[members[0]].parent
    if parent < 0 or last.ended != "exit":
        return -1
    chain = processes[_process(images[parent])]
    if chain is members or images[parent].boot != last.boot:
        return -1
    return next((n for n in chain if images[n].since <= last.until <= images[n].until), -1)


def _hex(raw: bytes) -> str:
    return raw.hex() if any(raw) else ""


def _carried(run: bytes, attempt: bytes) -> str:
    """Return the attempt of a token: ENGINE where only the run is named, "" where nothing is."""
    if any(attempt):
        return attempt.hex()
    return ENGINE if any(run) else ""


def _list(raw: bytes) -> tuple[bytes, ...]:
    """Split NUL-separated bytes; the last NUL ends the last item."""
    return tuple(raw.removesuffix(b"\0").split(b"\0")) if raw else ()


def _environment(raw: bytes) -> tuple[tuple[str, str], ...]:
    pairs = (item.decode("utf-8", "surrogateescape").partition("=") for item in _list(raw))
    return tuple((name, value) for name, _, value in pairs)


def _ancestors(raw: bytes) -> tuple[tuple[int, int], ...]:
    found = []
    for item in raw.replace(b"\0", b" ").split():
        pid, _, start = item.partition(b":")
        if pid.isdigit() and start.isdigit():
            found.append((int(pid), int(start)))
    return tuple(found)


def cgroup_path(raw: bytes) -> str:
    """Return the cgroup v2 path (the line ``0::<path>``) of /proc/<pid>/cgroup, "" if there is none."""
    for line in raw.split(b"\n"):
        if line.startswith(b"0::"):
            return line[3:].decode("utf-8", "surrogateescape")
    return ""


def _parents(records: Records) -> Ints:
    """Return the number of each image's parent; its record may be in another file."""
    rows = records.rows[RecordType.IMAGE]
    addr = records.addr[RecordType.IMAGE]
    if not len(rows):
        return np.empty(0, dtype=np.int64)
    by_name = {file.header.path.name.encode(): file.base for file in records.files}
    base = records.bases(RecordType.IMAGE)
    names = records.texts(RecordType.IMAGE, "parent_file").tolist()
    other = [by_name.get(records.strings[n], -1) if n else int(b) for n, b in zip(names, base, strict=True)]
    ref = rows["parent"].astype(np.int64)
    wanted = np.where((ref > 0) & (np.array(other) >= 0), ref + np.array(other), -1)
    return lookup(addr, wanted, np.arange(len(addr)))


def _inherit(images: list[Image]) -> None:
    """Give forks what they share with their parent: program, arguments, what it carried."""
    for number in _parents_first(images):
        image = images[number]
        if not image.forked or image.parent < 0:
            continue
        parent = images[image.parent]
        images[number] = replace(
            image,
            argv=image.argv or parent.argv,
            exe=image.exe or parent.exe,
            cwd=image.cwd or parent.cwd,
            cgroup_path=image.cgroup_path or parent.cgroup_path,
            environment=image.environment or parent.environment,
            carried=image.carried or parent.carried,
            carried_run=image.carried_run or parent.carried_run,
            user=image.user if image.user >= 0 else parent.user,
            rank=image.rank if image.rank >= 0 else parent.rank,
        )


def _parents_first(images: list[Image]) -> list[int]:
    """Return numbers so that every parent stands before its children; a cycle (damage) is cut."""
    depth: dict[int, int] = {}
    for start in range(len(images)):
        chain = []
        at = start
        while at >= 0 and at not in depth:
            depth[at] = -1  # being visited
            chain.append(at)
            at = images[at].parent
        level = depth.get(at, -1)
        for number in reversed(chain):
            level += 1
            depth[number] = level
    return sorted(range(len(images)), key=lambda n: depth[n])


def _made_up(number: int, records: Records, file: int, pid: int, since: int) -> Image:
    header = records.files[file].header
    return Image(
        image=number, pid=pid, ppid=0, nspid=pid, start_ticks=0, execs=0, boot=header.boot, host=header.host,
        parent=-1, forked=False, since=since, until=0, carried=header.attempt, carried_run=header.run,
    )  # fmt: skip


def _epochs(records: Records, images: list[Image]) -> tuple[list[Epoch], Ints]:
    """Number the EPOCH records, then add one epoch to each image that has none for all its threads."""
    rows, addr = records.rows[RecordType.EPOCH], records.addr[RecordType.EPOCH]
    whose = lookup(
        records.addr[RecordType.IMAGE], records.refs(RecordType.EPOCH, "image"), np.arange(len(images))
    ).tolist()
    kept = [n for n, image in enumerate(whose) if image >= 0]
    epochs = [
        Epoch(
            epoch=number,
            image=whose[n],
            tid=int(rows["tid"][n]),
            since=int(rows["t"][n]),
            until=0,
            live=_carried(rows["run"][n].tobytes(), rows["attempt"][n].tobytes()) if _live(rows[n]) else "",
            live_run=_hex(rows["run"][n].tobytes()) if _live(rows[n]) else "",
        )
        for number, n in enumerate(kept)
    ]
    whole = {e.image for e in epochs if e.tid == 0}
    for image in images:
        if image.image not in whole:
            epochs.append(Epoch(len(epochs), image.image, 0, image.since, 0, ""))
    _close(epochs, images)
    return epochs, addr[kept] if len(addr) else addr


def _live(row: Any) -> bool:
    return int(row["op"]) == 2


def _close(epochs: list[Epoch], images: list[Image]) -> None:
    """End each epoch where the next one of the same thread begins, else with its image."""
    following: dict[tuple[int, int], int] = {}
    for epoch in sorted(epochs, key=lambda e: (e.since, e.epoch), reverse=True):
        key = (epoch.image, epoch.tid)
        until = following.get(key, images[epoch.image].until)
        epochs[epoch.epoch] = replace(epoch, until=until)
        following[key] = epoch.since


def _defaults(images: list[Image], epochs: list[Epoch]) -> Ints:
    """Return each image's first epoch for all threads."""
    defaults = np.full(len(images), -1, dtype=np.int64)
    for epoch in reversed(epochs):
        if epoch.tid == 0:
            defaults[epoch.image] = epoch.epoch
    return defaults
