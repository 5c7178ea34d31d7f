"""Make a synthetic spool: attempts in layers, each reading what the layer before wrote.

    python bench/seal/generate.py STORE --attempts 10000 --accesses 100

Each attempt is one arena: a shell image that executes a tool, loaded objects,
and ``--accesses`` handles and look-ups, ``--data`` per cent of them of data:
inputs from the layer before, two outputs, scratch and files looked for in vain;
the rest of libraries and byte code, as an interpreter's start makes them.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from provio.engines.host import boot_id, host_name, machine_id
from provio.model.events import Declared, ProcessRef, RunEnded, Stamp, TaskEnded, TaskStarted, to_json
from provio.model.runs import RunRecord
from provio.model.wire import End, HandleFlags, Op
from spoolwriter import Writer, direction

LAYERS = 10
MS = 1_000_000
SIZE = 1 << 18
LIBRARIES = [
    f"/usr/lib/x86_64-linux-gnu/lib{name}.so.6" for name in ("c", "m", "dl", "rt", "pthread", "z", "ssl")
]
NOISE = [f"/usr/lib/python3.11/__pycache__/mod{n}.cpython-311.pyc" for n in range(200)]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("store", type=Path)
    options.add_argument("--attempts", type=int, default=10_000)
    options.add_argument("--accesses", type=int, default=100)
    options.add_argument("--data", type=int, default=30, help="per cent")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    print(generate(given.store, given.attempts, given.accesses, given.data, given.seed))


def generate(store: Path, attempts: int, accesses: int, data: int = 30, seed: int = 1) -> str:
    """Write the spool of one run; return its id."""
    chance = random.Random(seed)
    run = f"{chance.getrandbits(128):032x}"
    spool = store / "spool" / run
    (spool / "events").mkdir(parents=True)
    (spool / "io").mkdir()
    record = RunRecord(
        run,
        "snakemake",
        "9.0",
        "bench",
        "/data",
        host_name(),
        boot_id(),
        1,
        1,
        10**18,
        0,
        machine_id=machine_id(),
    )
    (spool / "run.json").write_text(json.dumps(record.to_json()))
    width = max(attempts // LAYERS, 1)
    with (spool / "events" / "engine.jsonl").open("w") as events:
        for number in range(attempts):
            _attempt(spool, events, run, number, width, (accesses, accesses * data // 100), chance)
        _say(events, RunEnded(_stamp(attempts * MS * 2), run, "succeeded", 0), attempts * 2)
    return run


def _stamp(mono: int) -> Stamp:
    return Stamp(mono, 10**18 + mono, boot_id(), host_name(), 1, 1)


def _say(events: object, event: object, seq: int) -> None:
    events.write(json.dumps(to_json(event, seq)) + "\n")  # type: ignore[attr-defined,arg-type]


def _attempt(
    spool: Path,
    events: object,
    run: str,
    number: int,
    width: int,
    sizes: tuple[int, int],
    chance: random.Random,
) -> None:
    attempt = f"{chance.getrandbits(128) | 1:032x}"
    layer, index = divmod(number, width)
    begin = layer * 1000 * MS + index * 10
    pid = 10_000 + number * 2
    outputs = [f"/data/l{layer}/o{index}.{n}" for n in range(2)]
    inputs = [f"/data/l{layer - 1}/o{chance.randrange(width)}.{chance.randrange(2)}" for _ in range(8)]
    declared = tuple(Declared("output", p) for p in outputs) + tuple(Declared("input", p) for p in inputs)
    start = TaskStarted(
        _stamp(begin), run, attempt, f"rule{layer}", f"rule{layer}:i={index}", 1, "shell", "/data",
        process=ProcessRef(pid, pid), declared=declared, command=f"tool {index}",
    )  # fmt: skip
    _say(events, start, number * 2)
    _say(events, TaskEnded(_stamp(begin + 900 * MS), attempt, "succeeded", exit_code=0), number * 2 + 1)
    _records(attempt, run, begin, pid, inputs, outputs, number, sizes, chance).write(
        spool / "io" / f"{attempt}.preload"
    )


def _records(
    attempt: str, run: str, begin: int, pid: int, inputs: list[str], outputs: list[str], number: int,
    sizes: tuple[int, int], chance: random.Random,
) -> Writer:  # fmt: skip
    writer = Writer(attempt, boot=boot_id(), run=run, host=host_name().encode(), realtime=10**18, monotonic=0)
    objects = "\0".join(LIBRARIES).encode()
    common = {"cwd": b"/data", "objects": objects, "start": pid}
    shell = writer.image(pid, t=begin + 1, argv=b"bash\0-c\0tool", exe=b"/usr/bin/bash", **common)
    writer.end(shell, t=begin + 5 * MS, why=End.EXEC, rchar=1000, wchar=0)
    tool = writer.image(
        pid, t=begin + 6 * MS, parent=shell, execs=1, argv=b"tool\0x", exe=b"/opt/tool", **common
    )
    t = begin + 10 * MS
    accesses, data = sizes
    for n in range(accesses):
        t += MS
        span = {"t_open": t, "t_close": t + MS}
        if n < len(inputs) * 2:
            path = inputs[n % len(inputs)]
            writer.handle(
                path,
                ino_of(path),
                read=direction(64, SIZE, t, t + MS),
                size_open=SIZE,
                size_close=SIZE,
                **span,
            )
        elif n < data - 4:
            path = f"/data/tmp/{number}.{n}"
            if n % 2:
                writer.op(Op.STAT, path, err=2, t=t)
            else:
                writer.handle(path, 10**9 + number * 1000 + n, write=direction(4, 4096, t, t + MS),
                              size_close=4096, flags=HandleFlags.CLOSED | HandleFlags.CREATED,
                              **span)  # fmt: skip
        elif n < data:
            path = outputs[n % 2]
            fresh = n < data - 2
            created = HandleFlags.CREATED if fresh else 0
            writer.handle(path, ino_of(path), write=direction(64, SIZE, t, t + MS),
                          size_open=0 if fresh else SIZE, size_close=SIZE,
                          flags=HandleFlags.CLOSED | created, **span)  # fmt: skip
        else:
            path = chance.choice(NOISE)
            if n % 3:
                writer.op(Op.STAT, path, ino=ino_of(path), t=t)
            else:
                writer.handle(
                    path, ino_of(path), read=direction(1, 4096, t, t + MS), t_open=t, t_close=t + MS
                )
    writer.end(tool, t=begin + 800 * MS, rchar=16 * SIZE, wchar=4 * SIZE, utime=10 * MS, stime=MS)
    return writer


def ino_of(path: str) -> int:
    """Return a stable inode number for a shared path."""
    return int.from_bytes(path.encode()[-7:], "little") % (1 << 40) + 1000 + hash_of(path)


def hash_of(path: str) -> int:
    """Return a hash that is the same in every process (``hash`` is seeded)."""
    value = 1469598103934665603
    for byte in path.encode():
        value = (value ^ byte) * 1099511628211 % (1 << 62)
    return value >> 8


if __name__ == "__main__":
    main()
