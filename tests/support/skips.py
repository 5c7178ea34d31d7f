"""In CI a skip is a failure, unless its reason is on the list below.

On a developer's machine a missing tool skips the tests that need it; in CI
``make ci-deps`` has installed them all, so that a skip there would hide that a
promise is no longer tested. A test marked ``required`` may never skip in CI.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pytest

ALLOWED: Final = {
    r"needs root|only root can": "a CI job may run as an ordinary user",
    r"writable cgroup2 mount|cgroup": "containers often mount control groups read-only",
    r"mounting|mount namespace|unshare": "containers often forbid mounts and namespaces",
    r"old root file system|debootstrap": "a root file system needs a Debian mirror",
    r"corpus": "the collection of foreign evidence is not in the repository",
    r"CPython's test suite": "many installations leave the package `test` out",
    r"ptrace": "strace needs ptrace, which containers may forbid",
    r"network": "no mirror can be reached",
}
"""Reason (regular expression) -> why CI lets it pass."""


def in_ci() -> bool:
    """Tell whether this is CI, as ``.ci/run`` says it."""
    return os.environ.get("CI", "").lower() in {"1", "true", "yes"}


def allowed(reason: str, *, required: bool = False) -> bool:
    """Tell whether a skip with that reason may pass in CI."""
    return not required and any(re.search(pattern, reason) for pattern in ALLOWED)


def refuse(report: pytest.TestReport | pytest.CollectReport, *, required: bool = False) -> None:
    """Turn a skip that is not allowed into a failure."""
    if not in_ci() or report.outcome != "skipped" or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if allowed(reason, required=required):
        return
    report.outcome = "failed"
    report.longrepr = f"unexpected skip in CI: {reason}\nallowed reasons: tests/support/skips.py"
