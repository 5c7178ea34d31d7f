"""Programs of all sorts give the same results, output and messages as without the tracer."""

# ruff: noqa: E501 (one script, one line)

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.traced import TRACED, tracing

pytestmark = pytest.mark.skipif(not TRACED.exists(), reason="the preload library is not built: make native")

GIT = "git -c user.name=n -c user.email=e -c init.defaultBranch=main -c advice.detachedHead=false"
DATES = "export GIT_AUTHOR_DATE=2020-01-01T00:00:00Z GIT_COMMITTER_DATE=2020-01-01T00:00:00Z"
SCRIPTS = {
    "cp-mv-ln": "cp -av in copy; ln -sv in link; ln -v in hard; mv -v copy moved; cp -r . ../twin; ls -1R ../twin; rm -rf ../twin",
    "install": "install -v -m 640 -D in deep/er/file; stat -c '%a %s' deep/er/file",
    "sort-tee-dd": "sort -r in | tee sorted | tail -n 3; dd if=in of=part bs=100 skip=3 count=5 status=none; cksum part sorted",
    "split-cat": "split -l 700 in piece.; ls; cat piece.* | cmp - in && echo same",
    "env": "env -i A=1 env; env -u HOME printenv HOME; printenv PATH",
    "tar": "tar cf a.tar in; mkdir out; tar xvf a.tar -C out; cmp in out/in; tar tf a.tar; tar czf - in | tar tzf -",
    "git": f"{DATES}; {GIT} init -q r; cd r; cp ../in .; {GIT} add in; {GIT} commit -qm one; echo x >>in; {GIT} diff --stat;"
    f" {GIT} commit -qam two; {GIT} log --oneline; {GIT} checkout -q HEAD~1; {GIT} fsck; {GIT} gc -q; {GIT} status",
    "sqlite": "sqlite3 db 'pragma journal_mode=wal; create table t(a); insert into t select value from generate_series(1,9);"
    " select sum(a) from t; vacuum;'; sqlite3 db .dump",
    "gcc": "printf '#include <stdio.h>\\nint main(){puts(\"hi\");}' >m.c; gcc -O2 -pipe m.c -o m && ./m; gcc -c nothere.c",
    "make": "printf 'a: in\\n\\tcp in a\\nb: a\\n\\tsort a >b\\n' >Makefile; make -j2 b; make b",
    "shell": "for i in 1 2 3; do (echo $i; exit $i); echo $?; done; trap 'echo bye' EXIT; kill -TERM $$",
    "background": "sleep 0 & wait; (sleep 60 & kill $!; wait $!; echo $?) 2>/dev/null; cat <(echo in)",
    "signals": "sh -c 'kill -SEGV $$'; echo $?; sh -c 'kill -KILL $$'; echo $?; yes | head -n 2; echo ${PIPESTATUS[*]}",
    "find-xargs": "mkdir -p d/e; touch d/e/f; find . -type f -print0 | sort -z | xargs -0 -n1 wc -c; find . -exec test -d {} \\;",
    "perl": "perl -e 'open F, q(in); my @l = <F>; print scalar @l; print `echo sub`; exec q(echo), q(done)'",
    "python": f'{sys.executable} -c \'import subprocess, sys; print(subprocess.run([sys.executable, "-c", "print(1)"]))\'',
    "missing": "nosuchprogram; ./in; cat nosuchfile; cd /nonexistent; /bin/true/x; echo $?",
    "limits": "ulimit -f 1; head -c 100000 /dev/zero >big; echo $?; (ulimit -n 5; cat in | cksum)",
}


def neutral(text: bytes, folder: Path) -> bytes:
    """Replace what differs between any two runs."""
    text = text.replace(os.fsencode(folder), b"FOLDER")
    return re.sub(rb"(bash|sh): line \d+: +\d+ |/tmp/cc\w+|\b\d+ (Terminated|Killed|Segm)", rb"\1 \2", text)


def outcome(script: str, folder: Path, environment: dict[str, str]) -> tuple[int, bytes, bytes, list[str]]:
    folder.mkdir(parents=True)
    (folder / "in").write_bytes(b"".join(b"%05d line\n" % ((n * 7919) % 10007) for n in range(2000)))
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, check=False, timeout=120
    )
    files = sorted(
        f"{p.relative_to(folder)} {p.stat().st_size if p.is_file() else ''}"
        for p in folder.rglob("*")
        if ".git" not in str(p)
    )
    return done.returncode, neutral(done.stdout, folder), neutral(done.stderr, folder), files


@pytest.mark.parametrize("layout", ["auto", "blocks"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_script_behaves_as_untraced(name: str, layout: str, tmp_path: Path) -> None:
    bare = {k: v for k, v in os.environ.items() if not k.startswith(("PROVIO_", "LD_"))}
    alone = outcome(SCRIPTS[name], tmp_path / "a" / "work", bare)
    traced = tracing(tmp_path / "spool", "full", PROVIO_ARENA=layout)
    assert outcome(SCRIPTS[name], tmp_path / "b" / "work", traced) == alone


CPYTHON = [
    "test_os",
    "test_io",
    "test_fileio",
    "test_subprocess",
    "test_posix",
    "test_shutil",
    "test_tempfile",
    "test_mmap",
    "test_threading",
]


def verdicts(folder: Path, environment: dict[str, str]) -> dict[str, str]:
    """Run CPython's own tests; return the verdict of each."""
    folder.mkdir()
    command = [sys.executable, "-m", "test", "-v", *CPYTHON]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False, timeout=280)
    verdict = r"^(test\w+ \([\w.]+\)).*?\.\.\. (?:.*\n)*?.*?(ok|FAIL|ERROR|skipped|expected failure)\b"
    found = re.findall(verdict, done.stdout.decode(errors="replace"), re.MULTILINE)
    return dict(found)


@pytest.mark.heavy
def test_own_tests_of_cpython_end_as_untraced(tmp_path: Path) -> None:
    if subprocess.run(
        [sys.executable, "-c", "import test.test_os"], capture_output=True, check=False
    ).returncode:
        pytest.skip("CPython's test suite is not installed")
    bare = {k: v for k, v in os.environ.items() if not k.startswith(("PROVIO_", "LD_"))}
    alone = verdicts(tmp_path / "alone", bare)
    seen = verdicts(tmp_path / "seen", tracing(tmp_path / "spool"))
    assert len(alone) > 1000
    assert {name: (alone.get(name), what) for name, what in seen.items() if alone.get(name) != what} == {}
    assert seen.keys() == alone.keys()
