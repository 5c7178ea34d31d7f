"""Generations for tests of questions and answers: rows by ``model.tables``, held by DuckDB or SQLite.

``Story`` collects rows with defaults by column type; ``seismic()`` tells one:
a small run with a retry, an undeclared read, an input never read, a rename and
a possible derivation. Both engines get the same rows, since queries must work
on either.
"""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any

from provio.model.tables import TABLES

if TYPE_CHECKING:
    from pathlib import Path

T0 = 1_790_000_000_000_000_000
"""CLOCK_REALTIME of the story's begin; its CLOCK_MONOTONIC is ``M0``."""
M0 = 5_000_000_000_000
S = 1_000_000_000
RUN = "ab" * 16
CWD = "/data/das"

_DEFAULTS: dict[str, Any] = {"int64": 0, "int32": 0, "text": "", "blob": b"", "bool": False, "json": "[]"}
_SQLITE = {
    "int64": "INTEGER",
    "int32": "INTEGER",
    "text": "TEXT",
    "blob": "BLOB",
    "bool": "INTEGER",
    "json": "TEXT",
}
_NULLABLE = {"exit_code", "signal", "parent", "retry_of", "method", "writer_attempt", "digest"}


class Answers:
    """A generation that answers SQL, as ``provio.query.source.Source`` asks for."""

    def __init__(self, connection: Any, manifest: dict[str, Any], state: str, as_of: int = 0) -> None:
        self.connection = connection
        self.manifest = manifest
        self.state = state
        self.as_of = as_of

    def sql(self, query: str, params: Any = ()) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.connection.execute(query, list(params)).fetchall()]


