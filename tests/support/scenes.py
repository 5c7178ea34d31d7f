"""Evidence in few lines: a scene names processes, files and moments; the reconciler is shown the whole.

Not for tests of readers: nothing here is on disk. Times are small integers (ns of one boot).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from provio.model.events import (
    Declared,
    Event,
    IdentityChanged,
    ProcessRef,
    ProcessStarted,
    RunEnded,
    RunStarted,
    Stamp,
    TaskEnded,
    TaskStarted,
)
from provio.model.evidence import ChannelUse, Epoch, Evidence, FileSeen, Image, Touch
from provio.model.ids import AttemptId, RunId
from provio.model.wire import HandleFlags
from provio.reconcile import reconcile

if TYPE_CHECKING:
    from provio.model.facts import Attribution, Facts

RUN: Final = RunId("f" * 32)
BOOT: Final = "b" * 32
CREATED: Final = int(HandleFlags.CREATED)
TRUNCATED: Final = int(HandleFlags.TRUNCATED)
APPEND: Final = int(HandleFlags.APPEND)
INHERITED: Final = int(HandleFlags.INHERITED)
ADOPTED: Final = int(HandleFlags.ADOPTED)


def stamp(at: int, *, boot: str = BOOT) -> Stamp:
    return Stamp(mono=at, real=at + 1_000_000, boot_id=boot, host="node", pid=1, tid=1)


def attempt_id(name: str) -> AttemptId:
    return AttemptId(name.encode().hex().ljust(32, "0")[:32])


class Scene:
    """A run under construction; methods return the numbers that later calls take."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.images: list[Image] = []
        self.epochs: list[Epoch] = []
        self.files: dict[str, FileSeen] = {}
        self.touches: list[Touch] = []
        self.channels: list[ChannelUse] = []
        self._pipes = 0

    # what the engine says

    def run(self, *, cwd: str = "/data", process: ProcessRef | None = None, at: int = 0) -> None:
        self.events.append(RunStarted(stamp(at), RUN, "local", "1", "/data/Snakefile", cwd, process=process))

    def run_ends(self, state: str = "succeeded", at: int = 10_000) -> None:
        self.events.append(RunEnded(stamp(at), RUN, state))

    def attempt(
        self, name: str, *, at: int = 1, until: int | None = 9_000, outputs: tuple[str, ...] = (), **more: Any
    ) -> AttemptId:
        fields: dict[str, Any] = {"logical": name, "physical": name, "ordinal": 1, "kind": "shell"}
        fields |= {"cwd": "/data", "declared": tuple(Declared("output", o) for o in outputs)} | more
        attempt = attempt_id(name + str(fields["ordinal"]))
        self.events.append(TaskStarted(stamp(at), RUN, attempt, **fields))
        if until is not None:
            self.ends(attempt, at=until)
        return attempt

    def ends(self, attempt: AttemptId, *, at: int = 9_000, state: str = "succeeded", **more: Any) -> None:
        self.events.append(TaskEnded(stamp(at), attempt, state, **more))

    def starts_process(self, attempt: AttemptId, process: ProcessRef, *, at: int = 1) -> None:
        self.events.append(ProcessStarted(stamp(at), attempt, process))

    def identity(self, attempt: AttemptId, process: ProcessRef, *, at: int, thread: int = 0) -> None:
        self.events.append(IdentityChanged(stamp(at), attempt, process, thread))

    # what the tracer saw

    def image(self, argv: str | tuple[bytes, ...] = "cat", **more: Any) -> int:
        number = len(self.images)
        words = tuple(argv.encode().split()) if isinstance(argv, str) else argv
        fields: dict[str, Any] = {
            "pid": 100 + number, "ppid": 1, "nspid": 100 + number, "start_ticks": 1000 + number, "execs": 0,
            "boot": BOOT, "host": "node", "parent": -1, "forked": False, "since": 5, "until": 8_000,
            "carried": "", "carried_run": RUN if more.get("carried") else "", "exe": b"/bin/" + words[0],
            "ended": "exit",
        } | more  # fmt: skip
        self.images.append(Image(image=number, argv=words, **fields))
        return number

    def epoch(self, image: int, **more: Any) -> int:
        number = len(self.epochs)
        of = self.images[image]
        fields: dict[str, Any] = {"tid": 0, "since": of.since, "until": of.until, "live": "", "operations": 1}
        fields |= {"live_run": RUN if more.get("live") else ""} | more
        self.epochs.append(Epoch(epoch=number, image=image, **fields))
        return number

    def program(self, argv: str | tuple[bytes, ...] = "cat", **more: Any) -> int:
        """Add an image with one epoch; return the epoch."""
        return self.epoch(self.image(argv, **more))

    def process(self, epoch: int, **more: Any) -> ProcessRef:
        image = self.images[self.epochs[epoch].image]
        return replace(ProcessRef(image.pid, image.start_ticks), **more)

    def file(self, path: str, *, category: str = "data", kind: str = "file") -> int:
        if path not in self.files:
            number = len(self.files)
            self.files[path] = FileSeen(number, 1, 100 + number, (path.encode(),), kind, category)
        return self.files[path].file

    def touch(self, epoch: int, op: str, path: str, first: int, last: int | None = None, **more: Any) -> int:
        number = len(self.touches)
        fields: dict[str, Any] = {
            "count": 1, "bytes": 10 if op in {"read", "write"} else 0, "opened": first, "closed": 0,
            "size_open": -1, "mtime_open": -1, "ctime_open": -1, "size_close": -1, "mtime_close": -1,
            "ctime_close": -1, "path": path.encode(), "path2": b"", "other": -1, "err": 0, "flags": 0,
        } | more  # fmt: skip
        last = first + 1 if last is None else last
        fields["closed"] = fields["closed"] or last
        self.touches.append(Touch(number, epoch, self.file(path), op, first=first, last=last, **fields))
        return number

    def read(self, epoch: int, path: str, first: int, last: int | None = None, **more: Any) -> int:
        return self.touch(epoch, "read", path, first, last, **more)

    def write(self, epoch: int, path: str, first: int, last: int | None = None, **more: Any) -> int:
        """Write a file that this handle creates (give ``flags=0`` for one that was there)."""
        return self.touch(epoch, "write", path, first, last, **{"flags": CREATED} | more)

    def pipe(self, writer: int, reader: int, *, wrote: tuple[int, int], read: tuple[int, int]) -> int:
        number = self._pipes
        self._pipes += 1
        self.channels.append(ChannelUse(number, "pipe", writer, True, *wrote, 10))
        self.channels.append(ChannelUse(number, "pipe", reader, False, *read, 10))
        return number

    # the whole, and what is concluded

    def evidence(self, *, over: bool = True, **more: Any) -> Evidence:
        return Evidence(
            RUN, tuple(self.events), tuple(self.images), tuple(self.epochs), tuple(self.files.values()),
            tuple(self.touches), tuple(self.channels), over=over, **more,
        )  # fmt: skip

    def facts(self, **more: Any) -> Facts:
        return reconcile(self.evidence(**more))

    def owner(self, epoch: int) -> Attribution:
        return self.facts().attributions[epoch]

    def derived(self) -> set[tuple[str, str]]:
        """Return the proved derivations as (output path, input path)."""
        facts = self.facts()
        name = {v.version: v.path.decode() for v in facts.versions}
        return {(name[d.output], name[d.input]) for d in facts.derivations}
