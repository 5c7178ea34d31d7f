"""Damaged, foreign and newer files, odd names and secrets, seen from the command line."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from provio.errors import StoreError
from provio.model.tables import TABLES
from provio.store import Generation, Store
from support.running import environment, provio_command

pytestmark = pytest.mark.heavy
TOKEN = "ghp_" + "Zz9" * 12
Damage = Callable[[Path], None]


def provio(*arguments: str | bytes, cwd: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run one provio command; whatever happens, no traceback reaches the user."""
    done = subprocess.run(
        [*provio_command(), *arguments], cwd=cwd, env=environment(cwd, extra), capture_output=True, text=True,
        errors="surrogateescape", check=False, timeout=120,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done


# Damage


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded and sealed run."""
    place = tmp_path_factory.mktemp("recorded")
    (place / "in").write_text("b\na\n")
    assert (
        provio("run", "--no-seal", "--", "sh", "-c", "sort in > out; cat in out > both", cwd=place).returncode
        == 0
    )
    assert provio("seal", "--all", cwd=place).returncode == 0
    return place


def _spool(place: Path) -> Path:
    return next((place / ".provio" / "spool").iterdir())


def _records(place: Path) -> Path:
    return next(p for p in (_spool(place) / "io").iterdir() if p.suffix == ".preload")


def _events(place: Path) -> Path:
    return max((_spool(place) / "events").iterdir(), key=lambda p: p.stat().st_size)


def _generation(place: Path) -> Path:
    return next((place / ".provio" / "runs").rglob("manifest.json")).parent


def _patch(path: Path, at: int, data: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[at : at + len(data)] = data
    path.write_bytes(content)


def _rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def _foreign(place: Path) -> None:
    (_spool(place) / "io" / "x.preload").write_bytes(b"\x7fELF" * 2000)


def _newer_run(place: Path) -> None:
    record = _spool(place) / "run.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"version": 9}))


SPOOL: dict[str, tuple[Damage, set[int]]] = {
    "records cut in the middle": (lambda p: os.truncate(_records(p), 5000), {0}),
    "records cut in the header": (lambda p: os.truncate(_records(p), 100), {0}),
    "records overwritten": (lambda p: _patch(_records(p), 4500, b"\xff" * 700), {0}),
    "records without a header": (lambda p: _patch(_records(p), 0, bytes(4096)), {0}),
    "foreign records": (_foreign, {0}),
    "newer records": (lambda p: _patch(_records(p), 8, b"\x09"), {4}),
    "events torn": (lambda p: os.truncate(_events(p), _events(p).stat().st_size - 9), {0}),
    "events foreign": (lambda p: _patch(_events(p), 0, b"\0\xff{]"), {0, 4}),
    "events newer": (lambda p: _rewrite(_events(p), '"v":1', '"v":9'), {0, 4}),
    "run record torn": (lambda p: os.truncate(_spool(p) / "run.json", 20), {4}),
    "run record foreign": (lambda p: _patch(_spool(p) / "run.json", 0, b"[]"), {4}),
    "run record newer": (_newer_run, {4}),
}


@pytest.mark.parametrize("damage", SPOOL)
def test_damaged_spool_is_answered_with_gaps_or_refused_with_a_remedy(
    recorded: Path, tmp_path: Path, damage: str
) -> None:
    place = tmp_path / "copy"
    shutil.copytree(recorded, place, symlinks=True)
    shutil.rmtree(place / ".provio" / "runs")
    break_it, codes = SPOOL[damage]
    break_it(place)
    done = provio("show", "--json", cwd=place)
    assert done.returncode in codes, done.stderr
    if done.returncode:
        assert "hint:" in done.stderr
    else:
        kinds = {gap["kind"] for gap in json.loads(done.stdout)["gaps"]}
        assert kinds & {"corrupt-evidence", "events-missing", "killed", "undecided"}, (
            "a blank is never 'none'"
        )


def _newer_manifest(place: Path) -> None:
    manifest = _generation(place) / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"version": 9}))


STORE: dict[str, Damage] = {
    "table cut": lambda p: os.truncate(_generation(p) / "accesses.parquet", 100),
    "table foreign": lambda p: _patch(_generation(p) / "accesses.parquet", 0, b"no table"),
    "table gone": lambda p: (_generation(p) / "accesses.parquet").unlink(),
    "manifest torn": lambda p: os.truncate(_generation(p) / "manifest.json", 30),
    "manifest newer": _newer_manifest,
}


@pytest.mark.parametrize("damage", STORE)
@pytest.mark.parametrize("spool", [True, False], ids=["with spool", "without spool"])
def test_damaged_generation_is_made_anew_or_refused_with_a_remedy(
    recorded: Path, tmp_path: Path, damage: str, *, spool: bool
) -> None:
    place = tmp_path / "copy"
    shutil.copytree(recorded, place, symlinks=True)
    STORE[damage](place)
    if not spool:
        shutil.rmtree(place / ".provio" / "spool")
    done = provio("why", "both", "--json", cwd=place)
    assert done.returncode in ({0, 5} if spool else {2, 5}), done.stderr
    if done.returncode:
        assert "hint:" in done.stderr


def test_newer_catalog_or_foreign_files_in_the_store_do_not_matter(recorded: Path, tmp_path: Path) -> None:
    place = tmp_path / "copy"
    shutil.copytree(recorded, place, symlinks=True)
    for name in ("notes.txt", "spool/not-a-run", "runs/README"):
        (place / ".provio" / name).write_text("mine")
    assert provio("runs", "--json", cwd=place).returncode == 0
    assert provio("why", "both", cwd=place).returncode == 0


# Names

NAMES = {
    "space": b"with two  spaces",
    "newline": b"new\nline",
    "not UTF-8": b"caf\xe9-\xff\xfe",
    "quote": b'it\'s "quoted" $HOME `id` \\ back',
    "control": b"\x1b[31mred\x07",
    "4,000 bytes": b"4000",
}


@pytest.mark.parametrize("kind", NAMES)
def test_file_with_an_odd_name_is_recorded_and_found_by_it(tmp_path: Path, kind: str) -> None:
    folder = os.fsencode(tmp_path)
    if kind == "4,000 bytes":
        while len(folder) < 3750:
            folder += b"/" + b"d" * 200
        folder += b"/" + b"e" * (4000 - len(folder) - 1 - 5)
    Path(os.fsdecode(folder)).mkdir(parents=True, exist_ok=True)
    source = folder + b"/" + NAMES[kind]
    Path(os.fsdecode(source)).write_bytes(b"content")
    result = tmp_path / "result"
    copy = "import sys; data = open(sys.argv[1], 'rb').read(); open(sys.argv[2], 'wb').write(data)"
    done = provio("run", "--", sys.executable, "-c", copy, source, str(result), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    answer = json.loads(provio("lineage", "result", "--json", cwd=tmp_path).stdout)
    assert len([n for n in answer["nodes"] if n["type"] != "attempt"]) == 2, answer
    down = provio("lineage", source, "--down", cwd=tmp_path)
    assert down.returncode == 0, down.stderr
    assert "result" in down.stdout
    assert "\x1b[31m" not in down.stdout, "control bytes of a name reach no terminal"
    assert provio("why", source, "--json", cwd=tmp_path).returncode == 0


# Secrets

SNAKEFILE = f"""
rule all:
    input: "out"

rule use:
    output: "out"
    params: token="{TOKEN}", password="hunter2x"
    shell: "MY_TOKEN={TOKEN} sh -c 'echo --token {TOKEN} >/dev/null; echo done > {{output}}'"
"""


ANSWERS = (
    "seal --all", "show --json", "show --files", "why out", "why out --json",
    "lineage out --json", "lineage out --svg -", "lineage out --dot",
)  # fmt: skip


def test_planted_token_appears_nowhere(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    engine = [sys.executable, "-m", "snakemake", "--cores", "1", "--config", f"api_token={TOKEN}"]
    subprocess.run(
        [*engine, "--logger", "provio", "--logger-provio-seal", "no"], cwd=tmp_path, check=True,
        env=environment(tmp_path, {"GITHUB_TOKEN": TOKEN, "API_PASSWORD": "hunter2x"}), capture_output=True,
    )  # fmt: skip
    answers = [provio(*words.split(), cwd=tmp_path) for words in ANSWERS]
    assert [done.stderr for done in answers if done.returncode] == []
    said = [done.stdout for done in answers]
    theirs = {tmp_path / "Snakefile", tmp_path / ".snakemake"}  # all else, the home's caches too, is ours
    written = [p for p in tmp_path.rglob("*") if p.is_file() and not theirs & {p, *p.parents}]
    assert len(written) > 10
    store = Store(tmp_path / ".provio")
    (run,) = store.runs()
    newest = store.newest(run.id)
    assert newest is not None
    rows = [repr(list(newest.rows(table))) for table in TABLES]
    for secret in (TOKEN, "hunter2x"):
        assert [p.name for p in written if secret.encode() in p.read_bytes()] == []
        assert [text[:200] for text in (*said, *rows) if secret in text] == []


# Every kind of file, in every way


def digests(place: Path) -> dict[str, str]:
    """Return the SHA-256 of every stored file (the sealer's own notes in a spool excepted)."""
    files = (p for p in (place / ".provio").rglob("*") if p.is_file() and not p.name.startswith("seal"))
    return {str(p.relative_to(place)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


WAYS: dict[str, Damage] = {
    "empty": lambda path: os.truncate(path, 0),
    # half of what is written: an arena ends in a hole, whose loss loses nothing
    "cut": lambda path: os.truncate(path, len(path.read_bytes().rstrip(b"\0")) // 2),
    "foreign": lambda path: _replaced(path, b"\x7fELF\x02\x01\x01\0" * 700),
    "zeroed": lambda path: _replaced(path, bytes(path.stat().st_size)),
    "a directory": lambda path: (path.unlink(), path.mkdir())[1],
}


def _replaced(path: Path, content: bytes) -> None:
    path.write_bytes(content)


SPOOL_FILES: dict[str, Callable[[Path], Path]] = {
    "records": _records,
    "events": _events,
    "run record": lambda place: _spool(place) / "run.json",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", SPOOL_FILES)
def test_spool_file_broken_in_any_way_is_a_gap_or_an_error_and_stays_as_it_is(
    recorded: Path, tmp_path: Path, kind: str, way: str
) -> None:
    place = tmp_path / "copy"
    shutil.copytree(recorded, place, symlinks=True)
    shutil.rmtree(place / ".provio" / "runs")
    broken = SPOOL_FILES[kind](place)
    WAYS[way](broken)
    before = digests(place)
    done = provio("show", "--json", cwd=place)
    assert done.returncode in {0, 4}, done.stderr
    if done.returncode == 0:
        assert json.loads(done.stdout)["gaps"], "a blank is never 'none'"
    else:
        assert str(broken) in done.stderr, "the message names the file"
        assert "hint:" in done.stderr
    assert before.items() <= digests(place).items()
    assert provio("runs", cwd=place).returncode == 0


@pytest.mark.parametrize("way", WAYS)
def test_each_table_broken_in_any_way_is_refused_by_name_and_stays_as_it_is(
    recorded: Path, tmp_path: Path, way: str
) -> None:
    place = tmp_path / "copy"
    shutil.copytree(recorded, place, symlinks=True)
    shutil.rmtree(place / ".provio" / "spool")
    for table in TABLES:
        path = _generation(place) / f"{table}.parquet"
        sound = path.read_bytes()
        WAYS[way](path)
        before = digests(place)
        with pytest.raises(StoreError, match=rf"{table}\.parquet") as caught:
            list(Generation(_generation(place)).rows(table))
        assert caught.value.hint
        assert digests(place) == before
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        path.write_bytes(sound)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["manifest.json", "accesses.parquet", "files.parquet", "attempts.parquet"])
def test_commands_refuse_a_broken_generation_by_file_with_a_remedy(
    recorded: Path, tmp_path: Path, name: str, way: str
) -> None:
    place = tmp_path / "copy"
    shutil.copytree(recorded, place, symlinks=True)
    shutil.rmtree(place / ".provio" / "spool")
    WAYS[way](_generation(place) / name)
    before = digests(place)
    done = provio("show", cwd=place)
    assert (done.returncode, name in done.stderr, "hint:" in done.stderr) == (5, True, True), done.stderr
    assert digests(place) == before


def test_broken_event_in_the_middle_is_refused_with_its_line(recorded: Path, tmp_path: Path) -> None:
    place = tmp_path / "copy"
    shutil.copytree(recorded, place, symlinks=True)
    shutil.rmtree(place / ".provio" / "runs")
    lines = _events(place).read_bytes().splitlines(keepends=True)
    _events(place).write_bytes(lines[0] + b'{"v":1,"type":\n' + b"".join(lines[1:]))
    done = provio("show", cwd=place)
    assert done.returncode == 4
    assert f"{_events(place)}:2:" in done.stderr


# More names


@pytest.mark.parametrize("name", ["-in", "--out", "-", "--"])
def test_file_whose_name_looks_like_an_option_is_found(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x")
    provio("run", "--no-seal", "--", "cp", f"./{name}", "./--result", cwd=tmp_path)
    assert provio("lineage", "--", "--result", cwd=tmp_path).returncode == 0
    answer = json.loads(provio("why", "--json", "--", "--result", cwd=tmp_path).stdout)
    assert [one["path"] for one in answer["inputs"]] == [str(tmp_path / name)]
    down = provio("lineage", "--down", "--json", f"./{name}", cwd=tmp_path)
    assert str(tmp_path / "--result") in down.stdout


def test_names_that_are_not_utf_8_come_back_as_their_bytes(tmp_path: Path) -> None:
    source, result = (os.fsencode(tmp_path) + name for name in (b"/caf\xe9", b"/out\xff"))
    Path(os.fsdecode(source)).write_bytes(b"x")
    assert provio("run", "--no-seal", "--", "cp", source, result, cwd=tmp_path).returncode == 0
    why = json.loads(provio("why", b"out\xff", "--json", cwd=tmp_path).stdout)
    assert base64.b64decode(why["file"]["path_b64"]) == result
    assert [base64.b64decode(one["path_b64"]) for one in why["inputs"]] == [source]
    shown = provio("show", "--files", cwd=tmp_path).stdout
    assert r"caf\xe9" in shown
    assert r"out\xff" in shown
