"""Plugins: found, checked, named when they fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest

import provio
from provio.errors import PluginError
from provio.plugins import hookimpl, manager
from provio.plugins.hookspecs import provio_doctor
from provio.plugins.manager import Plugins
from provio.tracers.base import TracerReader


def plugin(**hooks: Any) -> SimpleNamespace:
    """A plugin object whose attributes are marked hook implementations."""
    return SimpleNamespace(**{name: hookimpl(function) for name, function in hooks.items()})


def no_tracers() -> list[TracerReader]:
    return []


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Plugins:
    """Plugins of this test only, asked by the functions of the manager."""
    fresh = Plugins()
    monkeypatch.setattr(manager, "plugins", lambda: fresh)
    return fresh


def test_built_ins_use_every_hook() -> None:
    (builtin,) = Plugins().infos()
    assert set(builtin.hooks) == set(manager.hook_documents())


def test_every_hook_spec_is_documentation_only() -> None:
    assert provio_doctor(directory="") is None
    assert all(text.strip() for text in manager.hook_documents().values())


def test_misspelt_hook_is_an_error_that_names_the_plugin(found: Plugins) -> None:
    with pytest.raises(PluginError, match=r"'mine' of mine-dist.*provio_tracer\b") as raised:
        found.register(plugin(provio_tracer=no_tracers), "mine", "mine-dist")
    assert raised.value.exit_code == 6


def test_hook_with_an_unknown_argument_is_an_error_that_names_the_plugin(found: Plugins) -> None:
    with pytest.raises(PluginError, match=r"'mine'.*colour"):
        found.register(plugin(provio_doctor=lambda colour: colour), "mine")


def test_plugin_that_was_refused_leaves_the_others_working(found: Plugins) -> None:
    with pytest.raises(PluginError):
        found.register(plugin(provio_tracer=no_tracers), "mine")
    found.register(plugin(provio_tracers=no_tracers), "other")
    assert [info.name for info in found.infos()] == ["builtin", "other"]


def test_implementation_gets_only_the_arguments_it_names(found: Plugins) -> None:
    found.register(plugin(provio_attempt_of=lambda attempts: attempts[0]["attempt"]), "mine")
    first = found.implementations("provio_attempt_of")[0]
    assert first(epoch={}, attempts=[{"attempt": "a"}]) == "a"


def test_command_of_a_plugin_is_found_by_its_name(found: Plugins) -> None:
    mine = click.Command("mine")
    found.register(plugin(provio_commands=lambda: [mine]), "mine")
    assert manager.plugin_commands() == {"mine": mine}


def test_command_cannot_take_a_built_in_name(found: Plugins) -> None:
    found.register(plugin(provio_commands=lambda: [click.Command("show")]), "mine")
    with pytest.raises(PluginError, match="'builtin' and 'mine' both add the command 'show'"):
        manager.plugin_commands()


def test_two_readers_of_one_suffix_are_an_error(found: Plugins) -> None:
    found.register(plugin(provio_tracers=lambda: [TracerReader("x", "preload")]), "mine")
    with pytest.raises(PluginError, match="'preload'"):
        manager.tracer_readers()


def test_hook_that_raises_in_a_command_is_an_error_that_names_the_plugin(found: Plugins) -> None:
    found.register(plugin(provio_commands=lambda: 1 / 0), "mine")
    with pytest.raises(PluginError, match="plugin 'mine' raised ZeroDivisionError"):
        manager.plugin_commands()


def test_check_that_raises_is_shown_by_doctor_as_a_warning(found: Plugins) -> None:
    found.register(plugin(provio_doctor=lambda: 1 / 0), "mine")
    (check,) = manager.plugin_checks("/")
    assert (check.name, check.state) == ("mine", "warning")


@pytest.mark.parametrize(
    "source", ["1 / 0", "from provio import hookimpl\n@hookimpl\ndef provio_tracer(): ..."]
)
def test_broken_plugin_of_the_environment_is_named_on_the_command_line(tmp_path: Path, source: str) -> None:
    announce(tmp_path, source)
    sources = Path(provio.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "provio", "plugins"],
        env={"PYTHONPATH": f"{tmp_path}:{sources}", "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 6
    assert "plugin 'broken' of broken-dist" in done.stderr
    assert "Traceback" not in done.stderr


def announce(place: Path, source: str) -> None:
    """Install a plugin by hand: a module and the metadata that names it."""
    (place / "broken_plugin.py").write_text(source)
    info = place / "broken_dist-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-dist\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[provio]\nbroken = broken_plugin\n")