class Story:
    """Rows of a generation to be."""

    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
        self.manifest: dict[str, Any] = {
            "run": {
                "id": RUN, "engine": "snakemake", "engine_version": "9.27.1", "workflow": "das/Snakefile",
                "cwd": CWD, "started_ns": T0, "ended_ns": T0 + 60 * S,
            },
            "coverage": {
                "attributed_operations": 90, "recorded_operations": 100, "engine_operations": 5,
                "unattributed_operations": 5, "seen_bytes": 9990, "kernel_bytes": 10000,
                "unmeasured_images": 0,
            },
        }  # fmt: skip
        self.state = "succeeded"
        self.as_of = 0

    def add(self, table: str, **values: Any) -> dict[str, Any]:
        row = {}
        for column in TABLES[table]:
            value = values.pop(column.name, None if column.name in _NULLABLE else _DEFAULTS[column.type])
            row[column.name] = (
                json.dumps(value) if column.type == "json" and not isinstance(value, str) else value
            )
        assert not values, f"{table} has no column {sorted(values)}"
        self.rows[table].append(row)
        return row

    def sqlite(self) -> Answers:
        connection = sqlite3.connect(":memory:")
        for name, columns in TABLES.items():
            connection.execute(
                f"CREATE TABLE {name} ({', '.join(f'{c.name} {_SQLITE[c.type]}' for c in columns)})"
            )
            marks = ",".join("?" * len(columns))
            connection.executemany(
                f"INSERT INTO {name} VALUES ({marks})", [tuple(r.values()) for r in self.rows[name]]
            )
        return Answers(connection, self.manifest, self.state, self.as_of)

    def parquet(self, directory: Path) -> Answers:
        import duckdb
        import pyarrow as pa
        import pyarrow.parquet as pq

        types = {"int64": pa.int64(), "int32": pa.int32(), "text": pa.string(), "blob": pa.binary(),
                 "bool": pa.bool_(), "json": pa.string()}  # fmt: skip
        connection = duckdb.connect()
        for name, columns in TABLES.items():
            schema = pa.schema([(c.name, types[c.type]) for c in columns])
            file = directory / f"{name}.parquet"
            pq.write_table(pa.Table.from_pylist(self.rows[name], schema=schema), file)
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{file}')")
        return Answers(connection, self.manifest, self.state, self.as_of)

    def seal(self, store: Path) -> Path:
        """Write a real generation into a store, as the sealer does."""
        from provio.store.manifest import FORMAT, VERSION, describe_files, write_manifest
        from provio.store.writer import new_generation, publish, write_tables

        runs = store / "runs" / self.manifest["run"]["id"]
        with new_generation(runs) as folder:
            columns = {
                name: {c.name: [row[c.name] for row in self.rows[name]] for c in TABLES[name]}
                for name in TABLES
            }
            rows = write_tables(folder, columns)
            head = {
                "format": FORMAT,
                "version": VERSION,
                "state": self.state,
                "as_of_ns": self.as_of,
                "rows": rows,
            }
            write_manifest(folder, {**self.manifest, **head, "files": describe_files(folder)})
            return publish(folder, runs)

    # What stories are made of ---------------------------------------------------------------

    def task(self, number: int, logical: str, physical: str, kind: str = "shell") -> None:
        self.add("tasks", task=number, logical=logical, physical=physical, kind=kind)

    def attempt(self, name: str, task: int, begin: int, end: int, **values: Any) -> str:
        """Add an attempt that lasts from second ``begin`` to ``end`` of the story."""
        defaults = {
            "ordinal": 1, "state": "succeeded", "exit_code": 0, "started_ns": T0 + begin * S,
            "ended_ns": T0 + end * S, "cwd": CWD, "pid": 4000 + task, "host": "node1", "operations": 30,
            "processes": 1, "cpu_user_ns": 900_000_000, "cpu_system_ns": 100_000_000,
            "max_rss_bytes": 64 << 20,
            "io_time_ns": 500_000_000, "attributes": {"wildcards": {}},
        }  # fmt: skip
        self.add("attempts", **{**defaults, "attempt": attempt_id(name), "task": task, **values})
        return attempt_id(name)

    def process(
        self,
        image: int,
        attempt: str | None,
        argv: list[str],
        method: str = "carried",
        scope: str = "attempt",
    ) -> None:
        """Add a process image with one epoch of the same number and its attribution."""
        self.add("processes", image=image, parent=-1, pid=5000 + image, argv=argv,
                 exe=b"/usr/bin/" + argv[0].encode(),
                 cwd=CWD.encode(), attempt=attempt, host="node1", ended="exit")  # fmt: skip
        self.add("epochs", epoch=image, image=image)
        evidence = [[method, attempt, f"PROVIO_TASK named {attempt[:8]}"]] if attempt else []
        self.add("attributions", epoch=image, scope=scope, attempt=attempt,
                 method=method if attempt else None,
                 confidence="proved", evidence=evidence, operations=10)  # fmt: skip

    def file(self, number: int, path: str, *former: str, **values: Any) -> None:
        full = [name if name.startswith("/") else f"{CWD}/{name}" for name in (*former, path)]
        self.add("files", **{"file": number, "path": full[-1].encode(), "paths": full, "dev": 1,
                             "ino": 100 + number,
                             "kind": "file", "category": "data", **values})  # fmt: skip

    def version(self, number: int, file: int, epoch: int = -1, second: int = 0, **values: Any) -> None:
        """Add content that the process of ``epoch`` closed at ``second`` (-1: it was there before)."""
        path = next(row["path"] for row in self.rows["files"] if row["file"] == file)
        writer = next((r["attempt"] for r in self.rows["attributions"] if r["epoch"] == epoch), None)
        made = epoch >= 0
        self.add("versions", **{
            "version": number, "file": file, "ordinal": int(made), "writer_epoch": epoch,
            "writer_attempt": writer,
            "path": path, "begun_mono": M0 + second * S if made else 0,
            "closed_mono": M0 + second * S if made else 0,
            "closed_ns": T0 + second * S if made else 0, "size": 1000 * number, "digest": None, **values,
        })  # fmt: skip

    def access(
        self, image: int, file: int, operation: str, version: int, moved: int = 0, **values: Any
    ) -> None:
        owner = next(row for row in self.rows["attributions"] if row["epoch"] == image)
        path = next(row["path"] for row in self.rows["files"] if row["file"] == file)
        self.add("accesses", **{
            "image": image, "epoch": image, "scope": owner["scope"], "attempt": owner["attempt"],
            "file": file,
            "version": version, "operation": operation, "count": 2, "bytes": moved,
            "first_mono": M0 + image * S,
            "last_mono": M0 + image * S + S, "path": path, **values,
        })  # fmt: skip

    def derive(self, output: int, given: int, moved: int, confidence: str = "proved") -> None:
        writer = next(row["writer_attempt"] for row in self.rows["versions"] if row["version"] == output)
        self.add(
            "derivations", output=output, input=given, attempt=writer, confidence=confidence, bytes=moved
        )

    def declare(self, attempt: str, role: str, value: str, *flags: str, name: str = "") -> None:
        self.add("declared", attempt=attempt, role=role, value=value, name=name, flags=list(flags))


def attempt_id(name: str) -> str:
    return (name.encode().hex() * 16)[:32]


def seismic() -> Story:
    """A run of four rules; see the module's docstring for what is planted in it."""
    story = Story()
    _tasks(story)
    _files(story)
    _content(story)
    return story


