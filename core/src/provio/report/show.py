"""The answer of ``show`` as lines: the run, its tasks, what belongs to none, coverage, gaps."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from provio.query.files import FINDINGS, AttemptFiles, FileUse, Status
from provio.query.paths import path_text
from provio.report.coverage import coverage_lines, gap_lines
from provio.report.text import Style, clock, duration, number, percent, plural, size, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from provio.query.show import AttemptAnswer, Bucket, RunAnswer, ShowAnswer, TaskAnswer

ATTEMPTS_LISTED = 60
"""With more, tasks are summed up by rule; ``--all`` lists every attempt."""

_FILES_LISTED = 40
_ORDER = tuple(dict.fromkeys((*FINDINGS, Status.DECLARED, Status.UNKNOWN, *Status)))
_FINDING_TEXT = {
    Status.UNDECLARED_READ: "read but not declared",
    Status.UNDECLARED_WRITE: "written but not declared",
    Status.NEVER_READ: "declared as input but never read",
    Status.NEVER_WRITTEN: "declared as output but never written",
}
_STATUS_COLORS = {
    Status.UNDECLARED_READ: "yellow", Status.UNDECLARED_WRITE: "yellow", Status.NEVER_READ: "yellow",
    Status.NEVER_WRITTEN: "red", Status.SCRATCH: "dim", Status.ABSENT: "dim", Status.LOOKED_AT: "dim",
}  # fmt: skip


def show_lines(answer: ShowAnswer, style: Style, *, every: bool = False) -> list[str]:
    """Return the whole answer."""
    lines = [*run_lines(answer.run, style), ""]
    lines += _task_table(answer.tasks, style, every=every)
    lines += ["", *_bucket_lines(answer)]
    lines += coverage_lines(answer.coverage, style)
    return lines + gap_lines(answer.gaps, style)


def run_lines(run: RunAnswer, style: Style) -> list[str]:
    """Return the head of an answer: which run, in which state, when."""
    engine = " ".join(text for text in (run.engine, run.engine_version) if text) or "unknown engine"
    workflow = path_text(os.fsencode(run.workflow.removeprefix("file:")), os.fsencode(run.cwd))
    first = f"{style.title('Run ' + run.id[:8])}  {style.state(run.state)}  {engine}  {workflow}".rstrip()
    if run.as_of_ns:
        return [first, f"began {clock(run.started_ns)}; as of {clock(run.as_of_ns)}, still running"]
    if run.started_ns and run.ended_ns:
        return [first, f"began {clock(run.started_ns)}, took {duration(run.ended_ns - run.started_ns)}"]
    return [first, f"began {clock(run.started_ns)}, its end was not seen"]


def _task_table(tasks: Sequence[TaskAnswer], style: Style, *, every: bool) -> list[str]:
    attempts = sum(len(task.attempts) for task in tasks)
    if not attempts:
        return ["No task began in this run, as far as the engine said."]
    if every or attempts <= ATTEMPTS_LISTED:
        return _each(tasks, style)
    lines = _by_rule(tasks, style)
    return [*lines, f"{plural(attempts, 'attempt')}; --all lists each, --task NAME one task."]


def _each(tasks: Sequence[TaskAnswer], style: Style) -> list[str]:
    headers = ("task", "try", "state", "time", "CPU", "memory", "I/O", "read", "written", "files r/w")
    tries = try_numbers(tasks)
    rows = [_attempt_row(task, attempt, tries, style) for task in tasks for attempt in task.attempts]
    return table(headers, rows, style, left=(0, 2), drop=("files r/w", "memory", "I/O", "CPU"))


def try_numbers(tasks: Sequence[TaskAnswer]) -> dict[str, str]:
    """Return the try number of each attempt; ``1.2`` is the second inner try of the first one."""
    attempts = {attempt.id: attempt for task in tasks for attempt in task.attempts}
    return {name: _try_number(attempt, attempts) for name, attempt in attempts.items()}


def _try_number(attempt: AttemptAnswer, attempts: dict[str, AttemptAnswer]) -> str:
    outer = attempts.get(attempt.parent or "")
    return f"{_try_number(outer, attempts)}.{attempt.attempt}" if outer else str(attempt.attempt)


def _attempt_row(task: TaskAnswer, attempt: AttemptAnswer, tries: dict[str, str], style: Style) -> list[str]:
    state = style.state(attempt.state)
    if attempt.signal:
        state += f" (signal {attempt.signal})"
    elif attempt.exit_code:
        state += f" ({attempt.exit_code})"
    return [
        label(task), tries[attempt.id], state, duration(attempt.duration_ns), duration(attempt.cpu_ns),
        size(attempt.max_rss_bytes), percent(attempt.io_share) if attempt.io_share is not None else "?",
        size(attempt.bytes_read), size(attempt.bytes_written),
        f"{attempt.files_read}/{attempt.files_written}",
    ]  # fmt: skip


def label(task: TaskAnswer) -> str:
    """Return a task's key for people: ``sort:sample=a``, without a lone colon at the end."""
    return task.physical.rstrip(":") or task.logical


