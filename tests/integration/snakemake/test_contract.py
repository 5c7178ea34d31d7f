"""Snakemake's own contract for logger plugins."""

from __future__ import annotations

import ast
import logging
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry
from snakemake_interface_logger_plugins.tests import TestLogHandlerBase

import snakemake_logger_plugin_provio as plugin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snakemake_interface_logger_plugins.base import LogHandlerBase
    from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase


class TestContract(TestLogHandlerBase):
    """The checks that Snakemake ships for authors of logger plugins."""

    __test__ = True

    @pytest.fixture(autouse=True)
    def _closed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        monkeypatch.chdir(tmp_path)
        self.handlers: list[LogHandlerBase] = []
        yield
        for handler in self.handlers:
            handler.close()
            handler.close()
        assert list(tmp_path.iterdir()) == []

    def _create_handler(self) -> LogHandlerBase:
        self.handlers.append(super()._create_handler())
        return self.handlers[-1]

    def get_log_handler_cls(self) -> type[LogHandlerBase]:
        return plugin.LogHandler

    def get_log_handler_settings(self) -> LogHandlerSettingsBase:
        return plugin.LogHandlerSettings()


def test_closing_puts_every_patched_function_of_snakemake_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import subprocess

    import snakemake.api  # noqa: F401 - first: its modules import each other
    from snakemake.logging import logger
    from snakemake.workflow import Workflow
    from snakemake.executors.local import Executor  # isort: skip
    from snakemake_interface_logger_plugins.tests import MockOutputSettings

    monkeypatch.chdir(tmp_path)
    before = Workflow.execute, Executor.cached_or_run, subprocess.Popen.__init__, list(logger.handlers)
    handler = plugin.LogHandler(MockOutputSettings(), plugin.LogHandlerSettings())
    assert Workflow.execute is not before[0]
    handler.close()
    assert (Workflow.execute, Executor.cached_or_run, subprocess.Popen.__init__, logger.handlers) == before


def test_every_setting_has_help_and_an_environment_variable() -> None:
    registered = LoggerPluginRegistry().get_plugin("provio")
    for setting in registered.get_settings_info():
        assert setting["help"]
        assert setting["env_var"] == f"SNAKEMAKE_LOGGER_PROVIO_{setting['name'].upper()}"


def test_settings_module_keeps_its_annotations_as_types() -> None:
    tree = ast.parse(Path(plugin.__file__).read_text())
    futures = [
        node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "__future__"
    ]
    assert not futures


def test_handler_never_raises_whatever_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from snakemake_interface_logger_plugins.tests import MockOutputSettings

    monkeypatch.chdir(tmp_path)
    handler = plugin.LogHandler(MockOutputSettings(), None)
    record = logging.LogRecord("x", logging.INFO, "", 0, None, None, None)
    record.event = object()
    handler.emit(record)
    handler._recorder._tap.emit(record)
    handler.close()
