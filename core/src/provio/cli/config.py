"""``provio config``: show and change settings. What they are is in ``provio.engines.settings``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from provio.cli._options import Command, Group, emit_json, emit_lines, json_option, note, store_option

if TYPE_CHECKING:
    from provio.engines.settings import Chosen, Value

_EXITS = "0 fine, 2 unknown setting or wrong value."


@click.group(
    cls=Group,
    invoke_without_command=True,
    examples=(
        "provio config                          every setting, its value, and who set it",
        "provio config set digest_limit 64MiB   for this user",
        "provio config set trace full --project for the runs of this store only",
    ),
    exits=_EXITS,
)
@json_option
@store_option
@click.pass_context
def command(ctx: click.Context, *, as_json: bool, store: str | None) -> int:
    """Show or change settings.

    The environment comes first, then config.toml of the store, then the
    user's file, then the default.
    """
    return 0 if ctx.invoked_subcommand else _list(store, as_json=as_json)


@command.command("list", cls=Command, examples=("provio config list",), exits=_EXITS)
@json_option
@store_option
def list_settings(*, as_json: bool, store: str | None) -> int:
    """List every setting, its value, and where that comes from."""
    return _list(store, as_json=as_json)


@command.command("get", cls=Command, examples=("provio config get trace",), exits=_EXITS)
@click.argument("name")
@json_option
@store_option
def get(*, name: str, as_json: bool, store: str | None) -> int:
    """Print the value of one setting."""
    from provio.engines.settings import effective, setting_of

    chosen = effective(_store(store))[setting_of(name).name]
    if as_json:
        emit_json({"version": 1, **_json(chosen)})
    else:
        emit_lines([_text(chosen.value)])
    return 0


@command.command("set", cls=Command, examples=("provio config set trace full --project",), exits=_EXITS)
@click.argument("name")
@click.argument("value")
@click.option("--project", is_flag=True, help="In the store's file instead of the user's.")
@json_option
@store_option
def set_value(*, name: str, value: str, project: bool, as_json: bool, store: str | None) -> int:
    """Set one setting in the user's file, or with --project in the store's."""
    from provio.engines.settings import effective, setting_of, user_file, write_setting

    setting = setting_of(name)
    parsed = setting.parse(_literal(value), "the command line")
    place = _store(store, create=project)
    file = place / "config.toml" if project else user_file()
    write_setting(file, setting, parsed)
    chosen = effective(place)[name]
    if as_json:
        emit_json({"version": 1, "file": str(file), **_json(chosen)})
    else:
        note(f"Wrote {file}.")
    if chosen.value != parsed:
        note(f"note: {chosen.origin} says {_text(chosen.value)!r} and comes first")
    return 0


@command.command("path", cls=Command, examples=("provio config path",), exits=_EXITS)
@json_option
@store_option
def path(*, as_json: bool, store: str | None) -> int:
    """Print the files that are read, the strongest first."""
    from provio.engines.settings import user_file

    files = [_store(store) / "config.toml", user_file()]
    if as_json:
        emit_json({"version": 1, "files": [{"path": str(file), "exists": file.exists()} for file in files]})
    else:
        emit_lines(f"{file}{'' if file.exists() else '  (does not exist)'}" for file in files)
    return 0


def _list(store: str | None, *, as_json: bool) -> int:
    from provio.cli._answers import style
    from provio.engines.settings import effective
    from provio.report.text import table

    chosen = effective(_store(store)).values()
    if as_json:
        emit_json({"version": 1, "settings": [_json(one) for one in chosen]})
        return 0
    rows = [[one.setting.name, _text(one.value) or "(none)", one.origin] for one in chosen]
    emit_lines(table(("setting", "value", "from"), rows, style(), left=(0, 1, 2)))
    emit_lines(["", *(f"{one.setting.name}: {one.setting.meaning}" for one in chosen)])
    return 0


def _store(store: str | None, *, create: bool = False) -> Path:
    from provio.engines.place import find_store

    return find_store(Path.cwd(), store, create=create).path


def _json(chosen: Chosen) -> dict[str, Any]:
    value = list(chosen.value) if isinstance(chosen.value, tuple) else chosen.value
    setting = chosen.setting
    return {"name": setting.name, "value": value, "origin": chosen.origin, "variable": setting.variable,
            "meaning": setting.meaning}  # fmt: skip


def _text(value: Value) -> str:
    return ",".join(value) if isinstance(value, tuple) else str(value)


def _literal(text: str) -> Any:
    """Return a list where the text is one (``["a", "b"]``), else the text."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