def _by_rule(tasks: Iterable[TaskAnswer], style: Style) -> list[str]:
    groups: dict[str, list[TaskAnswer]] = {}
    for task in tasks:
        groups.setdefault(task.logical, []).append(task)
    rows = []
    for logical, members in groups.items():
        attempts = [attempt for task in members for attempt in task.attempts]
        states = Counter(attempt.state for attempt in attempts)
        rows.append([
            logical, number(len(members)), number(len(attempts)), _states(states, style),
            duration(sum(a.duration_ns or 0 for a in attempts)), _cpu(attempts),
            size(max((a.max_rss_bytes or 0 for a in attempts), default=0) or None),
            size(sum(a.bytes_read for a in attempts)), size(sum(a.bytes_written for a in attempts)),
        ])  # fmt: skip
    headers = ("task", "instances", "tries", "states", "time", "CPU", "peak memory", "read", "written")
    return table(headers, rows, style, left=(0, 3), drop=("peak memory", "CPU", "instances"))


def _states(states: Counter[str], style: Style) -> str:
    return ", ".join(f"{number(count)} {style.state(state)}" for state, count in states.most_common())


def _cpu(attempts: Sequence[AttemptAnswer]) -> str:
    known = [attempt.cpu_ns for attempt in attempts if attempt.cpu_ns is not None]
    return (
        duration(sum(known)) if len(known) == len(attempts) else f"≥ {duration(sum(known))}" if known else "?"
    )


def _bucket_lines(answer: ShowAnswer) -> list[str]:
    return [
        f"Engine itself: {_bucket(answer.engine)}.",
        f"Owned by no task: {_bucket(answer.unattributed)}.",
    ]


def _bucket(bucket: Bucket) -> str:
    if not bucket.operations:
        return "no operation recorded"
    return f"{plural(bucket.operations, 'operation')} by {plural(bucket.processes, 'process', 'processes')}"


def finding_lines(
    uses: Sequence[FileUse],
    tasks: Iterable[TaskAnswer],
    base: bytes,
    style: Style,
    *,
    declares: bool = True,
    every: bool = False,
) -> list[str]:
    """Return what was declared wrongly: one line for each file, with the tasks that it concerns.

    Args:
        uses: from ``query.files.findings``.
        tasks: the tasks of the answer, for their names.
        base: directory to which paths are shown.
        style: width and colour.
        declares: the engine declares files at all.
        every: list all, however many.
    """
    if not declares:
        return ["Declared against observed: the engine declares no files, so there is nothing to compare."]
    if not uses:
        return ["Declared and observed files agree, as far as was seen."]
    owners = {attempt.id: task for task in tasks for attempt in task.attempts}
    groups: dict[tuple[Status, bytes], list[FileUse]] = {}
    for use in uses:
        groups.setdefault((use.status, use.path), []).append(use)
    order = sorted(groups.items(), key=lambda item: (FINDINGS.index(item[0][0]), item[0][1]))
    shown = order if every else order[:_FILES_LISTED]
    lines = [style.title("Declared against observed")]
    lines += [_finding(*key, members, owners, base, style) for key, members in shown]
    if len(order) > len(shown):
        lines.append(f"  … and {plural(len(order) - len(shown), 'file')} more (--all lists them)")
    return lines


