"""Call hooks where a failure must not stop the work: while a run is recorded or sealed.

An implementation that raises is not called again through this Guard, and the
answers say so with a Gap ``plugin-failed``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from provio.errors import PluginError
from provio.model.events import TaskStarted
from provio.model.gaps import Gap, GapKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from provio.model.events import Event
    from provio.plugins.manager import Implementation, Plugins


class Guard:
    """Calls hooks for one run; ``gaps`` collects what failed."""

    def __init__(self, plugins: Plugins) -> None:
        self._plugins = plugins
        self._failed: set[tuple[str, str]] = set()
        self.gaps: list[Gap] = []

    def each(self, hook: str, **values: Any) -> Iterator[tuple[str, Any]]:
        """Yield (plugin, result) of every implementation that works."""
        for implementation in self._plugins.implementations(hook):
            worked, result = self._try(hook, implementation, values)
            if worked:
                yield implementation.plugin, result

    def first(self, hook: str, **values: Any) -> Any:
        """Return the first result that is not None."""
        return next((result for _, result in self.each(hook, **values) if result is not None), None)

    def fail(self, plugin: str, hook: str, error: Exception) -> None:
        """Leave an implementation out from here on, with a Gap."""
        self._failed.add((plugin, hook))
        detail = f"plugin {plugin} was left out: {hook} raised {type(error).__name__}: {error}"
        self.gaps.append(Gap(GapKind.PLUGIN_FAILED, "run", detail=detail))

    def _try(self, hook: str, implementation: Implementation, values: dict[str, Any]) -> tuple[bool, Any]:
        if (implementation.plugin, hook) in self._failed:
            return False, None
        try:
            return True, implementation(**values)
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            self.fail(implementation.plugin, hook, error)
            return False, None


def open_guard() -> Guard:
    """Return a Guard over this environment's plugins; broken ones leave the built-ins, with a Gap."""
    from provio.plugins.manager import Plugins, plugins

    try:
        return Guard(plugins())
    except PluginError as error:
        guard = Guard(Plugins())
        guard.gaps.append(Gap(GapKind.PLUGIN_FAILED, "run", detail=f"no plugin was used: {error.message}"))
        return guard


def site_rule(guard: Guard, events: Iterable[Event]) -> Callable[[Mapping[str, object]], str | None]:
    """Return the rule of all plugins for the reconciler (hook ``provio_attempt_of``).

    An answer that is none of the run's attempts counts as a failure of its plugin.
    """
    attempts = [_described(event) for event in events if isinstance(event, TaskStarted)]
    known = {attempt["attempt"] for attempt in attempts}

    def rule(epoch: Mapping[str, object]) -> str | None:
        for plugin, answer in guard.each("provio_attempt_of", epoch=epoch, attempts=attempts):
            if answer in known:
                return str(answer)
            if answer is not None:
                guard.fail(plugin, "provio_attempt_of", ValueError(f"{answer!r} is no attempt of the run"))
        return None

    return rule


def _described(event: TaskStarted) -> dict[str, Any]:
    return {
        "attempt": event.attempt,
        "logical": event.logical,
        "physical": event.physical,
        "job": event.job,
        "cwd": event.cwd,
        "command": event.command,
        "host": event.stamp.host,
        "attributes": dict(event.attributes),
        "started": event.stamp.mono,
    }
