"""Call hooks where a failure must not stop the work: while a run is recorded or sealed.

An implementation that raises is not called again through this Guard, and the
answers say so with a Gap ``plugin-failed``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from provio.model.gaps import Gap, GapKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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


def attempt_rule(guard: Guard) -> Any:
    """Return the site rule for the reconciler: (epoch, attempts) -> attempt id or None.

    An answer that is none of the attempts counts as a failure of its plugin.
    """

    def rule(epoch: Mapping[str, Any], attempts: Sequence[Mapping[str, Any]]) -> str | None:
        known = {attempt["attempt"] for attempt in attempts}
        for plugin, answer in guard.each("provio_attempt_of", epoch=epoch, attempts=attempts):
            if answer in known:
                return str(answer)
            if answer is not None:
                guard.fail(plugin, "provio_attempt_of", ValueError(f"{answer!r} is no attempt of the run"))
        return None

    return rule
