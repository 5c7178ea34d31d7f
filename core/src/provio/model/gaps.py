"""Gaps: what could not be seen or said, as facts.

Each kind is a stable, documented word. A blank is never printed as "none":
where a Gap exists, answers carry it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self


class GapKind(StrEnum):
    """Every kind of Gap, with its meaning (docs/reference/gaps.md is generated from this)."""

    STATIC_BINARY = "static-binary", "a statically linked program ran: nothing can be preloaded into it"
    FOREIGN_LIBC = "foreign-libc", "a program of another C library or architecture ran untraced"
    SETUID = "setuid", "a set-user-id program ran: secure execution ignores the tracer"
    SANITIZER = "sanitizer", "an AddressSanitizer program ran: its runtime must come first"
    NO_LIBRARY = "no-library", "the tracer is not reachable in that root or mount namespace"
    RECORDS_LOST = "records-lost", "records were dropped: disk full, limit or unreachable spool"
    STDIO_BYTES = "stdio-bytes", "a buffered stream on a channel: its bytes are the program's count"
    INLINE_SYSCALL = "inline-syscall", "the program makes system calls without libc"
    IO_URING = "io-uring", "the program uses io_uring: its reads and writes are not seen"
    LIMIT = "limit", "a table of the tracer was full"
    UNSHARED = "unshared", "the process changed its root or namespace"
    AIO = "aio", "asynchronous I/O was used"
    NO_ARENA = "no-arena", "no safe place for records: tracing was off"
    NO_TRACER = "no-tracer", "no tracer was armed for this run"
    NODE_EVIDENCE_MISSING = "node-evidence-missing", "records of a node never arrived"
    STILL_RUNNING = "still-running", "a process was alive when the run was sealed"
    ENGINE_NOT_TRACED = "engine-not-traced", "what the engine did itself is known from its events only"
    PRELOAD_PATH = "preload-path", "the tracer's path has a space or colon and no other place served"
    CORRUPT_EVIDENCE = "corrupt-evidence", "part of a spool file could not be read"
    KILLED = "killed", "a process ended without a trace of its end: byte totals are not checked"
    PLUGIN_FAILED = "plugin-failed", "a plugin raised and was disabled for the run"
    CONTRADICTION = "contradiction", "two pieces of evidence disagree"
    UNDECIDED = "undecided", "operations that no evidence ties to a task"
    EVENTS_MISSING = "events-missing", "the engine never said how this attempt ended"
    CGROUP_UNCHECKED = "cgroup-unchecked", "the cgroup directory's inode could not be compared"

    meaning: str

    def __new__(cls, word: str, meaning: str) -> Self:
        """Make a member whose value is the word and which knows its meaning."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.meaning = meaning
        return member


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that is not known.

    Attributes:
        kind: the stable word.
        scope: what it concerns: ``run``, ``attempt:<id>``, ``image:<n>``, ``file:<path>``.
        since: CLOCK_MONOTONIC ns, 0 where not known.
        until: CLOCK_MONOTONIC ns, 0 where open-ended.
        count: how many operations, records or programs.
        detail: one sentence with names.
    """

    kind: GapKind
    scope: str
    since: int = 0
    until: int = 0
    count: int = 1
    detail: str = field(default="")
