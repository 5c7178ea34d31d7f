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
    from collections.abc import Iterable

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
    images = _images(records)
    objects = _objects(records)
    files = records.file_of(records.addr[RecordType.IMAGE]).tolist()
    _apply_ends(records, images, objects)
    _inherit(images)
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


def _images(records: Records) -> list[Image]:
    rows = records.rows[RecordType.IMAGE]
    parents = _parents(records).tolist()
    text = {name: records.texts(RecordType.IMAGE, name).tolist() for name in _TEXTS}
    files = records.file_of(records.addr[RecordType.IMAGE]).tolist()
    return [
        _image(n, row, parents[n], records, files[n], {k: records.strings[v[n]] for k, v in text.items()})
        for n, row in enumerate(rows)
    ]


_TEXTS: Final = ("argv", "env", "exe", "cwd", "cgroup", "ancestors")


def _image(number: int, row: Any, parent: int, records: Records, file: int, text: dict[str, bytes]) -> Image:
    header = records.files[file].header
    return Image(
        image=number,
        pid=int(row["pid"]),
        ppid=int(row["ppid"]),
        nspid=int(row["nspid"]),
        start_ticks=int(row["start_ticks"]),
        execs=int(row["execs"]),
        boot=header.boot,
        host=header.host,
        parent=parent,
        forked=int(row["op"]) == Origin.FORK,
        since=int(row["t"]),
        until=0,
        carried=_carried(row["run"].tobytes(), row["attempt"].tobytes()),
        carried_run=_hex(row["run"].tobytes()),
        argv=_list(text["argv"]),
        exe=text["exe"],
        cwd=text["cwd"],
        cgroup_path=cgroup_path(text["cgroup"]),
        environment=_environment(text["env"]),
        ancestors=_ancestors(text["ancestors"]),
        user=int(row["uid"]),
        rank=int(row["rank"]) - 1,
        rchar=int(row["rchar"]),  # at its begin; _apply_ends turns it into the difference
        wchar=int(row["wchar"]),
    )


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


def _objects(records: Records) -> list[tuple[int, ...]]:
    return [(n,) if n else () for n in records.texts(RecordType.IMAGE, "objects").tolist()]


def _apply_ends(records: Records, images: list[Image], objects: list[tuple[int, ...]]) -> None:
    """Give images their end, and turn the process's totals into those of the image."""
    rows = records.rows[RecordType.IMAGE_END]
    whose = lookup(
        records.addr[RecordType.IMAGE], records.refs(RecordType.IMAGE_END, "image"), np.arange(len(images))
    ).tolist()
    loaded = records.texts(RecordType.IMAGE_END, "objects").tolist()
    ends: dict[int, Any] = {}
    for image, row, more in zip(whose, rows, loaded, strict=True):
        if image < 0 or int(row["op"]) not in _ENDED:
            continue
        ends[image] = row
        if more:
            objects[image] = (*objects[image], more)
    by_process = {_process(i, i.execs): i.image for i in images}
    for image in images:
        before = by_process.get(_process(image, image.execs - 1))
        successor = by_process.get(_process(image, image.execs + 1))
        follows = images[successor].since if successor is not None else 0
        images[image.image] = _ended(
            image, ends.get(image.image), ends.get(-1 if before is None else before), follows
        )


def _process(image: Image, execs: int) -> tuple[str, int, int, int]:
    return (image.boot, image.pid, image.start_ticks, execs)


def _ended(image: Image, end: Any, before: Any, follows: int) -> Image:
    if end is None:
        # Killed or alive; where another program took over, the exec was seen from its side.
        return replace(image, until=follows, ended="exec" if follows else "", rchar=-1, wchar=-1)
    user, system = (int(end["utime"]), int(end["stime"]))
    if before is not None:
        user, system = user - int(before["utime"]), system - int(before["stime"])
    return replace(
        image,
        until=int(end["t"]),
        ended=_ENDED[int(end["op"])],
        rchar=max(int(end["rchar"]) - image.rchar, 0),
        wchar=max(int(end["wchar"]) - image.wchar, 0),
        cpu_user_ns=max(user, 0),
        cpu_system_ns=max(system, 0),
        max_rss_bytes=int(end["maxrss"]),
        io_time_ns=int(end["io_time"]),
    )


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