def _finding(
    status: Status,
    path: bytes,
    uses: Sequence[FileUse],
    owners: dict[str, TaskAnswer],
    base: bytes,
    style: Style,
) -> str:
    tasks = {owners[use.attempt].physical: owners[use.attempt] for use in uses if use.attempt in owners}
    rules = list(dict.fromkeys(task.logical for task in tasks.values()))
    names = ", ".join(rules[:4]) + (", …" if len(rules) > 4 else "")
    who = label(next(iter(tasks.values()))) if len(tasks) == 1 else f"{names} ({len(tasks)} tasks)"
    total = sum(use.bytes_read or use.bytes_written for use in uses)
    moved = f", {size(total)}" if any(use.operations for use in uses) else ""
    return f"  {_FINDING_TEXT[status]}: {style.paint(path_text(path, base), 'yellow')}  by {who}{moved}"


def attempt_lines(
    task: TaskAnswer,
    attempt: AttemptAnswer,
    files: AttemptFiles,
    base: bytes,
    style: Style,
    *,
    every: bool = False,
) -> list[str]:
    """Return one attempt with its evidence and its files."""
    title = f"{label(task)}  try {attempt.attempt}"
    lines = ["", f"{style.title(title)}  {style.state(attempt.state)}  {style.paint(attempt.id, 'dim')}"]
    methods = ", ".join(
        f"{name.replace('_', ' ')} {number(count)}" for name, count in attempt.attribution.items()
    )
    lines.append(f"  operations {number(attempt.operations)}, attributed by: {methods or 'nothing recorded'}")
    if attempt.message:
        lines.append(f"  the engine said: {attempt.message.splitlines()[0]}")
    return lines + _file_lines(files, base, style, every=every)


def _file_lines(answer: AttemptFiles, base: bytes, style: Style, *, every: bool) -> list[str]:
    told = [use for use in answer.files if every or _is_telling(use, base)]
    listed = sorted(told, key=lambda use: (_ORDER.index(use.status), use.path))
    rows = [_file_row(use, base, style) for use in (listed if every else listed[:_FILES_LISTED])]
    headers = ("file", "as", "status", "read", "written")
    lines = table(headers, rows, style, left=(0, 1, 2), indent="  ") if rows else []
    if not rows:
        lines = ["  no data file was seen in this attempt"]
    if len(listed) > len(rows):
        lines.append(f"  … and {plural(len(listed) - len(rows), 'file')} more (--all lists them)")
    return [*lines, *_left_out(answer, len(answer.files) - len(told))]


def _is_telling(use: FileUse, base: bytes) -> bool:
    """Tell whether a file is worth a line: not what was only looked for or listed elsewhere."""
    if use.status in (Status.LISTED, Status.LOOKED_AT):
        return bool(use.roles)
    return use.status is not Status.ABSENT or bool(use.roles) or use.path.startswith(base.rstrip(b"/") + b"/")


def _left_out(answer: AttemptFiles, untold: int) -> list[str]:
    parts = [f"{number(count)} {kind}" for kind, count in answer.noise.items()]
    if untold:
        parts.append(f"{number(untold)} only looked for, looked at or listed (--all lists them)")
    return [f"  left out: {', '.join(parts)}"] if parts else []


def _file_row(use: FileUse, base: bytes, style: Style) -> list[str]:
    color = _STATUS_COLORS.get(use.status)
    status = use.status.replace("-", " ")
    read = size(use.bytes_read) if use.bytes_read else ("-" if use.operations else "")
    written = size(use.bytes_written) if use.bytes_written else ("-" if use.operations else "")
    return [
        path_text(use.path, base), ",".join(use.roles) or "-",
        style.paint(status, color) if color else status,
        read, written,
    ]  # fmt: skip
