"""``provio demo``: run a small real workflow with Snakemake, and show what provio finds in it.

Here: copying the example, running it, and choosing what to ask. The answers come
from ``provio.query`` and look as the commands named at the end show them. The
example itself is ``examples/das`` in the source tree, ``provio/_examples/das``
in an installed package.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from provio.cli._answers import open_run, style
from provio.cli._options import Command, emit_json, emit_lines, json_option, note
from provio.errors import SetupError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from provio.query.files import FileUse
    from provio.query.lineage import LineageAnswer
    from provio.query.show import ShowAnswer, TaskAnswer
    from provio.query.why import WhyAnswer
    from provio.store.generation import Generation

NEEDED: Final = ("snakemake", "numpy", "h5py", "duckdb")
PRODUCT: Final = "results/figure.png"
PICTURE: Final = "lineage.svg"
LOG: Final = "snakemake.log"
NEXT: Final = (
    ("provio show --task decimate", "the files of one rule, declared or not"),
    ("provio lineage raw/0001.das --down --depth 0", "everything that was made from one raw file"),
    ("provio why results/stack.h5 --json", "one file's story as data"),
)


@click.command(
    cls=Command,
    examples=(
        "provio demo                        in ./provio-demo",
        "provio demo --directory /tmp/das   elsewhere",
    ),
    exits="0 fine, 2 the directory is not empty, 3 a needed package is missing or the workflow failed.",
)
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("provio-demo"),
    show_default=True,
    metavar="DIR",
    help="Where to put the workflow, its results and its store.",
)
@click.option("--force", is_flag=True, help="Empty the directory first if an earlier demo is in it.")
@json_option
def command(*, directory: Path, force: bool, as_json: bool) -> int:
    """Run a small real workflow with Snakemake and show what provio finds in it.

    A seismic chain from raw acoustic files to a figure, in which one rule reads
    a file that it does not declare, one declares a file that it never reads, and
    one job fails once. Takes about ten seconds.
    """
    _check_needs()
    folder = _prepare(directory, force=force)
    _run(folder)
    answers = Answers(open_run(str(folder / ".provio"), None), folder)
    answers.write_picture()
    if as_json:
        emit_json(answers.to_json())
    else:
        emit_lines(answers.lines(_shown(directory)))
    return 0


class Answers:
    """What the demo asks of its run.

    Args:
        source: the generation of the run.
        folder: the directory of the workflow.
    """

    def __init__(self, source: Generation, folder: Path) -> None:
        from provio.query.files import findings
        from provio.query.lineage import lineage
        from provio.query.paths import resolve
        from provio.query.show import show
        from provio.query.why import why

        self.folder = folder
        product = resolve(source, os.fsencode(folder / PRODUCT))
        self.show: ShowAnswer = show(source)
        self.findings: list[FileUse] = findings(source)
        self.why: WhyAnswer = why(source, product)
        self.lineage: LineageAnswer = lineage(source, product, direction="up", depth=0)

    def write_picture(self) -> None:
        """Write the lineage of the product as SVG."""
        from provio.report.svg import svg

        (self.folder / PICTURE).write_text(svg(self.lineage, self._base), encoding="utf-8")

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document (docs/reference/json.md)."""
        return {
            "version": 1,
            "directory": str(self.folder),
            "show": self.show.to_json(),
            "findings": [use.to_json() for use in self.findings],
            "retried": [task.to_json() for task in self._retried()],
            "why": self.why.to_json(),
            "lineage": self.lineage.to_json(),
            "picture": str(self.folder / PICTURE),
            "next": [line for line, _ in NEXT],
        }

    def lines(self, directory: str) -> Iterator[str]:
        """Yield the summary; ``directory`` is how the person reaches it."""
        from provio.report.lineage import tree_lines
        from provio.report.show import show_lines
        from provio.report.why import why_lines

        look = style()
        yield from show_lines(self.show, look)
        yield from _section("What was planted, and found", look.title, self._surprises())
        yield from _section(f"provio why {PRODUCT}", look.title, why_lines(self.why, look, self._base))
        tree = tree_lines(self.lineage, look, self._base)
        yield from _section(f"provio lineage {PRODUCT} --depth 0", look.title, tree)
        yield f"Wrote {Path(directory) / PICTURE}."
        width = max(len(line) for line, _ in NEXT)
        tries = (f"  {line:{width}}   {what}" for line, what in NEXT)
        yield from _section(f"Try next, in {directory}", look.title, tries)

    @property
    def _base(self) -> bytes:
        return os.fsencode(self.folder)

    def _surprises(self) -> Iterator[str]:
        """Yield the findings by file with the rules they concern, and the job that was retried."""
        rules = {one.id: task.logical for task in self.show.tasks for one in task.attempts}
        by_file: dict[tuple[str, bytes], list[str]] = {}
        for use in self.findings:
            by_file.setdefault((str(use.status), use.path), []).append(rules.get(use.attempt, "?"))
        for (status, path), owners in sorted(by_file.items()):
            yield f"  {_finding(status, os.path.relpath(os.fsdecode(path), self.folder), owners)}"
        for task in self._retried():
            states = ", then ".join(one.state for one in task.attempts)
            yield f"  {task.physical} was tried {len(task.attempts)} times: {states}"

    def _retried(self) -> list[TaskAnswer]:
        return [task for task in self.show.tasks if len(task.attempts) > 1]


