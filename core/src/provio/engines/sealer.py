"""Starting the sealer: a detached process that turns the spool into a generation.

Here: only the start, by the engine that ends. What it does is ``provio.pipeline``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from provio.engines.environment import clean_environment

if TYPE_CHECKING:
    from provio.engines.spool import Spool


def start_sealer(spool: Spool) -> bool:
    """Start ``provio seal`` for a run that is over, and do not wait for it.

    It runs untraced, in a session of its own, with its output in the spool
    (``seal.log``), so that it neither holds the engine's pipes open nor dies
    with its terminal.

    Returns:
        Whether it could be started; if not, the next command seals the run.
    """
    if not sys.executable:
        return False
    # -P: nothing in the directory where it starts may take the place of our modules.
    command = [sys.executable, "-P", "-m", "provio", "seal", "--detached", spool.run.run_id]
    try:
        log = os.open(spool.path / "seal.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError:
        return False
    try:
        child = subprocess.Popen(
            [*command, "--store", str(spool.store)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",  # the workflow's directory may be unmounted or removed
            env=_environment(),
            start_new_session=True,
        )
    except (OSError, ValueError):
        return False
    finally:
        os.close(log)
    child.returncode = 0  # it outlives us: no warning about a child that was not waited for
    return True


def _environment() -> dict[str, str]:
    """Return an untraced environment that means the same from any directory.

    Where this process is traced itself, the tracer would follow into every
    program that it starts; "off" makes it record nothing there.
    """
    environment = clean_environment() | {"PROVIO_TRACE": "off"}
    if given := environment.get("PYTHONPATH"):
        paths = [os.path.abspath(entry) for entry in given.split(os.pathsep) if entry]  # noqa: PTH100 - text
        environment["PYTHONPATH"] = os.pathsep.join(paths)
    return environment
