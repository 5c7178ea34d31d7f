"""What a live Snakemake job says about itself: key, kind, command, declarations, attributes.

Here: reading only; every function takes a job (or part of one) of Snakemake and
gives plain values. The objects are Snakemake's own and untyped, hence ``Any``.
What is done with the values is in ``_session``.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from typing import TYPE_CHECKING, Any, Final

from provio.model.events import Declared

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FLAGS: Final = (
    "temp", "protected", "directory", "pipe", "service", "touch", "ancient", "update", "nodelocal", "ensure",
)  # fmt: skip
"""Flags of a declared file that say how Snakemake will treat it."""

TEXT_LIMIT: Final = 4000
"""Characters kept of a parameter's text; data frames and the like are cut."""


def physical_key(job: Any) -> str:
    """Return the key of a job within its run: ``rule`` or ``rule:k=v,k2=v2``."""
    wildcards = wildcards_of(job)
    if not wildcards:
        return str(job.rule.name)
    return f"{job.rule.name}:" + ",".join(f"{k}={_quoted(v)}" for k, v in sorted(wildcards.items()))


def _quoted(value: str) -> str:
    """Return a wildcard's value so that no two sets of wildcards give one key."""
    return json.dumps(value) if set(value) & set(',="\n') else value


def wildcards_of(job: Any) -> dict[str, str]:
    """Return the wildcards of a job."""
    return {str(k): str(v) for k, v in (job.wildcards_dict or {}).items()}


def kind(job: Any) -> str:
    """Return how the rule says what to do: shell, script, run, ..."""
    kinds = ("is_shell", "is_script", "is_notebook", "is_wrapper", "is_cwl", "is_template_engine")
    found = [name[3:] for name in kinds if getattr(job, name, False)]
    if found:
        return found[0]
    return "none" if getattr(job, "is_norun", False) else "run"


def command(job: Any) -> str:
    """Return the command text of a job: the shell command, or the script's name."""
    rule = job.rule
    if job.is_shell:
        return str(job.shellcmd or "")
    named = rule.script or rule.notebook or rule.wrapper or rule.cwl or rule.template_engine
    return str(named or "")


def declared(job: Any, cwd: str) -> tuple[Declared, ...]:
    """Return all that a job declares; paths are absolute."""
    # A rule without an action reads nothing: what it lists are targets, not inputs.
    given = "target" if kind(job) == "none" else "input"
    return (
        *_files(given, job.input, cwd),
        *_files("output", job.output, cwd),
        *_files("log", job.log, cwd),
        *([_file("benchmark", "", job.benchmark, cwd)] if job.benchmark else ()),
        *_scripts(job, cwd),
        *_streams(),
        *(Declared("param", _text(value), name or "") for name, value in _items(job.params)),
        *(Declared("resource", _text(v), k) for k, v in _resources(job).items()),
    )


def attributes(job: Any) -> dict[str, Any]:
    """Return what else is worth knowing: wildcards, threads, resources, environments."""
    rule = job.rule
    found = {
        "wildcards": wildcards_of(job),
        "threads": job.threads,
        "resources": _resources(job),
        "shadow": getattr(rule, "shadow_depth", None),
        "conda": rule.conda_env and str(rule.conda_env),
        "container": rule.container_img and str(rule.container_img),
        "envmodules": rule.env_modules and str(rule.env_modules),
        "checkpoint": job.is_checkpoint or None,
        "group": getattr(job, "group", None) and str(job.group),
    }
    return {name: value for name, value in found.items() if value is not None}


def exit_status(error: BaseException) -> int | None:
    """Return the exit status of the command whose failure led to this error; negative for a signal."""
    seen: set[int] = set()
    todo: list[BaseException | None] = [error]
    while todo:
        here = todo.pop()
        if here is None or id(here) in seen:
            continue
        seen.add(id(here))
        if isinstance(here, subprocess.CalledProcessError):
            return int(here.returncode)
        todo += [here.__context__, here.__cause__]
    return None


def error_text(error: BaseException) -> str:
    """Return an error as one text, as Snakemake shows it where it has formed one."""
    text = str(error).strip() or str(error.__context__ or "")
    return f"{type(error).__name__}: {text}"[:TEXT_LIMIT]


def _items(namedlist: Any) -> Iterator[tuple[str | None, Any]]:
    if hasattr(namedlist, "_allitems"):
        yield from namedlist._allitems()  # noqa: SLF001 - the names are nowhere else
    else:
        yield from ((None, value) for value in namedlist or ())


def _files(role: str, namedlist: Any, cwd: str) -> Iterator[Declared]:
    for name, value in _items(namedlist):
        for item in value if isinstance(value, (list, tuple)) else [value]:
            yield _file(role, name or "", item, cwd)


def _file(role: str, name: str, item: Any, cwd: str) -> Declared:
    flags: Mapping[str, Any] = getattr(item, "flags", {})
    path = os.path.normpath(os.path.join(cwd, str(item)))  # noqa: PTH118 - odd names stay as they are
    return Declared(role, path, name, tuple(flag for flag in FLAGS if flags.get(flag)))


def _scripts(job: Any, cwd: str) -> Iterator[Declared]:
    """Yield the script or notebook of a job, and where Snakemake puts the copy that is executed."""
    rule = job.rule
    text = rule.script or rule.notebook
    if text and isinstance(text, (str, os.PathLike)):
        name = os.fspath(text)
        if "{" in name:
            name = job.format_wildcards(name)
        if "://" not in name:
            base = rule.basedir.get_path_or_uri(secret_free=True) if rule.basedir else cwd
            name = os.path.normpath(os.path.join(base, name))  # noqa: PTH118
        yield Declared("script", name)
    if text or rule.wrapper:
        yield Declared("script", f"{cwd}/.snakemake/scripts", "copy", ("directory",))


def _streams() -> Iterator[Declared]:
    """Yield the files that this process, and so each of its jobs, has as stdin, stdout and stderr."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        with contextlib.suppress(OSError):
            path = os.readlink(f"/proc/self/fd/{number}")  # noqa: PTH115 - a magic link
            if path.startswith("/") and not path.startswith("/dev/"):
                yield Declared("environment", path, name)


def _resources(job: Any) -> dict[str, Any]:
    """Return the resources of a job that are numbers or texts, without Snakemake's internal ones."""
    pairs = ((str(k), v) for k, v in job.resources.items())
    return {k: v for k, v in pairs if not k.startswith("_") and isinstance(v, (int, float, str))}


def _text(value: Any) -> str:
    """Return a parameter as text; whatever it is, this does not raise."""
    try:
        return (value if isinstance(value, str) else repr(value))[:TEXT_LIMIT]
    except Exception as error:  # noqa: BLE001 - a user's __repr__
        return f"<{type(value).__name__}: {type(error).__name__}>"
