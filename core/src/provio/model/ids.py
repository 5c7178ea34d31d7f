"""Identifiers: opaque 128-bit values, written as 32 hexadecimal digits.

Run and attempt ids are minted where the run or the try begins; everything
readable (rule, wildcards, ordinal) is an attribute, never part of an id.
"""

from __future__ import annotations

import os
from typing import Final, NewType

from provio.errors import UsageError

RunId = NewType("RunId", str)
AttemptId = NewType("AttemptId", str)

ENGINE: Final = AttemptId("0" * 32)
"""Stands for the engine itself where an attempt id is expected."""

_HEX = frozenset("0123456789abcdef")


def new_run_id() -> RunId:
    """Mint a run id."""
    return RunId(os.urandom(16).hex())


def new_attempt_id() -> AttemptId:
    """Mint an attempt id; never equal to ``ENGINE``."""
    return AttemptId(os.urandom(16).hex())


def task_token(run: RunId, attempt: AttemptId) -> str:
    """Return the value of ``PROVIO_TASK``: ``<run-id>/<attempt-id>``."""
    return f"{run}/{attempt}"


def parse_task_token(token: str) -> tuple[RunId, AttemptId]:
    """Split a ``PROVIO_TASK`` value.

    Raises:
        UsageError: it is not two ids of 32 hexadecimal digits.
    """
    run, slash, attempt = token.partition("/")
    if not (slash and is_id(run) and is_id(attempt)):
        raise UsageError(
            f"not a task token: {token[:80]!r}",
            hint="PROVIO_TASK is <run-id>/<attempt-id>, each 32 hexadecimal digits; provio itself sets it",
        )
    return RunId(run), AttemptId(attempt)


def is_id(text: str) -> bool:
    """Tell whether text has the form of an id."""
    return len(text) == 32 and _HEX.issuperset(text)
