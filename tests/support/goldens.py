"""Read golden evidence, and say in few words what was concluded from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from provio.model.events import from_json
from provio.model.evidence import ChannelUse, Epoch, Evidence, FileSeen, Image, Touch
from provio.reconcile import reconcile

if TYPE_CHECKING:
    from collections.abc import Mapping


def load_evidence(data: Mapping[str, Any]) -> Evidence:
    """Build the evidence that ``tests/golden/reconcile/record.py`` wrote."""
    return Evidence(
        run=data["run"],
        events=tuple(from_json(e) for e in data["events"]),
        images=tuple(_image(i) for i in data["images"]),
        epochs=tuple(Epoch(**e) for e in data["epochs"]),
        files=tuple(FileSeen(**f | {"paths": tuple(p.encode() for p in f["paths"])}) for f in data["files"]),
        touches=tuple(_touch(row) for row in data["touches"]),
        channels=tuple(ChannelUse(*row) for row in data["channels"]),
        over=data["over"],
    )


def _image(data: Mapping[str, Any]) -> Image:
    texts = {name: data[name].encode() for name in ("exe", "cwd")}
    rows = {name: tuple(tuple(r) for r in data[name]) for name in ("environment", "ancestors")}
    return Image(**dict(data) | texts | rows | {"argv": tuple(a.encode() for a in data["argv"])})


def _touch(row: list[Any]) -> Touch:
    touch: Any = Touch(*row)
    return touch._replace(path=touch.path.encode(), path2=touch.path2.encode())  # type: ignore[no-any-return]


def conclusions(evidence: Evidence) -> dict[str, Any]:
    """Return versions as [path, ordinal, program, how it ended], derivations by name, and coverage."""
    facts = reconcile(evidence)
    programs = {e.epoch: evidence.images[e.image].exe.rpartition(b"/")[2].decode() for e in evidence.epochs}
    ways = {f"{a.scope}: {a.method.name.lower() if a.method else ''}" for a in facts.attributions}
    label = {v.version: f"{v.path.decode()}#{v.ordinal}" for v in facts.versions}
    return {
        "attempts": [[a.logical, a.state] for a in facts.attempts],
        "owners": sorted(ways),
        "versions": [
            [v.path.decode(), v.ordinal, programs.get(v.writer, "external"), v.ended] for v in facts.versions
        ],
        "derived": [[label[d.output], label[d.input]] for d in facts.derivations],
        "gaps": [[g.kind, g.scope.partition(":")[0]] for g in facts.gaps],
    }
