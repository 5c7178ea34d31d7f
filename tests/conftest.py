"""What holds for every test: a clean environment, a home of its own, no unexpected skips in CI."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import TYPE_CHECKING

import pytest

from support import skips

if TYPE_CHECKING:
    from collections.abc import Iterator

_OURS = ("PROVIO_", "SNAKEMAKE_")
_STATE = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")


@pytest.fixture(autouse=True, scope="session")
def _no_traces_of_the_developer() -> Iterator[None]:
    """Take the developer's settings, caches and stores out of reach of the tests."""
    place = tempfile.mkdtemp(prefix="provio-tests-")
    before = dict(os.environ)
    for name in before:
        if name.startswith(_OURS) and not name.startswith("PROVIO_TEST_"):
            del os.environ[name]
    os.environ.update({name: f"{place}/{name}" for name in _STATE})
    yield
    os.environ.clear()
    os.environ.update(before)
    shutil.rmtree(place, ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    skips.refuse(report, required=item.get_closest_marker("required") is not None)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    report = yield
    skips.refuse(report)
    return report
