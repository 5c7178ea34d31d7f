"""Real programs under strace and the tracer at once: bytes per file must be the same.

Only files below the working folder are compared: the loader's and libc's own
reads elsewhere are theirs. ``strace -y`` names the file behind each descriptor.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from support.traced import TRACED, trace, tracing

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.skipif(not TRACED.exists(), reason="the preload library is not built: make native"),
    pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed"),
]

PYTHON = f"{sys.executable} -I"
COMMANDS = {
    "git": "git init -q r && cd r && cp ../in a && git add a && git -c user.name=a -c user.email=b commit -qm m",  # noqa: E501
    "tar": "tar czf t.gz in && tar xzOf t.gz > out",
    "gcc": "printf 'int main(void){return 0;}' > m.c && gcc m.c -o m",
    "sort": "sort -r -S 100K in -o out && sort -m out in > both",
    "sed": "sed -i 's/1/2/' in && sed -n 1,10p in > out",
    "awk": "awk '{s += $1; print > \"out\"} END {print s}' in > sum",
    "perl": "perl -pe 's/0/1/' in > out && perl -i -ne 'print' in",
    "split": "split -l 1000 in part && cat part* > out && cmp in out",
    "dd": "dd if=in of=out bs=777 count=20 2> log && dd if=in of=out bs=1000 seek=3 conv=notrunc 2>> log",
    "redirections": "{ echo one; cat in; echo two; } > out; while read x; do echo $x; done < in > copy; wc -l < copy >> out",  # noqa: E501
    "here": "cat <<X > out\nabc\nX\nread a < in; printf '%s' \"$a\" >> out; (head -1; tail -1) < in >> out",
    "loop": "for i in 1 2 3; do echo $i; grep -c $i in; done > out 2> err",
    "find": "mkdir -p d/e && cp in d/e && find d -name in -exec cat {} + > out && ls -lR > list",
    "install": "install -m 600 in out && cp -a out copy && ln copy hard && truncate -s 10 copy && mv copy moved",  # noqa: E501
    "python": PYTHON
    + " -c \"import csv,json; rows=list(csv.reader(open('in'))); json.dump(rows, open('out','w'));"
    "f=open('out','r+'); f.seek(5); f.write('x'); f.seek(0); f.read(10); f.close()\"",
    "sqlite": PYTHON + " -c \"import sqlite3; c=sqlite3.connect('db'); c.execute('create table t(x)');"
    "c.executemany('insert into t values(?)', [(i,) for i in range(2000)]); c.commit();"
    "print(c.execute('select sum(x) from t').fetchone())\"",
    "processes": PYTHON + " -c \"import subprocess as s; o=open('out','w'); o.write('a'); o.flush();"
    "s.run(['cat','in'],stdout=o); s.run('cat in | head -5', shell=True, stdout=o); o.write('b'); o.close()\"",  # noqa: E501
}

_CALL = re.compile(
    r"^(?:\d+ +)?(read|write|pread64|pwrite64|readv|writev|pwritev2?|preadv2?)\(\d+<([^>]*)>.* = (\d+)$"
)
_COPY = re.compile(r"^(?:\d+ +)?(copy_file_range|sendfile|splice)\(\d+<([^>]*)>.*?\d+<([^>]*)>.* = (\d+)$")
_HALF = re.compile(r"^(\d+) +(.*) <unfinished \.\.\.>$")
_REST = re.compile(r"^(\d+) +<\.\.\. \w+ resumed>(.*)$")


def whole_lines(log: Path) -> list[str]:
    """Join the halves of calls that another process interrupted in the log."""
    waiting: dict[str, str] = {}
    lines = []
    for line in log.read_text(errors="replace").splitlines():
        if half := _HALF.match(line):
            waiting[half[1]] = half[2]
        elif rest := _REST.match(line):
            lines.append(f"{rest[1]} {waiting.pop(rest[1], '')}{rest[2]}")
        else:
            lines.append(line)
    return lines


def kernel_bytes(log: Path, folder: Path) -> Counter[tuple[str, str]]:
    """Count bytes per direction and file below the folder, as strace saw them."""
    seen: Counter[tuple[str, str]] = Counter()
    for line in whole_lines(log):
        if found := _CALL.match(line):
            seen["read" if "read" in found[1] else "write", found[2].removesuffix(" (deleted)")] += int(
                found[3]
            )
        elif copy := _COPY.match(line):
            source, target = (copy[3], copy[2]) if copy[1] == "sendfile" else (copy[2], copy[3])
            seen["read", source] += int(copy[4])
            seen["write", target] += int(copy[4])
    return Counter({key: n for key, n in seen.items() if n and key[1].startswith(f"{folder}/")})


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_bytes_per_file_equal_what_strace_saw(name: str, tmp_path: Path) -> None:
    tool = COMMANDS[name].split()[0]
    if not shutil.which(tool) and tool not in {"{", "for"}:
        pytest.skip(f"{tool} is not installed")
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "in").write_bytes(b"".join(b"%09d\n" % (n * 7919 % 100003) for n in range(20000)))
    log, spool = tmp_path / "log", tmp_path / "spool"
    ours = {k: v for k, v in tracing(spool).items() if k.startswith(("LD_", "PROVIO_"))}
    bare = [part for pair in ours.items() for part in ("-E", "=".join(pair))]
    strace = ["strace", "-f", "-y", "-s", "0", "-o", str(log), *bare]
    seen = trace([*strace, "bash", "-c", COMMANDS[name]], folder, spool)
    recorded: Counter[tuple[str, str]] = Counter()
    for handle in seen.handles("*"):
        if handle.path.startswith(f"{folder}/"):
            recorded["read", handle.path] += handle.read
            recorded["write", handle.path] += handle.written
    assert seen.done.returncode == 0
    assert dict(+recorded) == dict(kernel_bytes(log, folder))
