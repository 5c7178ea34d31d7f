"""Classes of noise: which files are of the machine and the tools rather than of the workflow.

The one place of these rules, to be reviewed as such. A class hides nothing:
accesses to these files are kept and counted, but they make no versions and no
derivations, and reports leave them out by default. A file that the run itself
wrote, made or renamed is always ``data`` (except in ``provio``, ``kernel`` and
``device``), so that a shared object that a job compiles is no library.

| class | what | why it is not data |
|---|---|---|
| provio | our spool, store and tracer | our own trace |
| kernel | /proc, /sys, cgroup files | views of the kernel, not content |
| device | /dev (not /dev/shm, /dev/mqueue) | no content between runs |
| loader | ld.so.cache, ld.so.preload, linker search | dynamic linking |
| library | shared objects in system and interpreter prefixes | dynamic linking |
| locale | locale archives, gconv, message catalogues, nsswitch | C library's own look-ups |
| timezone | zoneinfo, localtime | C library's own look-ups |
| interpreter | standard library, packages, byte code of interpreters that ran | the program, not its input |
| program | executables in system directories; absent names met along PATH | the program, not its input |
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

DATA: Final = "data"
ALWAYS: Final = frozenset({"provio", "kernel", "device"})
"""Classes that stay even if the run wrote such a file."""

_SYSTEM: Final = rb"/(?:usr/(?:local/)?)?"

_ANYWHERE: Final = rb".*/"
_RULES: Final[tuple[tuple[str, tuple[bytes, ...]], ...]] = (
    ("kernel", (rb"/(?:proc|sys)(?:/|$)", _ANYWHERE + rb"cgroup\.procs$")),
    ("device", (rb"/dev(?:/(?!shm/|mqueue/)|$)",)),
    ("loader", (
        rb"/etc/ld\.so\.", _ANYWHERE + rb"ld\.so\.cache$", _ANYWHERE + rb"glibc-hwcaps(?:/|$)",
        _ANYWHERE + rb"(?:tls|haswell|x86_64|avx512_1)/(?:.*/)?lib[^/]*\.so",
    )),
    ("timezone", (rb"/etc/(?:localtime|timezone)$", rb"/usr/(?:share|lib)/zoneinfo(?:/|$)")),
    ("locale", (
        rb"/usr/(?:lib|share)/locale(?:/|$)", rb"/usr/lib(?:64)?/(?:[^/]+/)?gconv(?:/|$)",
        rb"/usr/share/i18n/",
        rb"/etc/(?:locale\.alias|nsswitch\.conf|host\.conf|resolv\.conf|gai\.conf)$",
    )),
    ("library", (
        _SYSTEM + rb"lib(?:32|64|x32)?(?:exec)?/(?:.*/)?[^/]*\.so(?:\.[0-9.]+)?$",
        rb"/(?:etc|usr/lib)/ssl/openssl\.cnf$",  # libcrypto's own, read at its start
    )),
    ("program", (_SYSTEM + rb"s?bin(?:/|$)",)),
    ("interpreter", (
        _ANYWHERE + rb"__pycache__(?:/|$)", rb".*\.py[co]$", _ANYWHERE + rb"(?:site|dist)-packages(?:/|$)",
        rb"/usr/(?:local/)?lib/(?:python|perl|ruby|R|node_modules)[^/]*(?:/|$)",
        rb"/usr/share/(?:perl|python)[^/]*(?:/|$)", rb"/etc/(?:perl|python)[^/]*/",
        _ANYWHERE + rb"pyvenv\.cfg$", _ANYWHERE + rb"bin/(?:python|pypy)[0-9.]*$",
    )),
)  # fmt: skip

_PATTERN: Final = re.compile(b"|".join(b"(%s)" % b"|".join(each) for _, each in _RULES), re.DOTALL)
_NAMES: Final = tuple(name for name, _ in _RULES)
_INTERPRETERS: Final = re.compile(
    rb"(.*)/bin/(?:python|pypy|perl|ruby|R|Rscript|node|julia)[0-9.]*$", re.DOTALL
)


class Categories:
    """The rules with what is known of one run.

    Args:
        own: directories of ours (store, native libraries).
        programs: executables of the run's process images; the prefixes of
            interpreters among them (``<prefix>/bin/python3``) are theirs.
    """

    def __init__(self, own: Iterable[bytes], programs: Iterable[bytes]) -> None:
        self._own = tuple(directory.rstrip(b"/") + b"/" for directory in own)
        self._prefixes = tuple(sorted({p for exe in programs for p in interpreter_places(exe)}))
        self._executables = frozenset(programs)

    def of(self, path: bytes) -> str:
        """Return the class of a path."""
        if self._own and (path + b"/").startswith(self._own):
            return "provio"
        found = _PATTERN.match(path)
        if found:
            return _NAMES[(found.lastindex or 1) - 1]
        if self._prefixes and path.startswith(self._prefixes):
            return "interpreter"
        return DATA


def interpreter_places(executable: bytes) -> tuple[bytes, ...]:
    """Return the places that belong to an interpreter by its path, () for other programs."""
    found = _INTERPRETERS.match(executable)
    if not found:
        return ()
    prefix = found.group(1)
    places = (b"/lib/", b"/lib64/", b"/bin/", b"/pyvenv.cfg", b"/share/locale/", b"/etc/ssl/")
    return tuple(prefix + place for place in places)
