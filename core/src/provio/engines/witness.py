"""Was a signal sent to us alone, or to our whole process group?

The kernel does not tell. So a witness, a forked process that only waits, stays
in the group with every signal blocked: what was sent to the group is pending
there, too. Passing on a signal that the command has already got would be harm:
a second SIGTERM means "at once" to many programs. Used by ``supervise`` only.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import NoReturn


class Witness:
    """A process of our group that remembers signals. It ends when we do."""

    def __init__(self) -> None:
        self._pid = 0
        try:
            asked, self._ask = os.pipe()
            self._answer, answered = os.pipe()
            self._pid = os.fork()
        except OSError:
            return  # no descriptor, no process: then every signal counts as sent to us alone
        if self._pid == 0:
            _testify(asked, answered)
        os.close(asked)
        os.close(answered)

    def saw(self, number: int) -> bool:
        """Tell whether the group got this signal since the last question about it."""
        if not self._pid:
            return False
        try:
            os.write(self._ask, bytes([number]))
            return os.read(self._answer, 1) == b"\1"
        except OSError:
            return False

    def dismiss(self) -> None:
        """End the witness."""
        if not self._pid:
            return
        os.close(self._ask)
        os.close(self._answer)
        with contextlib.suppress(OSError):
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        self._pid = 0


def _testify(asked: int, answered: int) -> NoReturn:
    """Answer questions until nobody can ask any more; hold nothing else open."""
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - the names are wanted
            if int(name) not in {asked, answered}:
                with contextlib.suppress(OSError):
                    os.close(int(name))
        while number := os.read(asked, 1):
            pending = signal.sigtimedwait([number[0]], 0) is not None
            os.write(answered, b"\1" if pending else b"\0")
    finally:
        os._exit(0)
