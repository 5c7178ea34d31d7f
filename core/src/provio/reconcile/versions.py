"""The contents that a file had, and which of them each access met.

A version is what stands between two writers. One open file description that
writes makes one version: descriptors that came over fork, exec or to another
thread (flags INHERITED, ADOPTED, CONTINUED) go on with the version that its
open began. A rename moves the current version to its new name and ends what it
replaced; the last unlink ends it. What a reader finds at its open (size and
mtime) must be what the last writer left at its close; where it is not, somebody
unseen wrote, and that content is an external version (ordinal 0 if first).
Times alone may have been set: by a recorded utime, or by the engine, which says
so. Writers of different open files that overlap make a version each, in the
order in which they began; that their bytes may be mixed is a Gap.

Only data files have versions. Failed operations meet none.
"""

from __future__ import annotations

import os
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from provio.model.events import EngineFile
from provio.model.facts import Access, Version
from provio.model.wire import HandleFlags
from provio.reconcile.kin import Kin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from provio.model.events import Event
    from provio.model.evidence import Epoch, Evidence, Image, Touch

WRITES: Final = frozenset({"write", "create", "truncate", "mapped-write", "fallocate"})
CONTENT_WRITES: Final = frozenset({"write", "mapped-write"})
READS: Final = frozenset({"read", "mapped-read", "copy_range"})
_MOVES: Final = frozenset({"rename", "exchange"})
_REMOVES: Final = {"unlink": "unlinked", "replaced": "replaced"}
_NAMES: Final = _MOVES | {"link"} | _REMOVES.keys()
_ACTS: Final = {"delete": "delete", "clean": "delete", "touch": "touch"}
_FOREVER: Final = 1 << 63
_TIMES: Final = frozenset({"utime"})
_CARRIED: Final = int(HandleFlags.ADOPTED | HandleFlags.INHERITED | HandleFlags.CONTINUED)
_FRESH: Final = int(HandleFlags.CREATED | HandleFlags.TRUNCATED)
_APPEND: Final = int(HandleFlags.APPEND)
_BY_NAME: Final = frozenset({"truncate", "fallocate"})
"""Writes that are operations of their own: their flags are OpFlags, which share bits with HandleFlags."""


@dataclass(slots=True)
class Found:
    """Versions in order of file and time, the accesses joined to them, and what partial writes kept.

    Attributes:
        kept: (new version, old version) where the old content stayed within the new.
        overlaps: files that several wrote at once, as (path, begins of the later ones).
    """

    versions: list[Version] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    kept: list[tuple[int, int]] = field(default_factory=list)
    overlaps: list[tuple[bytes, list[int]]] = field(default_factory=list)


@dataclass(slots=True)
class _Draft:
    """A version being made. ``moved``: bytes by epoch, to name its writer."""

    path: bytes
    begun: int
    closed: int = 0
    last: int = 0
    until: int = 0
    size: int = -1
    mtime: int = -1
    ctime: int = -1
    ended: str = ""
    external: bool = False
    appended: bool = False
    mapped: bool = False
    moved: dict[int, int] = field(default_factory=dict)
    touches: list[int] = field(default_factory=list)


def find_versions(
    evidence: Evidence, events: Sequence[Event], images: Mapping[int, Image], epochs: Iterable[Epoch]
) -> Found:
    """Return the versions of every data file and the version that each touch met."""
    wanted = {f.file for f in evidence.files if f.category == "data" and f.kind == "file"}
    rows: dict[int, list[Touch]] = defaultdict(list)
    for touch in evidence.touches:
        if touch.err:
            continue
        if touch.file in wanted:
            rows[touch.file].append(touch)
        if touch.other in wanted and touch.other != touch.file and touch.op in _MOVES:
            rows[touch.other].append(_seen_from_other(touch))
    acts = _engine_acts(events)
    kin = Kin(images, epochs)
    found = Found()
    for file in sorted(rows):
        story = _Story(sorted(rows[file], key=_moment), acts, kin)
        story.tell()
        _number(file, story.drafts, found)
        if story.overlaps:
            found.overlaps.append((story.drafts[-1].path, story.overlaps))
    return found


