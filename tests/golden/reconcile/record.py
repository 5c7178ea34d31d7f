"""Record the golden evidence anew: ``python tests/golden/reconcile/record.py`` (needs the native library).

Each case is one shell command under the real tracer. What depends on the
machine is replaced: the directory becomes /w, times begin at 1,000, host, boot
and control groups get fixed names. The expected facts are written beside the
evidence and are to be read, like code, before they are committed.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1])]

# ruff: noqa: E402 - the tests are no package
from provio.model.events import Event, to_json
from provio.model.evidence import Evidence, Image
from provio.pipeline.sealing import build
from support.goldens import conclusions, load_evidence
from support.running import only_spool, provio_run

CASES = {
    "sorts-side-by-side": "sort a >b & sort c >d; wait",
    "tee": "cat a | tee b >c",
    "read-after-write": "exec 3<>b; echo x >&3; cat a >/dev/null",
    "in-place": "cat a >b; echo more | dd of=b conv=notrunc status=none",
    "append": "cat a >b; cat c >>b",
    "rename": "cat a >b.tmp; mv b.tmp b; cat b >d",
    "chain": "sort a | uniq | head -n 1 >b; cp b d",
    "sort-onto-itself": "sort -o a a",
    "function-in-a-subshell": 'f() { read -r line <a; echo "$line"; }; (f >b)',
}
_FIRST = 1_000


def main() -> None:
    for name, command in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            (place / "a").write_text("2\n1\n")
            (place / "c").write_text("4\n3\n")
            provio_run("bash", "-c", command, cwd=place)
            evidence = build(only_spool(place), digests=False).found.evidence
            text = json.dumps(_plain(evidence, folder))
        data = json.loads(text)
        found = {"command": command, "expected": conclusions(load_evidence(data)), "evidence": data}
        lines = ",\n".join(f" {json.dumps(k)}: {_rows(v)}" for k, v in found.items())
        (HERE / f"{name}.json").write_text(f"{{\n{lines}\n}}\n")
        print(name, found["expected"]["derived"])


def _rows(value: Any) -> str:
    """Return JSON with one row of a list per line."""
    if isinstance(value, dict):
        return "{\n" + ",\n".join(f"  {json.dumps(k)}: {_rows(v)}" for k, v in value.items()) + "\n }"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"   {json.dumps(v)}" for v in value) + "\n  ]"
    return json.dumps(value)


def _plain(evidence: Evidence, folder: str) -> dict[str, Any]:
    start = min([i.since for i in evidence.images] + [e.stamp.mono for e in evidence.events]) - _FIRST
    real = min(e.stamp.real for e in evidence.events) - _FIRST

    here = {f.file for f in evidence.files if f.paths[0].startswith(folder.encode())}

    def clean(value: Any) -> Any:
        if isinstance(value, bytes):
            return clean(value.decode())
        if isinstance(value, str):
            return value.replace(folder, "/w")
        if isinstance(value, dict):
            return {k: clean(v) for k, v in value.items()}
        return [clean(v) for v in value] if isinstance(value, (list, tuple)) else value

    return {
        "run": evidence.run,
        "events": [clean(_event(e, start, real)) for e in evidence.events if e.type != "host"],
        "images": [clean(asdict(_image(i, start))) for i in evidence.images],
        "epochs": [asdict(replace(e, since=_shift(e.since, start), until=_shift(e.until, start)))
                   for e in evidence.epochs],
        "files": [clean(asdict(f)) for f in evidence.files if f.file in here],
        "touches": [clean(list(_moved(t, start, real))) for t in evidence.touches if t.file in here],
        "channels": [list(_moved(c, start, real)) for c in evidence.channels],
        "over": evidence.over,
    }  # fmt: skip


def _shift(moment: int, start: int) -> int:
    return moment - start if moment > 0 else moment


def _moved(row: Any, start: int, real: int) -> Any:
    clocks = {"first": start, "last": start, "opened": start, "closed": start}
    clocks |= {f"{name}_{when}": real for name in ("mtime", "ctime") for when in ("open", "close")}
    return row._replace(**{k: _shift(getattr(row, k), by) for k, by in clocks.items() if k in row._fields})


def _image(image: Image, start: int) -> Image:
    return replace(
        image, since=_shift(image.since, start), until=_shift(image.until, start), boot="b" * 32, host="node",
        environment=(), cgroup_path="", user=0, cpu_user_ns=-1, cpu_system_ns=-1, io_time_ns=-1,
        max_rss_bytes=-1,
    )  # fmt: skip


def _event(event: Event, start: int, real: int) -> dict[str, Any]:
    data = to_json(event, 0)
    stamp = data["stamp"] | {"boot_id": "b" * 32, "host": "node"}
    data["stamp"] = stamp | {"mono": stamp["mono"] - start, "real": stamp["real"] - real}
    if data.get("process"):
        data["process"] |= {"cgroup_id": 0, "cgroup_path": "", "cgroup_checked": False}
    return {k: v for k, v in data.items() if k not in {"cpu_user_ns", "cpu_system_ns", "max_rss_bytes"}}


if __name__ == "__main__":
    main()
