"""What lies under a file's name now, against the content that a run recorded.

A story of content that is gone would be taken for the story of the file. The
only module of ``query`` that looks at a workflow's file, and only by ``stat``:
a time set by ``touch`` is no new content, so a later time is told as what it is.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from provio.query.why import WhyAnswer


class Now(StrEnum):
    """How the file is now: as recorded, another content, written later, not there."""

    SAME = "same"
    CHANGED = "changed"
    LATER = "later"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class NowFact:
    """The file as it is on this machine now; size and time None where it is absent."""

    state: Now
    size: int | None = None
    mtime_ns: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {"state": str(self.state), "size": self.size, "mtime_ns": self.mtime_ns}


def now_of(answer: WhyAnswer) -> NowFact | None:
    """Compare the file with its recorded content; None where nothing follows from that.

    Nothing does while the run goes on, for content that the run itself saw end,
    and for what is not a regular file or cannot be looked at.
    """
    fact = answer.fact
    if answer.run.as_of_ns or fact.ended or fact.size is None:
        return None
    try:
        found = os.lstat(fact.path)
    except FileNotFoundError:
        return NowFact(Now.ABSENT)
    except (OSError, ValueError):
        return None
    if not S_ISREG(found.st_mode):
        return None
    return NowFact(_state(answer, found), found.st_size, found.st_mtime_ns)


def _state(answer: WhyAnswer, found: os.stat_result) -> Now:
    if found.st_size != answer.fact.size:
        return Now.CHANGED
    if answer.run.ended_ns and found.st_mtime_ns > answer.run.ended_ns:
        return Now.LATER
    return Now.SAME
