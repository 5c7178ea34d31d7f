"""Build the native parts of provio with the C compiler of this machine.

Belongs here: finding a compiler, compiling each part, installing it beside its
final name and renaming it, writing ``build.json``. Standard library only,
because the wheel's build hook and ``make native`` run it before anything is
installed. What is compiled lives in ``preload/``; who loads the result is
``provio.tracers``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

NATIVE = Path(__file__).resolve().parent
DEFAULT_OUT = NATIVE.parent / "src" / "provio" / "_native"
COMPILERS = ("cc", "gcc", "clang")
MACHINES = ("x86_64", "aarch64")

WARNINGS = ("-Wall", "-Wextra", "-Wshadow")
# No libc, no compiler runtime, no versioned symbol: the library must load into
# any glibc. Initial-exec TLS needs no call and works in a signal handler.
FREESTANDING = (
    "-std=c11", "-O2", "-g1", "-fPIC", "-ffreestanding", "-fvisibility=hidden",
    "-ftls-model=initial-exec", "-fno-stack-protector", "-fno-builtin",
    "-fexceptions", "-fasynchronous-unwind-tables", "-fomit-frame-pointer", "-D_GNU_SOURCE",
    "-U_FORTIFY_SOURCE",
)  # fmt: skip
LINK = (
    "-shared", "-nostdlib", "-Wl,-z,nodelete", "-Wl,-z,now", "-Wl,-z,norelro",
    "-Wl,-z,noseparate-code", "-Wl,-z,defs",
    "-Wl,--hash-style=gnu", "-Wl,-soname,libprovio_preload.so", "-Wl,--build-id",
)  # fmt: skip
GCC_ONLY = ("-fno-tree-loop-distribute-patterns", "-Wno-nonnull-compare")


@dataclass(frozen=True, slots=True)
class PartResult:
    """What became of one native part; the shape of an entry in ``build.json``."""

    built: bool
    reason: str
    compiler: str
    version: str


class BuildError(Exception):
    """A compiler was found and refused the code: a failure, not a skip."""


def find_compiler() -> str | None:
    """Return the first usable C compiler; ``$CC`` goes first."""
    wanted = os.environ.get("CC")
    names = (wanted, *COMPILERS) if wanted else COMPILERS
    return next((found for name in names if (found := shutil.which(name))), None)


def compiler_version(compiler: str) -> str:
    """Return the first line of ``compiler --version``."""
    done = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).partition("\n")[0].strip()


def obstacle(compiler: str | None) -> str:
    """Say why the preload library cannot be built here; empty when it can."""
    if not sys.platform.startswith("linux"):
        return f"capture needs Linux, this is {sys.platform}"
    if os.uname().machine not in MACHINES:
        return f"no system call stubs for {os.uname().machine}"
    if compiler is None:
        return "no C compiler (cc, gcc or clang) on PATH; install one, for example: apt install gcc"
    return ""


def accepts(compiler: str, flag: str) -> bool:
    """Tell whether the compiler knows a flag."""
    probe = [compiler, "-Werror", flag, "-x", "c", "-fsyntax-only", "-"]
    return subprocess.run(probe, input=b"", capture_output=True, check=False).returncode == 0


def preload_command(compiler: str, out: Path, extra: tuple[str, ...]) -> list[str]:
    """Return the command line that makes the preload library."""
    folder = NATIVE / "preload"
    sources = sorted(map(str, (*folder.glob("*.c"), *folder.glob("*.S"))))
    own = tuple(flag for flag in GCC_ONLY if accepts(compiler, flag))
    return [compiler, *WARNINGS, *FREESTANDING, *own, *extra, *LINK, *sources, "-o", str(out)]


def compile_preload(compiler: str, out_dir: Path, extra: tuple[str, ...]) -> None:
    """Compile into a temporary name beside the final one, then rename.

    A process that has the old library mapped keeps its inode.
    """
    handle, name = tempfile.mkstemp(prefix=".libprovio_preload.", dir=out_dir)
    os.close(handle)
    beside = Path(name)
    try:
        done = subprocess.run(preload_command(compiler, beside, extra), check=False)
        if done.returncode != 0:
            raise BuildError(f"{compiler} failed on the preload library (exit {done.returncode})")
        beside.chmod(0o755)
        beside.replace(out_dir / "libprovio_preload.so")
    finally:
        beside.unlink(missing_ok=True)


def write_report(out_dir: Path, results: dict[str, PartResult]) -> None:
    """Write ``build.json``, which ``provio doctor`` shows."""
    beside = out_dir / ".build.json.new"
    beside.write_text(json.dumps({part: asdict(result) for part, result in results.items()}, indent=2) + "\n")
    beside.replace(out_dir / "build.json")


def build(
    out_dir: Path = DEFAULT_OUT, *, sanitize: bool = False, werror: bool = False
) -> dict[str, PartResult]:
    """Build all native parts into ``out_dir``.

    Args:
        out_dir: where the libraries and ``build.json`` go; made if absent.
        sanitize: add UndefinedBehaviorSanitizer in trap mode, which needs no runtime library
            (AddressSanitizer cannot live in a library without libc: see ``core/native/tests``).
        werror: treat warnings as errors, as CI does.

    Returns:
        Per part what happened. An absent prerequisite is a skip with its reason.

    Raises:
        BuildError: the compiler refused the code.
    """
    out_dir.mkdir(parents=True, exist_ok=True)
    compiler = find_compiler()
    reason = obstacle(compiler)
    if compiler is None or reason:
        result = PartResult(built=False, reason=reason, compiler="", version="")
    else:
        trap = ("-fsanitize=undefined", "-fsanitize-undefined-trap-on-error") if sanitize else ()
        compile_preload(compiler, out_dir, (*trap, *(("-Werror",) if werror else ())))
        result = PartResult(built=True, reason="", compiler=compiler, version=compiler_version(compiler))
    results = {"preload": result}
    write_report(out_dir, results)
    return results


def main(arguments: list[str] | None = None) -> int:
    """Build from the command line; 0 also when a part was skipped."""
    parser = argparse.ArgumentParser(description="Build provio's native parts.")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, help="where the result goes")
    parser.add_argument("--sanitize", action="store_true", help="trap on undefined behaviour")
    parser.add_argument("--werror", action="store_true", help="warnings are errors")
    options = parser.parse_args(arguments)
    try:
        results = build(options.out, sanitize=options.sanitize, werror=options.werror)
    except BuildError as error:
        print(f"build failed: {error}", file=sys.stderr)
        return 1
    for part, result in results.items():
        print(f"{part}: {'built' if result.built else 'skipped: ' + result.reason}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