def _seen_from_other(touch: Touch) -> Touch:
    """Return a rename as what happened to the file on its other side: replaced, or given the first name."""
    if touch.op == "rename":
        return touch._replace(op="replaced", file=touch.other, path=touch.path2, path2=b"", other=touch.file)
    return touch._replace(file=touch.other, path=touch.path2, path2=touch.path, other=touch.file)


def _moment(touch: Touch) -> tuple[int, int, int]:
    """Order by when a touch met content: one that truncates at its open, others at their first call."""
    begins = touch.opened if touch.op in WRITES and _flags(touch) & _FRESH and touch.opened else touch.first
    return begins, touch.last, touch.touch


def _flags(touch: Touch) -> int:
    """Return the HandleFlags of a touch, none where it is of no open file."""
    return 0 if touch.op in _BY_NAME else touch.flags


def _keeps(touch: Touch) -> bool:
    """Tell whether old content surely stays: it was appended to, or less was written than there is now."""
    if touch.size_open == 0:
        return False
    return bool(_flags(touch) & _APPEND) or (0 <= touch.bytes < touch.size_close and touch.size_open > 0)


def _engine_acts(events: Sequence[Event]) -> dict[bytes, list[tuple[int, str]]]:
    """Return by path when the engine itself did what to a file."""
    acts: dict[bytes, list[tuple[int, str]]] = defaultdict(list)
    for e in events:
        if isinstance(e, EngineFile) and e.action in _ACTS:
            acts[os.fsencode(e.path)].append((e.stamp.mono, _ACTS[e.action]))
    return acts