def _finding(status: str, path: str, owners: list[str]) -> str:
    rules = ", ".join(sorted(set(owners)))
    jobs = "1 job" if len(owners) == 1 else f"{len(owners)} jobs"
    texts = {
        "undeclared-read": f"{path} is read by rule {rules} ({jobs}), which does not declare it",
        "undeclared-write": f"{path} is written by rule {rules} ({jobs}), which does not declare it",
        "never-read": f"{path} is declared as an input by rule {rules}, which never reads it",
        "never-written": f"{path} is declared as an output by rule {rules}, which never writes it",
    }
    return texts.get(status, f"{path}: {status} ({rules})")


def _section(title: str, paint: Any, lines: Iterable[str]) -> Iterator[str]:
    yield ""
    yield str(paint(title))
    yield from lines


def _check_needs() -> None:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise SetupError(
            f"the demo needs {', '.join(missing)}, not installed for {sys.executable}",
            hint="pip install 'provio[demo]'",
        )


def _example() -> Path:
    """Return the directory of the example: in the package, else in the source tree around it."""
    package = Path(__file__).resolve().parents[1]
    for place in (package / "_examples" / "das", *(p / "examples" / "das" for p in package.parents[:4])):
        if (place / "Snakefile").is_file():
            return place
    raise SetupError("the example is not part of this installation", hint="install provio from a wheel")


def _prepare(directory: Path, *, force: bool) -> Path:
    """Copy the example and make its data; return the absolute directory."""
    folder = Path(os.path.abspath(directory))  # noqa: PTH100 - a link of the user's stays one
    if folder.exists() and any(folder.iterdir()):
        _empty(folder, directory, force=force)
    skip = shutil.ignore_patterns("__pycache__", ".provio", ".snakemake", "work", "results", "logs", "raw")
    shutil.copytree(_example(), folder, dirs_exist_ok=True, ignore=skip)
    note(f"Making the data in {directory} ...")
    _call([sys.executable, "make_data.py"], folder, folder / LOG, "the data could not be made")
    return folder


def _empty(folder: Path, directory: Path, *, force: bool) -> None:
    """Remove an earlier demo; nothing else is ever removed."""
    if not (folder / "make_data.py").is_file() or not (folder / "Snakefile").is_file():
        raise UsageError(f"{directory} holds something else than a demo", hint="choose another --directory")
    if not force:
        raise UsageError(
            f"{directory} holds an earlier demo", hint="--force empties it, --directory chooses another"
        )
    shutil.rmtree(folder)


def _run(folder: Path) -> None:
    note("Running the workflow: snakemake --cores 2 --logger provio ...")
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--logger", "provio"]
    command += ["--logger-provio-store", str(folder / ".provio")]
    _call(command, folder, folder / LOG, "the workflow failed")


def _call(command: list[str], folder: Path, log: Path, failure: str) -> None:
    """Run a command in the demo's directory, its output in a log."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PROVIO_", "SNAKEMAKE_"))}
    with log.open("ab") as out:
        done = subprocess.run(command, cwd=folder, env=environment, stdout=out, stderr=out, check=False)
    if done.returncode:
        tail = log.read_text(errors="replace").splitlines()[-12:]
        raise SetupError(
            f"{failure} (exit code {done.returncode}):\n" + "\n".join(tail), hint=f"the whole log is {log}"
        )


def _shown(directory: Path) -> str:
    return str(directory)
