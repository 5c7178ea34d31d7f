"""Seeded evidence of a large run: attempts, process images, touches (mostly noise), pipes.

Each attempt is a shell that forks and executes two programs joined by a pipe;
they read the output of an earlier attempt and write one of their own.
"""

from __future__ import annotations

import random
from typing import Final

from provio.model.events import (
    Declared,
    Event,
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

RUN: Final = RunId("f" * 32)
BOOT: Final = "b" * 32
_SPAN: Final = 1_000_000
_NOISE_FILES: Final = 2_000


def evidence(attempts: int, touches: int, seed: int = 1) -> Evidence:
    """Return a run of this many attempts, three times as many images, and about this many touches."""
    chance = random.Random(seed)
    maker = _Maker(chance, max(0, touches // (3 * attempts) - 2))
    for number in range(attempts):
        maker.attempt(number)
    return maker.finish(attempts)


class _Maker:
    def __init__(self, chance: random.Random, noise: int) -> None:
        self.chance = chance
        self.noise = noise
        engine = ProcessRef(1, 1)
        self.events: list[Event] = [RunStarted(_stamp(0), RUN, "bench", "1", "w", "/data", process=engine)]
        self.images: list[Image] = []
        self.epochs: list[Epoch] = []
        self.touches: list[Touch] = []
        self.channels: list[ChannelUse] = []
        self.files = [
            FileSeen(n, 1, n + 1, (b"/usr/lib/%d.so" % n,), "file", "library") for n in range(_NOISE_FILES)
        ]

    def attempt(self, number: int) -> None:
        """Add one attempt with its three images."""
        at = (number + 1) * _SPAN // 4
        name = AttemptId(f"{number:032x}".replace("0", "a", 1))
        path = f"/data/out/{number}"
        self.events += [
            TaskStarted(
                _stamp(at), RUN, name, "rule", f"rule:n={number}", 1, "shell", "/data",
                command=f"cat {number} | sort > {path}", declared=(Declared("output", path),),
            ),
            ProcessStarted(_stamp(at + 1), name, ProcessRef(len(self.images) + 10, len(self.images) + 1)),
            TaskEnded(_stamp(at + _SPAN), name, "succeeded", exit_code=0),
        ]  # fmt: skip
        text = f"set -euo pipefail;  cat {number} | sort > {path}"
        shell = self._image(name, at, -1, (b"/bin/bash", b"-c", text.encode()))
        cat = self._image(name, at + 10, shell, (b"cat", b"%d" % number))
        sort = self._image(name, at + 20, shell, (b"sort",))
        source = _NOISE_FILES + self.chance.randrange(number) if number else 0
        self._touch(cat, "read", source, at + 100, 0)
        self.channels += [
            ChannelUse(number, "pipe", cat, True, at + 110, at + 120, 4096),
            ChannelUse(number, "pipe", sort, False, at + 115, at + 130, 4096),
        ]
        self.files.append(FileSeen(len(self.files), 1, 9_000 + number, (path.encode(),), "file", "data"))
        self._touch(sort, "write", len(self.files) - 1, at + 140, 1)

    def _image(self, name: AttemptId, at: int, parent: int, argv: tuple[bytes, ...]) -> int:
        number = len(self.images)
        self.images.append(
            Image(
                number, number + 10, 1, number + 10, number + 1, 0, BOOT, "node", parent, False, at, at + 500,
                name, RUN, argv, b"/bin/x", b"/data", rchar=4096, wchar=4096, file_bytes=8192, ended="exit",
            )
        )  # fmt: skip
        self.epochs.append(Epoch(number, number, 0, at, at + 500, "", "", self.noise + 2))
        for n in range(self.noise):
            self._touch(number, "mapped-read", (number + n) % _NOISE_FILES, at + n, 0)
        return number

    def _touch(self, epoch: int, op: str, file: int, at: int, flags: int) -> None:
        self.touches.append(
            Touch(
                len(self.touches), epoch, file, op, 1, 4096, at, at + 5, at, at + 9, -1, -1, -1, -1, -1, -1,
                self.files[file].paths[0], b"", -1, 0, flags,
            )
        )  # fmt: skip

    def finish(self, attempts: int) -> Evidence:
        """Return the evidence."""
        self.events.append(RunEnded(_stamp((attempts + 9) * _SPAN), RUN, "succeeded"))
        return Evidence(RUN, self.events, self.images, self.epochs, self.files, self.touches, self.channels)


def _stamp(at: int) -> Stamp:
    return Stamp(at, at + 10**18, BOOT, "node", 1, 1)
