"""The hooks of this plugin; each imports its part when called, so that loading costs nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from provio import hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import click

    from provio.engines.checks import Check
    from provio.tracers.base import TracerReader

_BADGE = re.compile(r"\bbadge:\d+")


@hookimpl
def provio_tracers() -> Sequence[TracerReader]:
    from provio_textlog.reader import READER

    return [READER]


@hookimpl
def provio_attempt_of(epoch: Mapping[str, Any], attempts: Sequence[Mapping[str, Any]]) -> str | None:
    job = epoch["environment"].get("SITE_JOB")
    owners = [attempt["attempt"] for attempt in attempts if job and attempt["physical"] == job]
    return owners[0] if len(owners) == 1 else None


@hookimpl
def provio_redact(text: str) -> str:
    return _BADGE.sub("badge:***", text)


@hookimpl
def provio_commands() -> Sequence[click.Command]:
    from provio_textlog.command import textlog

    return [textlog]


@hookimpl
def provio_doctor() -> Sequence[Check]:
    from provio.engines.checks import Check, State

    return [Check("textlog", State.OK, "files *.textlog in a spool are read")]
