"""The engine "local": ``provio run -- CMD`` as a run with one task.

Here: what is recorded, and that recording never harms the command. How the
command is started and waited for is ``supervise`` beside this file.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from provio.engines.emitter import Emitter, warn
from provio.engines.environment import attempt_environment, report_arming
from provio.engines.host import host_event, process_ref, stamp
from provio.engines.place import find_store
from provio.engines.redact import redact_text
from provio.engines.sealer import start_sealer
from provio.engines.spool import Spool, describe_run
from provio.engines.supervise import Child, Ended, find_program
from provio.errors import ProvioError
from provio.model import events as ev
from provio.model.ids import AttemptId, RunId, new_attempt_id
from provio.tracers import elf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ENGINE: Final = "local"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Options:
    """How a command is recorded.

    Attributes:
        store: the store to use, None for the one that is found.
        name: of the run, "" for the program's.
        mode: aggregate, full, or off; "" for what the settings say.
        seal: start the sealer at the end.
    """

    store: str | None = None
    name: str = ""
    mode: str = ""
    seal: bool = True


class Recording:
    """The recording of one command: the run, its single attempt, its events."""

    def __init__(self, argv: Sequence[str], program: str, options: Options) -> None:
        place = find_store(Path.cwd(), options.store)
        if place.notice:
            warn(place.notice)
        self.name = options.name or os.path.basename(program)  # noqa: PTH119 - a str is wanted
        self._argv, self._program, self._options = argv, program, options
        run = describe_run(
            engine=ENGINE,
            engine_version=_version(),
            workflow=os.path.realpath(program),
            argv=argv,
            name=self.name,
            mode=options.mode,
            tracers=() if options.mode == "off" else ("preload",),
        )
        self.spool = Spool.create(place.path, run)
        self.run: RunId = run.run_id
        self.attempt: AttemptId = new_attempt_id()
        self.emitter: Emitter = self.spool.emitter()

    def begin(self) -> None:
        """Record the start, before the command exists."""
        cwd, me = self.spool.run.cwd, process_ref()
        self.emitter.emit(
            ev.RunStarted(
                stamp(), self.run, ENGINE, _version(), self.spool.run.workflow, cwd,
                argv=tuple(self._argv), process=me,
            )
        )  # fmt: skip
        self.emitter.emit(host_event())
        report_arming(self.spool, self.emitter)
        self.emitter.emit(
            ev.TaskStarted(
                stamp(), self.run, self.attempt, logical=self.name, physical=self.name, ordinal=1,
                kind="command", cwd=cwd, process=me, command=redact_text(shlex.join(self._argv)),
                parent=self.spool.run.parent_attempt,
            )
        )  # fmt: skip

    def environment(self) -> dict[str, str]:
        """Return the command's environment; a program that cannot take the tracer gets its plain one."""
        verdict = elf.judge(self._program)
        if verdict.takes or verdict.gap is None or self.spool.run.mode == "off":
            return attempt_environment(self.spool, self.run, self.attempt, _own_environment())
        self.emitter.emit(
            ev.GapSeen(stamp(), verdict.gap.value, f"attempt:{self.attempt}", detail=verdict.program)
        )
        return _own_environment()

    def started(self, pid: int) -> None:
        """Record the process of the command. It must not have been waited for yet."""
        self.emitter.emit(ev.ProcessStarted(stamp(), self.attempt, process_ref(pid), argv=tuple(self._argv)))

    def end(self, ended: Ended) -> None:
        """Record the end and have the run sealed."""
        state = "succeeded" if ended.exit_code == 0 else "failed"
        self.emitter.emit(
            ev.TaskEnded(
                stamp(), self.attempt, state, cwd=self.spool.run.cwd, exit_code=ended.exit_code,
                signal=ended.signal, cpu_user_ns=ended.cpu_user_ns, cpu_system_ns=ended.cpu_system_ns,
                max_rss_bytes=ended.max_rss_bytes,
            )
        )  # fmt: skip
        self._finish(state, ended.exit_code)

    def not_started(self, error: ProvioError) -> None:
        """Record that the command could not be started."""
        self.emitter.emit(
            ev.TaskEnded(
                stamp(), self.attempt, "failed", cwd=self.spool.run.cwd,
                exit_code=error.exit_code, message=error.message,
            )
        )  # fmt: skip
        self._finish("failed", error.exit_code)

    def _finish(self, state: str, exit_code: int | None) -> None:
        self.emitter.emit(ev.RunEnded(stamp(), self.run, state, exit_code))
        self.emitter.close()
        if self._options.seal:
            start_sealer(self.spool)


def run_command(argv: Sequence[str], options: Options) -> tuple[Ended, Recording | None]:
    """Run a command to its end and record it.

    The command runs also if nothing can be recorded; that is said once on stderr.

    Returns:
        How it ended, and the recording, None if there is none.

    Raises:
        CommandNotFoundError: as a shell's exit code 127.
        CommandNotExecutableError: as a shell's exit code 126.
    """
    program = find_program(argv[0], _own_environment())
    with Child() as child:
        recording = _begin(argv, program, options)
        environment = _environment(recording, program)
        try:
            child.start(program, argv, environment)
        except ProvioError as error:
            if recording:
                _quietly(recording.not_started, error)
            raise
        if recording:
            _quietly(recording.started, child.pid)
        ended = child.wait()
        if recording:
            _quietly(recording.end, ended)
    return ended, recording


def _begin(argv: Sequence[str], program: str, options: Options) -> Recording | None:
    """Begin to record, or say why not."""
    try:
        recording = Recording(argv, program, options)
        recording.begin()
    except ProvioError as error:
        warn(f"not recorded: {error.message}; {error.hint}")
    except Exception as error:  # noqa: BLE001 - whatever it is, the command runs
        warn(f"not recorded: {_reason(error)}")
    else:
        return recording
    return None


def _quietly(step: Callable[[T], None], argument: T) -> None:
    """Do a step of the recording; what goes wrong is said, and the command's result stands."""
    try:
        step(argument)
    except Exception as error:  # noqa: BLE001 - as the docstring says
        warn(f"not recorded to its end: {_reason(error)}")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"


def _environment(recording: Recording | None, program: str) -> dict[str, str]:
    environment = _own_environment()
    if recording is None:
        return environment
    try:
        environment = recording.environment()
    except Exception as error:  # noqa: BLE001 - whatever it is, the command runs
        warn(f"not traced: {_reason(error)}")
    if "_" in environment:  # a shell tells each program its own path here
        environment["_"] = program
    return environment


def _own_environment() -> dict[str, str]:
    """Return the environment that we were started with.

    In the C locale the interpreter adds LC_CTYPE for itself (PEP 538); the
    program must not inherit it, for it would sort and print differently.
    """
    environment = dict(os.environ)
    if "LC_CTYPE" in environment:
        try:
            given = Path("/proc/self/environ").read_bytes().split(b"\0")
        except OSError:
            return environment
        if not any(entry.startswith(b"LC_CTYPE=") for entry in given):
            del environment["LC_CTYPE"]
    return environment


def _version() -> str:
    from provio import __version__

    return __version__
