"""Start one program and stand aside: same descriptors, same signals, same exit.

Theory of operation. The program stays in our process group, so that whatever
the terminal or a batch system sends to the group reaches it as if we were not
there. We block the signals that would end or stop us and read them with
``sigwaitinfo``: one that was sent to the group, by the terminal or by a process,
has reached the program already; one sent to us alone is passed on. When the
program stops, we stop too, so that the shell gets its terminal back; when we are
continued, it is. Knows nothing about runs or tracing.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from provio.engines.witness import Witness
from provio.errors import ProvioError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FORWARDED: Final = frozenset(
    {
        signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2,
        signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT,
    }
)  # fmt: skip
_WATCHED: Final = _FORWARDED | {signal.SIGCHLD}
_PYTHON_IGNORES: Final = (signal.SIGPIPE, signal.SIGXFSZ)
"""The interpreter ignores these for itself; the program gets their default back."""
_SI_KERNEL: Final = 0x80


class CommandNotFoundError(ProvioError):
    """There is no such program; exit code 127 as in a shell."""

    exit_code = 127


class CommandNotExecutableError(ProvioError):
    """The file cannot be executed; exit code 126 as in a shell."""

    exit_code = 126


class Ended(NamedTuple):
    """How a program ended.

    Attributes:
        exit_code: None if a signal ended it.
        signal: None if it exited.
        cpu_user_ns, cpu_system_ns: of it and the children it waited for.
        max_rss_bytes: largest of them; 0 where that is below what the kernel
            carries over from this process into every program started by it.
    """

    exit_code: int | None
    signal: int | None
    cpu_user_ns: int
    cpu_system_ns: int
    max_rss_bytes: int


class Child:
    """A started program.

    Use as a context manager from before the start until after the wait: inside,
    signals are held back for the program.
    """

    def __init__(self) -> None:
        self._mask: set[int | signal.Signals] = set()
        self.pid = 0
        self._own_peak = 0
        self._witness: Witness | None = None

    def __enter__(self) -> Self:
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
        self._witness = Witness()
        return self

    def __exit__(self, *_: object) -> None:
        if self._witness:
            self._witness.dismiss()
        while signal.sigtimedwait(_WATCHED, 0):
            pass  # what came when the program had ended already must not end us instead
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def start(self, program: str, argv: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start a program that ``find_program`` found.

        Raises:
            CommandNotExecutableError: the kernel refuses it.
            CommandNotFoundError: it, or the interpreter of the script, is gone.
        """
        try:
            self.pid = self._spawn(program, argv, environment)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise _refusal(argv[0], error) from error
            # A script without "#!": every shell, and execvp(3), gives it to sh.
            self.pid = self._spawn("/bin/sh", ["/bin/sh", program, *argv[1:]], environment)

    def wait(self) -> Ended:
        """Wait for the end, passing signals on meanwhile."""
        while True:
            if (ended := self._reap()) is not None:
                return ended
            info = signal.sigwaitinfo(_WATCHED)
            if info.si_signo in _FORWARDED and not self._has_got(info):
                self._send(info.si_signo)

    def _has_got(self, info: signal.struct_siginfo) -> bool:
        """Tell whether the whole group got a signal. The witness is asked each time, so that it forgets."""
        if self._witness is None:
            return info.si_code == _SI_KERNEL
        witnessed = self._witness.saw(info.si_signo)
        if info.si_signo == signal.SIGCONT and not witnessed:
            witnessed = self._witness.saw(signal.SIGTSTP)  # a stop takes a pending SIGCONT away
        return witnessed or info.si_code == _SI_KERNEL

    def _spawn(self, program: str, argv: Sequence[str], environment: Mapping[str, str]) -> int:
        # exec keeps the peak of the memory it replaces, which until then is ours.
        self._own_peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return os.posix_spawn(
            program, list(argv), dict(environment), setsigmask=self._mask, setsigdef=_PYTHON_IGNORES
        )

    def _reap(self) -> Ended | None:
        """Return how the program ended, or None; follow it into a stop."""
        pid, status, usage = os.wait4(self.pid, os.WNOHANG | os.WUNTRACED)
        if pid == 0:
            return None
        if os.WIFSTOPPED(status):
            self._stop_too(os.WSTOPSIG(status))
            return None
        signalled = os.WIFSIGNALED(status)
        return Ended(
            exit_code=None if signalled else os.WEXITSTATUS(status),
            signal=os.WTERMSIG(status) if signalled else None,
            cpu_user_ns=round(usage.ru_utime * 1e9),
            cpu_system_ns=round(usage.ru_stime * 1e9),
            max_rss_bytes=usage.ru_maxrss * 1024 if usage.ru_maxrss > self._own_peak else 0,
        )

    def _stop_too(self, number: int) -> None:
        """Stop as the program did, until somebody continues us (``wait`` then finds that SIGCONT).

        A bare SIGSTOP is followed only where a shell waits for its terminal: a
        debugger or batch system that stops and continues the program alone must
        not find us asleep.
        """
        if number == signal.SIGSTOP and not _in_foreground():
            return
        os.kill(os.getpid(), signal.SIGSTOP)

    def _send(self, number: int) -> None:
        try:
            os.kill(self.pid, number)
        except OSError:  # it just ended, or runs as another user
            return


def find_program(name: str, environment: Mapping[str, str]) -> str:
    """Return the path of a command as a shell finds it.

    Raises:
        CommandNotFoundError: there is none.
        CommandNotExecutableError: there is a file, but it cannot be executed.
    """
    if "/" in name:
        candidates = [name]
    else:
        folders = environment.get("PATH", os.defpath).split(os.pathsep)
        candidates = [os.path.join(folder or ".", name) for folder in folders]  # noqa: PTH118 - "./x" must stay
    refused = ""
    for path in candidates if name else []:
        if os.path.isfile(path) and os.access(path, os.X_OK):  # noqa: PTH113 - as above
            return path
        if os.path.exists(path):  # noqa: PTH110 - as above
            refused = refused or path
    if refused and (Path(refused).is_file() or "/" in name):
        code = errno.EISDIR if Path(refused).is_dir() else errno.EACCES
        raise _refusal(name, OSError(code, os.strerror(code)))
    raise _refusal(name, FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))


def end_like(ended: Ended) -> int:
    """Return the program's exit code; where a signal ended it, die of the same one."""
    if ended.signal is None:
        return ended.exit_code or 0
    number = ended.signal
    _forbid_core_dump()
    with contextlib.suppress(OSError, ValueError):  # SIGKILL has no disposition
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    return 128 + number


def _refusal(name: str, error: OSError) -> ProvioError:
    if isinstance(error, FileNotFoundError) or error.errno == errno.ENOENT:
        where = "" if "/" in name else " in any directory of PATH"
        return CommandNotFoundError(f"{name}: not found{where}", hint="check the spelling of the command")
    return CommandNotExecutableError(
        f"{name}: {error.strerror}", hint=f"check that it is a program and may be executed: ls -l '{name}'"
    )


def _in_foreground() -> bool:
    """Tell whether our process group owns its terminal."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _forbid_core_dump() -> None:
    """Keep the program's signal from leaving a core file of ours beside its own."""
    import ctypes

    pr_set_dumpable = 4
    ctypes.CDLL(None).prctl(pr_set_dumpable, 0, 0, 0, 0)
