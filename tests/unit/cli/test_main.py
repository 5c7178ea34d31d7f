"""The command line as a whole: help, errors, exit codes, start-up."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest

from provio import cli
from provio.cli import COMMANDS, call
from provio.errors import EvidenceError, PluginError, ProvioError, SetupError, StoreError, UsageError
from support.measuring import cpu_seconds

if TYPE_CHECKING:
    from pathlib import Path

PROVIO = [sys.executable, "-m", "provio.cli"]


def provio(*args: str | bytes, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROVIO, *args], capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


def command_of(name: str) -> click.Command:
    command = cli.provio.get_command(click.Context(cli.provio), name)
    assert command is not None
    return command


def every_command() -> list[tuple[str, click.Command]]:
    found = []
    for name in COMMANDS:
        command = command_of(name)
        found.append((name, command))
        if isinstance(command, click.Group):
            found += [(f"{name} {sub}", one) for sub, one in command.commands.items()]
    return found


def test_help_lists_every_command_with_its_line() -> None:
    shown = provio("--help").stdout
    for name, line in COMMANDS.items():
        assert f"  {name} " in shown
        assert line.split()[0] in shown


def test_help_of_everything_begins_with_an_example() -> None:
    assert provio("--help").stdout.startswith("Example")
    for name, command in every_command():
        text = command.get_help(click.Context(command, info_name=f"provio {name}"))
        assert text.startswith("Example"), name
        assert f"provio {name}" in text.splitlines()[1], name


def test_help_of_every_command_tells_its_exit_codes() -> None:
    for name, command in every_command():
        assert "Exit codes:" in command.get_help(click.Context(command, info_name=name)), name


def test_every_command_takes_json_and_store() -> None:
    for name, command in every_command():
        options = {option for parameter in command.params for option in parameter.opts}
        assert "--json" in options, name
        if not name.startswith(("plugins", "doctor", "demo")):
            assert "--store" in options, name


def test_help_imports_no_command_and_no_library() -> None:
    code = (
        "import sys, provio.cli as c\n"
        "try: c.provio.main(['--help'], standalone_mode=False)\n"
        "finally: print([m for m in sys.modules if m.startswith('provio.cli.') or m.split('.')[0] in "
        "{'duckdb', 'numpy', 'pyarrow', 'pluggy', 'psutil', 'rich', 'sqlite3'}], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.serial
def test_help_is_there_within_a_blink() -> None:
    assert min(cpu_seconds([*PROVIO, "--help"]) for _ in range(5)) <= 0.15


def test_version_is_told() -> None:
    import provio as package

    assert provio("--version").stdout == f"provio {package.__version__}\n"


def test_unknown_command_is_a_usage_error_with_a_suggestion() -> None:
    done = provio("lineag")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "provio: there is no command 'lineag'\nhint: did you mean 'provio lineage'?\n"


def test_unknown_option_is_a_usage_error_that_leads_to_the_help() -> None:
    done = provio("show", "--frobnicate")
    assert done.returncode == 2
    assert "--frobnicate" in done.stderr
    assert "hint: 'provio show --help' shows how it is called" in done.stderr


def test_no_command_prints_the_help() -> None:
    done = provio()
    assert "Commands:" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ProvioError, 1),
        (UsageError, 2),
        (SetupError, 3),
        (EvidenceError, 4),
        (StoreError, 5),
        (PluginError, 6),
    ],
)
def test_each_error_has_its_exit_code_message_and_hint(
    error: type[ProvioError], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise error("it broke in file x, line 3", hint="mend it")

    monkeypatch.setattr(cli.LazyGroup, "get_command", lambda *_: click.Command("broken", callback=fail))
    assert call(["broken"]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "provio: it broke in file x, line 3\nhint: mend it\n"


def test_control_bytes_in_a_message_do_not_reach_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise UsageError("no file 'a\x1b[31m\r'", hint="")

    monkeypatch.setattr(cli.LazyGroup, "get_command", lambda *_: click.Command("broken", callback=fail))
    assert call(["broken"]) == 2
    assert capsys.readouterr().err == "provio: no file 'a\\x1b[31m\\r'\n"


@pytest.mark.parametrize("stop", [KeyboardInterrupt, click.Abort])
def test_interruption_is_exit_code_130_without_a_trace(
    stop: type[BaseException], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise stop

    monkeypatch.setattr(cli.LazyGroup, "get_command", lambda *_: click.Command("slow", callback=interrupted))
    assert call(["slow"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_library_that_is_not_installed_is_named_with_the_extra_that_brings_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise ModuleNotFoundError("No module named 'duckdb'", name="duckdb")

    monkeypatch.setattr(cli.LazyGroup, "get_command", lambda *_: click.Command("show", callback=fail))
    assert call(["show"]) == 3
    assert "pip install 'provio[analyse]'" in capsys.readouterr().err


def test_command_decides_its_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli.LazyGroup, "get_command", lambda *_: click.Command("seven", callback=lambda: 7))
    assert call(["seven"]) == 7


def test_reader_that_goes_away_ends_it_quietly() -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        done = subprocess.run(
            [*PROVIO, "--help"], stdout=closed, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 141
    assert done.stderr == ""


def test_colours_are_for_terminals_and_no_color_is_honoured(tmp_path: Path) -> None:
    assert "\x1b[" not in provio("config", cwd=tmp_path).stdout
    assert b"\x1b[" in _on_a_terminal({"TERM": "xterm"}, tmp_path)
    assert b"\x1b[" not in _on_a_terminal({"TERM": "xterm", "NO_COLOR": "1"}, tmp_path)
    assert b"\x1b[" not in _on_a_terminal({"TERM": "dumb"}, tmp_path)


def _on_a_terminal(extra: dict[str, str], cwd: Path) -> bytes:
    controller, terminal = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | extra
    child = subprocess.Popen([*PROVIO, "config"], stdout=terminal, stderr=terminal, env=environment, cwd=cwd)
    os.close(terminal)
    shown = b""
    try:
        while chunk := os.read(controller, 4096):
            shown += chunk
    except OSError:  # the terminal's other side is closed
        pass
    os.close(controller)
    assert child.wait() == 0
    return shown


def test_output_that_the_locale_cannot_show_is_escaped(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "XDG_CONFIG_HOME": str(tmp_path / "ü")}
    done = subprocess.run(
        [*PROVIO, "config", "path"], capture_output=True, check=True, env=environment, cwd=tmp_path
    )
    assert b"\\xfc" in done.stdout
