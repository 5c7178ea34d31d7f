"""Build hook: compile the native parts into ``provio/_native`` and tag the wheel for this platform.

What is compiled, and what is skipped for want of a compiler, is decided by
``core/native/build.py`` (its ``build.json`` tells ``provio doctor`` why);
here is only the connection to hatchling.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class NativeBuildHook(BuildHookInterface[Any]):
    """Run ``core/native/build.py`` before the files of a wheel are collected."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's signature
        """Compile; a missing compiler is a skip, a compile error stops the build."""
        if self.target_name != "wheel":
            return
        output = Path(self.root, "core/src/provio/_native")
        compile_native(Path(self.root), output)
        if any(output.glob("*.so")):
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform_tag()}"


def compile_native(root: Path, output: Path) -> None:
    """Call the native build with its documented command line."""
    script = root / "core/native/build.py"
    if script.exists():
        subprocess.run([sys.executable, str(script), "--out", str(output)], check=True, env=os.environ.copy())


def platform_tag() -> str:
    """Return the wheel tag of this machine, such as ``linux_x86_64``."""
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