class _Story:
    """One file's versions, told in order of time."""

    def __init__(
        self, touches: list[Touch], acts: Mapping[bytes, Sequence[tuple[int, str]]], kin: Kin
    ) -> None:
        self.drafts: list[_Draft] = []
        self.overlaps: list[int] = []
        self._touches = touches
        self._kin = kin
        self._links = 1
        self._also: list[bytes] = []
        names = {t.path for t in touches} | {t.path2 for t in touches if t.op in _NAMES}
        done = sorted((at, name, act) for name in names for at, act in acts.get(name, ()))
        self._deleted = deque((at, name) for at, name, act in done if act == "delete")
        self._retimed = [at for at, _, act in done if act == "touch"]

    def tell(self) -> None:
        for touch in self._touches:
            self._delete_until(_moment(touch)[0])
            if touch.op in WRITES:
                self._write(touch)
            elif touch.op in READS:
                self._read(touch)
            elif touch.op in _NAMES:
                self._rename(touch)
            elif touch.op in _TIMES:
                self._retimed.append(touch.last)
        self._delete_until(_FOREVER)

    def _delete_until(self, now: int) -> None:
        """End the content that the engine deleted under its name before now."""
        while self._deleted and self._deleted[0][0] < now:
            at, name = self._deleted.popleft()
            if self.drafts and self.drafts[-1].path == name:
                self._end(at, "unlinked")

    def _end(self, at: int, how: str) -> None:
        if self.drafts and not self.drafts[-1].ended:
            self.drafts[-1].until, self.drafts[-1].ended = max(at, self.drafts[-1].begun), how

    def _current(self, at: int) -> _Draft | None:
        for draft in reversed(self.drafts):
            if draft.begun <= at:
                return draft
        return None

    def _write(self, touch: Touch) -> None:
        begun, flags = _moment(touch)[0], _flags(touch)
        current = self.drafts[-1] if self.drafts else None
        if current is None or current.ended or not self._continues(current, touch):
            if current is None and not flags & _FRESH:
                current = self._as_found(touch)
            if current is not None and not current.ended and not current.external and begun < current.last:
                self.overlaps.append(begun)
            self._end(begun, "overwritten")
            kept = current is not None and not flags & _FRESH and _keeps(touch)
            current = _Draft(
                path=touch.path, begun=max(begun, current.until if current else 0), appended=kept
            )
            self.drafts.append(current)
        self._add(current, touch)

    def _continues(self, current: _Draft, touch: Touch) -> bool:
        """Tell whether a write goes on with the current version: it is of the same open file."""
        if current.external:
            return False
        if _flags(touch) & _CARRIED:
            return any(self._kin.may_share(epoch, touch.epoch) for epoch in current.moved)
        if _flags(touch) & _FRESH:
            return False
        return touch.epoch in current.moved and (touch.opened or touch.first) < current.closed

    @staticmethod
    def _add(current: _Draft, touch: Touch) -> None:
        current.moved[touch.epoch] = current.moved.get(touch.epoch, 0) + touch.bytes
        current.mapped |= touch.op == "mapped-write"
        current.last = max(current.last, touch.last)
        end = max(touch.closed, touch.last)
        if end >= current.closed:
            current.closed = end
            if touch.mtime_close >= 0:
                current.size, current.mtime, current.ctime = (
                    touch.size_close,
                    touch.mtime_close,
                    touch.ctime_close,
                )
            elif touch.op in CONTENT_WRITES:
                current.size = current.mtime = current.ctime = -1
        current.touches.append(touch.touch)

    def _as_found(self, touch: Touch) -> _Draft | None:
        """Begin with the content that was there before the first writer, if there was any."""
        if touch.size_open == 0 or (touch.size_open < 0 and not _flags(touch) & _APPEND):
            return None
        return self._external(touch)

    def _external(self, touch: Touch) -> _Draft:
        draft = _Draft(
            path=touch.path, begun=self._free_moment(), external=True,
            size=touch.size_open, mtime=touch.mtime_open, ctime=touch.ctime_open,
        )  # fmt: skip
        self._end(draft.begun, "overwritten")
        self.drafts.append(draft)
        return draft

    def _free_moment(self) -> int:
        """Return the first moment at which somebody unseen may have written."""
        if not self.drafts:
            return 0
        return max(self.drafts[-1].closed, self.drafts[-1].until) + 1

    def _read(self, touch: Touch) -> None:
        met = self._current(touch.first) or self._current(touch.last)
        if met is None or (met is self.drafts[-1] and self._changed_unseen(met, touch)):
            met = self._external(touch)
        if met.external and met.mtime < 0:
            met.size, met.mtime, met.ctime = touch.size_open, touch.mtime_open, touch.ctime_open
        met.touches.append(touch.touch)

    def _changed_unseen(self, met: _Draft, touch: Touch) -> bool:
        """Tell whether the reader found another content than the last writer left."""
        if met.ended:  # no name was left: whoever opened it later found another file under this inode
            return met.ended != "overwritten" and touch.opened > met.until
        if touch.opened <= met.closed:
            return False
        if met.size >= 0 <= touch.size_open and met.size != touch.size_open:
            return True
        if met.mapped or met.mtime < 0 or touch.mtime_open < 0 or met.mtime == touch.mtime_open:
            return False
        return not any(met.begun <= at <= touch.opened for at in self._retimed)

    def _rename(self, touch: Touch) -> None:
        if not self.drafts and touch.size_close >= 0:
            self._external(touch)
        current = self.drafts[-1] if self.drafts else None
        if touch.op == "link":
            self._links += 1
            self._also.append(touch.path2)
        elif touch.op in _REMOVES:
            self._links -= 1
            if self._links <= 0:
                self._end(touch.last, _REMOVES[touch.op])
            elif touch.path in self._also:
                self._also.remove(touch.path)
            elif current is not None and touch.path == current.path and self._also:
                current.path = self._also.pop()  # linked to its last name, then rid of its first, as git does
        elif current is not None and touch.path2:
            current.path = touch.path2


def _number(file: int, drafts: Sequence[_Draft], found: Found) -> None:
    ordinal = 0 if drafts and drafts[0].external else 1
    for draft in drafts:
        number = len(found.versions)
        found.versions.append(_finished(number, file, ordinal, draft))
        if draft.appended:
            found.kept.append((number, number - 1))
        found.accesses.extend(Access(touch, number) for touch in draft.touches)
        ordinal += 1


def _finished(number: int, file: int, ordinal: int, draft: _Draft) -> Version:
    moved = draft.moved
    return Version(
        version=number,
        file=file,
        ordinal=ordinal,
        writer=max(moved, key=lambda e: (moved[e], e)) if moved else -1,
        path=draft.path,
        begun=draft.begun,
        closed=draft.closed,
        until=draft.until,
        size=draft.size,
        mtime=draft.mtime,
        ctime=draft.ctime,
        ended=draft.ended,
    )