def _tasks(story: Story) -> None:
    for number, (logical, physical) in enumerate([
        ("convert", "convert:sample=a"), ("convert", "convert:sample=b"), ("stack", "stack:"),
        ("plot", "plot:"),
    ]):  # fmt: skip
        story.task(number, logical, physical, "script" if logical == "stack" else "shell")
    wild = {"attributes": {"wildcards": {"sample": "a"}}}
    convert = story.attempt(
        "A1", 0, 1, 3, bytes_read=1500, bytes_written=1000, files_read=2, files_written=1, **wild
    )
    story.attempt("B1", 1, 1, 4, bytes_read=800, bytes_written=900, files_read=1, files_written=1)
    story.attempt("S1", 2, 5, 7, state="failed", exit_code=1, message="disk on fire", bytes_read=500,
                  files_read=1,
                  bytes_written=100, files_written=1)  # fmt: skip
    stack = story.attempt("S2", 2, 8, 20, ordinal=2, retry_of=attempt_id("S1"), bytes_read=1900,
                          bytes_written=4000,
                          files_read=2, files_written=1)  # fmt: skip
    plot = story.attempt("P1", 3, 21, 25, bytes_read=4000, bytes_written=700, files_read=1, files_written=1)
    for attempt, sample in ((convert, "a"), (attempt_id("B1"), "b")):
        story.declare(attempt, "input", f"{CWD}/raw/{sample}.dat")
        story.declare(attempt, "output", f"{CWD}/work/{sample}.h5")
    for name in ("S1", "S2"):
        for role, value in (("input", "work/a.h5"), ("input", "work/b.h5"), ("output", "stack.h5")):
            story.declare(attempt_id(name), role, f"{CWD}/{value}")
    for role, value in (("input", "stack.h5"), ("input", "legend.txt"), ("output", "fig.png")):
        story.declare(plot, role, f"{CWD}/{value}")
    story.process(10, convert, ["convert", "raw/a.dat", "work/a.h5"])
    story.process(11, attempt_id("B1"), ["convert", "raw/b.dat", "work/b.h5"])
    story.process(12, attempt_id("S1"), ["python3", "stack.py"], "live")
    story.process(13, stack, ["python3", "stack.py"], "live")
    story.process(14, plot, ["gnuplot", "fig.gp"], "ancestor")
    story.process(15, None, ["snakemake"], scope="engine")
    story.process(16, None, ["cat", "fig.png"], scope="unattributed")


def _files(story: Story) -> None:
    for number, path in enumerate(["raw/a.dat", "raw/b.dat", "site/calib.txt", "work/a.h5", "work/b.h5"]):
        story.file(number, path)
    story.file(5, "stack.h5", kind="file")
    story.file(6, "stack.h5", "stack.h5.tmp")
    story.file(7, "fig.png")
    story.file(8, "/usr/lib/libm.so", category="library")
    story.file(9, "missing.cfg", kind="absent", ino=0)
    story.file(10, "deep/er/a.h5")


def _content(story: Story) -> None:
    for number in (0, 1, 2):
        story.version(number, number)
    story.version(3, 3, 10, 3)
    story.version(4, 4, 11, 4)
    story.version(5, 5, 12, 7, ended="unlinked", until_mono=M0 + 8 * S)
    story.version(6, 6, 13, 20)
    story.version(7, 7, 14, 25)
    story.version(8, 10)
    for image, file, version, moved in ((10, 0, 0, 1000), (10, 2, 2, 500), (11, 1, 1, 800), (12, 3, 3, 500),
                                        (13, 3, 3, 1000), (13, 4, 4, 900), (14, 6, 6, 4000),
                                        (16, 7, 7, 700)):  # fmt: skip
        story.access(image, file, "read", version, moved)
    for image, file, version, moved in ((10, 3, 3, 1000), (11, 4, 4, 900), (12, 5, 5, 100), (13, 6, 6, 4000),
                                        (14, 7, 7, 700)):  # fmt: skip
        story.access(image, file, "write", version, moved)
    story.access(13, 6, "rename", -1, path=f"{CWD}/stack.h5.tmp".encode(), first_mono=M0 + 20 * S + 1)
    story.access(10, 8, "mapped-read", -1, 4096)
    story.access(10, 9, "open", -1, err=2)
    for output, given, moved in ((3, 0, 1000), (3, 2, 500), (4, 1, 800), (5, 3, 500), (6, 3, 1000),
                                 (6, 4, 900),
                                 (7, 6, 4000)):  # fmt: skip
        story.derive(output, given, moved)
    story.derive(7, 8, 10, "possible")
    story.add(
        "engine_files", action="delete", path=f"{CWD}/stack.h5", attempt=attempt_id("S1"), at_ns=T0 + 7 * S
    )
    story.add(
        "gaps", kind="engine-not-traced", scope="run", count=1, detail="the engine's own I/O is not recorded"
    )
    story.add("gaps", kind="killed", scope="image:13", count=1, detail="python3 stack.py was killed")
