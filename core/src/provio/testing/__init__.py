"""Contract tests for authors of tracers and engines. Public API.

Subclass one in your own test suite, say how yours is made, and pytest runs the
contract::

    from provio.testing import TracerContract

    class TestMyTracer(TracerContract):
        def reader(self): return MY_READER
        def sample(self): return Path("sample.mine").read_bytes()

What they need beside provio: pytest, and ``provio[analyse]`` for tracers.
"""

from __future__ import annotations

from provio.testing.engines import EngineContract
from provio.testing.tracers import TracerContract

__all__ = ["EngineContract", "TracerContract"]
