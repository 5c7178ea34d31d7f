"""The record of a run: what ``run.json`` in a spool says, written before the first job can start.

Here: the type and its JSON form. Who fills it in is an engine plugin with
``provio.engines.describe_run``; where the file lies is ``provio.engines.spool``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from provio.model.ids import AttemptId, RunId

RUN_FORMAT: Final = "provio.run"
RUN_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run as its engine's process knew it at the start.

    Attributes:
        workflow: identity of the workflow (configured, else VCS remote and path, else the file).
        argv: redacted command line of the engine.
        boot_id: 32 hex digits; uid, user: who runs it.
        pid, start_ticks: the engine's process; with boot_id they tell later whether it lives.
        pidns: inode of its pid namespace, 0 unknown.
        started_real, started_mono: ns of both clocks at one moment.
        mode: aggregate, full, or off.
        tracers: names of the tracers that were armed.
        parent_run, parent_attempt: the attempt inside which this run happens.
        libc: name and version; kernel: release.
    """

    run_id: RunId
    engine: str
    engine_version: str
    workflow: str
    cwd: str
    host: str
    boot_id: str
    pid: int
    start_ticks: int
    started_real: int
    started_mono: int
    name: str = ""
    argv: tuple[str, ...] = ()
    machine_id: str = ""
    uid: int = -1
    user: str = ""
    pidns: int = 0
    mode: str = "aggregate"
    tracers: tuple[str, ...] = ()
    parent_run: RunId | None = None
    parent_attempt: AttemptId | None = None
    provio_version: str = ""
    libc: str = ""
    kernel: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``run.json`` holds."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        started = {"real": plain.pop("started_real"), "mono": plain.pop("started_mono")}
        lists = {"argv": list(self.argv), "tracers": list(self.tracers), "attributes": dict(self.attributes)}
        return {"format": RUN_FORMAT, "version": RUN_VERSION} | plain | lists | {"started": started}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunRecord:
        """Build the record of a ``run.json`` object; unknown fields are left out.

        Raises:
            ValueError: another format, a newer version, or a missing field (the
                reader of the file adds its name).
        """
        if data.get("format") != RUN_FORMAT:
            raise ValueError(f"format is {data.get('format')!r}, not {RUN_FORMAT!r}")
        if data.get("version") != RUN_VERSION:
            raise ValueError(f"version is {data.get('version')!r}; this provio reads version {RUN_VERSION}")
        started = data.get("started") or {}
        if not isinstance(started, Mapping):
            raise ValueError("'started' is not an object")  # noqa: TRY004 - callers catch one type
        flat = dict(data) | {f"started_{clock}": ns for clock, ns in started.items()}
        names = {f.name for f in fields(cls)}
        try:
            return cls(**{k: _frozen(v) for k, v in flat.items() if k in names})
        except TypeError as error:
            raise ValueError(str(error)) from None


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
