"""One file's story in sentences. What is not known is said, never left out."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from provio.query.files import Status, in_engine_place
from provio.query.now import Now
from provio.query.paths import path_text
from provio.report.coverage import coverage_sentence, meaning
from provio.report.text import Style, clock, duration, plural, shortened, size, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from provio.query.versions import MakerFact
    from provio.query.why import Earlier, Input, Program, Reader, WhyAnswer

_METHODS = {
    "live": "the process itself said, at that moment, for which attempt it worked",
    "cgroup": "it ran in a control group that this attempt alone owns",
    "carried": "it carried the attempt's id from its start",
    "command_line": "the engine's own command line names the task",
    "ancestor": "an ancestor process belongs to the attempt",
    "working_directory": "it worked in a directory that this attempt alone owns",
    "command_text": "its command is the text that the engine started for this attempt",
    "declared_output": "it wrote a file that this attempt declares as output",
    "site_rule": "a site rule (plugin) assigns it",
}
_ENGINE_ACTS = {
    "delete": "deleted", "protect": "write-protected", "clean": "cleaned up",
}  # fmt: skip
"""Touching is left out: Snakemake sets the time of nearly every output."""
_LISTED = 12


def why_lines(answer: WhyAnswer, style: Style, base: bytes = b"") -> list[str]:
    """Return the story, one paragraph a topic, wrapped to the width."""
    lines = []
    for sentence in sentences(answer, style, base):
        bullet = sentence.startswith("- ")
        lines += wrapped(
            sentence[2:] if bullet else sentence, style, "    " if bullet else "", "  - " if bullet else ""
        )
    return lines


def sentences(answer: WhyAnswer, style: Style | None = None, base: bytes = b"") -> list[str]:
    """Return the story as sentences; list items begin with ``- ``."""
    style = style or Style()
    story = [*_making(answer, style, base), *_names(answer, base), *_inputs(answer, style, base)]
    story += [*_earlier(answer), *_readers(answer), *_engine_acts(answer), *_end(answer), *_now(answer)]
    return [*story, *_limits(answer, style)]


def _making(answer: WhyAnswer, style: Style, base: bytes) -> Iterable[str]:
    """Say who wrote it, when, by which program, on what evidence."""
    name, fact = style.paint(path_text(answer.file, base), "bold"), answer.fact
    if not fact.maker_id:
        what = f" ({size(fact.size)})" if fact.size is not None else ""
        run = answer.run.id[:8]
        yield f"{name}{what} was there before run {run} touched it, or something unseen wrote it."
        yield from _origin(answer)
        return
    extent = f"size {size(fact.size)}" if fact.size is not None else "of unknown size"
    when = f"completed at {clock(fact.closed_ns)}" if fact.closed_ns else "at a time that is not known"
    yield f"{name} ({extent}) was written by {_maker(answer.maker)}, {when}."
    yield from _attempt(answer.maker)
    yield from _program(answer.program, answer.maker)
    yield from _declared(answer)


def _origin(answer: WhyAnswer) -> Iterable[str]:
    if answer.origin is None:
        yield "Its own origin is not in this run's records (--all-runs looks into the other runs)."
        return
    origin = answer.origin
    yield (
        f"Run {origin.run.id[:8]} ({origin.run.engine}) made this content: {_maker(origin.maker)}, "
        f"completed at {clock(origin.fact.closed_ns)}; name, inode, size and time agree."
    )


def _maker(maker: MakerFact | None) -> str:
    """Name a maker: rule, wildcards and try."""
    if maker is None:
        return "a process that no task owns"
    if maker.type == "engine":
        return maker.label
    if maker.type == "process":
        return f"a process that no task owns ({maker.label})"
    wildcards = ", ".join(f"{key}={value}" for key, value in maker.detail["wildcards"].items())
    which = f"task {maker.detail['logical']}" + (f" with {wildcards}" if wildcards else "")
    return f"{which}, try {maker.detail['ordinal']}"


def _attempt(maker: MakerFact | None) -> Iterable[str]:
    if maker is None or maker.type != "attempt":
        return
    detail = maker.detail
    began, ended = detail["started_ns"], detail["ended_ns"]
    if detail["state"] == "running":
        yield f"That try began at {clock(began)} and is still running, so the file may still change."
        return
    took = f"took {duration(ended - began)}" if began and ended else "its duration is not known"
    exit_code = f" (exit code {detail['exit_code']})" if detail["exit_code"] else ""
    yield f"That try began at {clock(began)}, {took} and {_outcome(detail['state'])}{exit_code}."


def _outcome(state: str) -> str:
    outcomes = {
        "succeeded": "succeeded",
        "failed": "failed",
        "cancelled": "was cancelled",
        "lost": "never reported an end",
    }
    return outcomes.get(state, f"is {state}")


def _program(program: Program | None, maker: MakerFact | None) -> Iterable[str]:
    if program is None:
        yield "Which program wrote it was not seen."
        return
    command = (
        shortened(shlex.join(program.argv), 160) if program.argv else path_text(program.exe) or "unknown"
    )
    yield f"The program was `{command}` (process {program.pid or 'unknown'})."
    if maker is None or maker.type != "attempt":
        yield "No evidence ties that process to a task."
        return
    reason = _METHODS.get(program.method, f"method {program.method or 'unknown'}")
    detail = program.evidence[0][2] if program.evidence and program.evidence[0][2] else ""
    said = f" ({detail})" if detail else ""
    others = len({piece[0] for piece in program.evidence}) - 1
    also = ""
    if others > 0 and not program.contradictions:
        also = f"; {plural(others, 'other kind')} of evidence {'agrees' if others == 1 else 'agree'}"
    sure = "proved" if program.confidence == "proved" else f"only {program.confidence}"
    yield f"It belongs to that try because {reason}{said}; this is {sure}{also}."
    if program.contradictions:
        yield f"But {plural(len(program.contradictions), 'piece')} of evidence disagree: " + "; ".join(
            f"{method.replace('_', ' ')} names {attempt[:8]} ({text})"
            for method, attempt, text in program.contradictions
        ) + "."  # fmt: skip


def _declared(answer: WhyAnswer) -> Iterable[str]:
    if answer.maker is None or answer.maker.type != "attempt" or answer.declared is None:
        return
    if answer.declared.status is Status.DECLARED:
        yield f"The task declares it ({', '.join(answer.declared.roles)})."
    elif answer.declared.status is Status.UNKNOWN:
        yield "The engine declares no files for this task."
    else:
        yield "The task does not declare it."


def _names(answer: WhyAnswer, base: bytes) -> Iterable[str]:
    former = [path_text(name, base) for name in answer.names]
    if former:
        yield f"It was first named {former[0]}" + "".join(f", then {name}" for name in former[1:]) + "."


def _inputs(answer: WhyAnswer, style: Style, base: bytes) -> Iterable[str]:
    if not answer.fact.maker_id:
        return
    if answer.inputs:
        yield f"It was made from {plural(len(answer.inputs), 'file')}:"
        yield from _input_items(answer.inputs, style, base)
    elif answer.possible:
        yield "No input is proved."
    else:
        yield "No input was seen to flow into it: as recorded, its writer read no data file before."
    if answer.possible:
        yield f"The order of events allows {plural(len(answer.possible), 'more input')}, without proof:"
        yield from _input_items(answer.possible, style, base)


def _input_items(inputs: Sequence[Input], style: Style, base: bytes) -> Iterable[str]:
    for item in inputs[:_LISTED]:
        moved = f"{size(item.bytes)} read" if item.bytes is not None else "bytes read unknown"
        if item.mapped and not item.bytes:
            moved = "mapped into memory"
        maker = f"made by {_maker(item.maker)}" if item.fact.maker_id else _unmade(item.fact.path)
        undeclared = f", {style.paint('not declared', 'yellow')}" if item.declared is False else ""
        yield f"- {path_text(item.fact.path, base)}: {moved}, {maker}{undeclared}"
    if len(inputs) > _LISTED:
        yield f"- … and {plural(len(inputs) - _LISTED, 'more file')} (--json lists all)"


def _unmade(path: bytes) -> str:
    """Say where content without a maker comes from."""
    if in_engine_place(path):
        return "in the engine's own directory"
    return "there before this run, or made unseen"


def _earlier(answer: WhyAnswer) -> Iterable[str]:
    for item in answer.earlier[:_LISTED]:
        yield _earlier_sentence(item)
    if len(answer.earlier) > _LISTED:
        more = plural(len(answer.earlier) - _LISTED, "still earlier content")
        yield f"{more} had this name (--json lists all)."


def _engine_acts(answer: WhyAnswer) -> Iterable[str]:
    for act in answer.engine_acts:
        if act.action == "touch":
            continue
        done = _ENGINE_ACTS.get(act.action, act.action)
        yield f"The engine {done} a file of this name at {clock(act.at_ns)}."


def _earlier_sentence(item: Earlier) -> str:
    fate = {
        "unlinked": ", which was deleted",
        "replaced": ", which was replaced",
        "overwritten": ", which was overwritten",
    }
    end = fate.get(item.fact.ended, "")
    if not item.fact.maker_id:
        return f"Before that, the name held content from before this run ({size(item.fact.size)}){end}."
    failed = item.maker is not None and item.maker.detail.get("state") == "failed"
    outcome = " (that try failed)" if failed else ""
    return f"Earlier, {_maker(item.maker)}{outcome} wrote {size(item.fact.size)} under this name{end}."


def _readers(answer: WhyAnswer) -> Iterable[str]:
    if not answer.readers:
        yield "Nobody was seen to read this content since."
        return
    yield f"Since then it was read by {_reader_list(answer.readers)}."


def _reader_list(readers: Sequence[Reader]) -> str:
    texts = []
    for reader in readers[:_LISTED]:
        when = f" at {clock(reader.first_ns)}" if reader.first_ns else ""
        texts.append(f"{reader.label} ({size(reader.bytes)}{when})")
    more = len(readers) - _LISTED
    return ", ".join(texts) + (f" and {plural(more, 'other')}" if more > 0 else "")


def _end(answer: WhyAnswer) -> Iterable[str]:
    gone = {"unlinked": "deleted", "replaced": "replaced by another file", "overwritten": "overwritten"}
    if answer.fact.ended in gone:
        yield f"This content no longer exists: it was {gone[answer.fact.ended]}."


def _now(answer: WhyAnswer) -> Iterable[str]:
    """Say where the file of that name is another than the one of the story."""
    now = answer.now
    if now is None or now.state is Now.SAME:
        return
    if now.state is Now.ABSENT:
        yield "No file of this name is there now: it was deleted or moved after the run, or unseen."
        return
    found = f"{size(now.size)}, changed at {clock(now.mtime_ns)}"
    if now.state is Now.CHANGED:
        yield f"The file there now has another content ({found}), written after the run, or unseen."
    else:
        yield f"The file there now was written or touched after the run ({found}): it may be another content."


def _limits(answer: WhyAnswer, style: Style) -> Iterable[str]:
    """End with what limits the answer."""
    if answer.run.as_of_ns:
        yield f"The run is still going on; this is the answer as of {clock(answer.run.as_of_ns)}."
    yield coverage_sentence(answer.coverage, style)
    if answer.gaps:
        yield "What could not be seen, and might change this answer:"
    for gap in answer.gaps[:_LISTED]:
        yield f"- {style.paint(gap.kind, 'yellow')}: {gap.detail or meaning(gap.kind)}"
