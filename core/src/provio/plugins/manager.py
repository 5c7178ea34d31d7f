"""The plugin manager: find plugins, check them, call their hooks.

Theory of operation. Nothing is loaded before the first question. Then the
built-ins are registered, and after them the entry points of the group
``provio``; one that cannot be imported, or that has a hook which does not exist
or takes an unknown argument, is a ``PluginError`` that names plugin and
distribution. Hooks are called one implementation at a time, so that a failure
has a name; ``Guard`` (used while recording and sealing) turns it into a Gap and
leaves the plugin out for the rest of the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import metadata
from inspect import getdoc
from typing import TYPE_CHECKING, Any, Final

import pluggy

from provio.errors import PluginError
from provio.plugins import builtins, hookspecs
from provio.plugins.marker import PROJECT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import click

    from provio.engines.checks import Check
    from provio.tracers.base import TracerReader

BUILTIN: Final = "builtin"


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """One plugin: where it comes from and what it implements."""

    name: str
    distribution: str
    version: str
    builtin: bool
    hooks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Implementation:
    """One plugin's implementation of one hook."""

    plugin: str
    function: Callable[..., Any]
    arguments: tuple[str, ...]

    def __call__(self, **values: Any) -> Any:
        """Call it with those arguments that it takes."""
        return self.function(**{name: values[name] for name in self.arguments})


class Plugins:
    """Registered plugins. Tests make their own; programs use ``plugins()``."""

    def __init__(self) -> None:
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(hookspecs)
        self._origins: dict[str, tuple[str, str]] = {}
        self.register(builtins, BUILTIN, PROJECT, "")

    def register(self, plugin: object, name: str, distribution: str = "", version: str = "") -> None:
        """Add a plugin.

        Raises:
            PluginError: the name is taken, a hook is misspelt or takes an argument that does not exist.
        """
        try:
            self._manager.register(plugin, name)
            self._manager.check_pending()
        except (pluggy.PluginValidationError, ValueError) as error:
            if self._manager.get_plugin(name) is plugin:
                self._manager.unregister(plugin)
            raise _refused(name, distribution, error) from error
        self._origins[name] = (distribution, version)

    def infos(self) -> list[PluginInfo]:
        """Return every plugin in the order of registration."""
        return [
            PluginInfo(name, *self._origins[name], name == BUILTIN, tuple(sorted(self._hooks_of(plugin))))
            for name, plugin in self._manager.list_name_plugin()
        ]

    def implementations(self, hook: str) -> list[Implementation]:
        """Return who implements a hook, in the order in which they are asked."""
        caller = getattr(self._manager.hook, hook)
        return [
            Implementation(found.plugin_name, found.function, tuple(found.argnames))
            for found in reversed(caller.get_hookimpls())
        ]

    def _hooks_of(self, plugin: object) -> Iterator[str]:
        for caller in self._manager.get_hookcallers(plugin) or ():
            yield caller.name


@cache
def plugins() -> Plugins:
    """Return the plugins of this installation.

    Raises:
        PluginError: one cannot be loaded.
    """
    found = Plugins()
    for point in sorted(entry_points(), key=lambda p: p.name):
        distribution, version = (point.dist.name, point.dist.version) if point.dist else ("", "")
        found.register(_load(point, distribution), point.name, distribution, version)
    return found


def entry_points() -> metadata.EntryPoints:
    """Return what distributions of this environment announce; nothing is imported."""
    return metadata.entry_points(group=PROJECT)


def _load(point: metadata.EntryPoint, distribution: str) -> Any:
    try:
        return point.load()
    except Exception as error:
        raise PluginError(
            f"plugin {point.name!r} of {distribution or 'an unknown distribution'} cannot be loaded: "
            f"{type(error).__name__}: {error}",
            hint=f"update it, or: python -m pip uninstall {distribution or point.name}",
        ) from error


def _refused(name: str, distribution: str, error: Exception) -> PluginError:
    where = f"plugin {name!r}" + (f" of {distribution}" if distribution else "")
    return PluginError(
        f"{where} does not fit: {' '.join(str(error).split())}",
        hint="'provio plugins --hooks' lists the hooks",
    )


def plugin_infos() -> list[PluginInfo]:
    """Return the plugins in use."""
    return plugins().infos()


def hook_meanings() -> dict[str, str]:
    """Return every hook with the first sentence of its documentation."""
    return {name: text.partition("\n")[0] for name, text in hook_documents().items()}


def hook_documents() -> dict[str, str]:
    """Return every hook with its whole documentation."""
    specs = {name: spec for name, spec in vars(hookspecs).items() if name.startswith(f"{PROJECT}_")}
    return {name: getdoc(spec) or "" for name, spec in specs.items()}


def plugin_commands() -> dict[str, click.Command]:
    """Return the commands of plugins by name; built-in names stay with the built-ins.

    Raises:
        PluginError: a plugin raises, or two add the same command.
    """
    found: dict[str, tuple[str, click.Command]] = {}
    for implementation in reversed(plugins().implementations("provio_commands")):
        for command in _checked(implementation):
            owner, _ = found.setdefault(str(command.name), (implementation.plugin, command))
            if owner != implementation.plugin:
                raise PluginError(
                    f"plugins {owner!r} and {implementation.plugin!r} both add the command {command.name!r}",
                    hint="uninstall one of them",
                )
    return {name: command for name, (owner, command) in found.items() if owner != BUILTIN}


def plugin_checks(directory: str) -> list[Check]:
    """Return the checks of plugins; one that raises is shown as a warning."""
    from provio.engines.checks import Check, State

    found: list[Check] = []
    for implementation in plugins().implementations("provio_doctor"):
        if implementation.plugin == BUILTIN:
            continue
        try:
            found += implementation(directory=directory)
        except Exception as error:  # noqa: BLE001 - doctor shows what is broken
            found.append(Check(implementation.plugin, State.WARNING, f"the plugin's check failed: {error!r}"))
    return found


def tracer_readers() -> dict[str, tuple[str, TracerReader]]:
    """Return the tracers' readers by the suffix of their files, each with its plugin.

    Raises:
        PluginError: a plugin raises, or two read the same suffix.
    """
    found: dict[str, tuple[str, TracerReader]] = {}
    for implementation in plugins().implementations("provio_tracers"):
        for reader in _checked(implementation):
            owner, _ = found.setdefault(reader.suffix, (implementation.plugin, reader))
            if owner != implementation.plugin:
                raise PluginError(
                    f"plugins {owner!r} and {implementation.plugin!r} both read files {reader.suffix!r}",
                    hint="uninstall one of them",
                )
    return found


def _checked(implementation: Implementation) -> Any:
    try:
        return implementation()
    except Exception as error:
        raise PluginError(
            f"plugin {implementation.plugin!r} raised {type(error).__name__}: {error}",
            hint="update or uninstall it, and tell its author",
        ) from error
