"""``provio plugins``: which plugins are in use, and which hooks they implement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from provio.cli._options import Command, common_options, emit_json, emit_lines

if TYPE_CHECKING:
    from provio.plugins.manager import PluginInfo


@click.command(
    cls=Command,
    examples=(
        "provio plugins             every plugin with its distribution and hooks",
        "provio plugins --hooks     every hook with its meaning, and who implements it",
    ),
    exits="0 fine, 6 a plugin cannot be loaded or misspells a hook.",
)
@click.option("--hooks", "by_hook", is_flag=True, help="List by hook instead of by plugin.")
@common_options
def command(*, by_hook: bool, run: str | None, store: str | None, as_json: bool) -> int:
    """List the plugins in use and the hooks they implement.

    Built-in parts use the same hooks as plugins of other distributions, which
    are found by their entry points in the group "provio".
    """
    del run, store  # every command takes them; plugins do not depend on them
    from provio.plugins.manager import hook_meanings, plugin_commands, plugin_infos

    found, meanings, added = plugin_infos(), hook_meanings(), sorted(plugin_commands())
    if as_json:
        hooks = [{"name": name, "meaning": meaning} for name, meaning in meanings.items()]
        plugins = [_json(plugin) for plugin in found]
        emit_json({"version": 1, "plugins": plugins, "hooks": hooks, "commands": added})
    elif by_hook:
        emit_lines(_hook_lines(found, meanings))
    else:
        emit_lines([*_plugin_lines(found), *(f"adds the command: provio {name}" for name in added)])
    return 0


def _json(plugin: PluginInfo) -> dict[str, Any]:
    return {
        "name": plugin.name,
        "distribution": plugin.distribution,
        "distribution_version": plugin.version,
        "builtin": plugin.builtin,
        "hooks": list(plugin.hooks),
    }


def _plugin_lines(found: list[PluginInfo]) -> list[str]:
    from provio.cli._answers import style
    from provio.report.text import table

    rows = [[plugin.name, _origin(plugin), ", ".join(plugin.hooks) or "none"] for plugin in found]
    return table(("plugin", "from", "hooks"), rows, style(), left=(0, 1, 2))


def _origin(plugin: PluginInfo) -> str:
    return "built in" if plugin.builtin else f"{plugin.distribution} {plugin.version}".strip() or "unknown"


def _hook_lines(found: list[PluginInfo], meanings: dict[str, str]) -> list[str]:
    lines = []
    for name, meaning in meanings.items():
        users = ", ".join(plugin.name for plugin in found if name in plugin.hooks)
        lines += [f"{name}: {meaning}", f"    implemented by {users or 'nobody'}"]
    return lines
