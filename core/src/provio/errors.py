"""The exception tree.

    ProvioError                 exit code 1
    ├── UsageError              2   the call is wrong
    ├── SetupError              3   something needed is not installed or not allowed
    ├── EvidenceError           4   a spool, record or foreign file cannot be read
    ├── StoreError              5   a store or generation cannot be read or written
    └── PluginError             6   a plugin misbehaves

Each says what happened and where, and its hint says what to do. Only the
command line prints them. Bad *evidence* about a run is not an exception but
data (a Gap); these are raised where no answer can be given at all.
"""

from __future__ import annotations

from typing import ClassVar


class ProvioError(Exception):
    """An error with a remedy.

    Args:
        message: what happened, and where (file, line).
        hint: what the user can do about it.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(ProvioError):
    """The command or call does not fit: unknown name, missing argument."""

    exit_code = 2


class SetupError(ProvioError):
    """A prerequisite is missing: a library, a compiler, a permission."""

    exit_code = 3


class EvidenceError(ProvioError):
    """A file of evidence is foreign, newer than this version, or unreadable."""

    exit_code = 4


class StoreError(ProvioError):
    """The store cannot be found, read or written."""

    exit_code = 5


class PluginError(ProvioError):
    """A plugin is misspelt, raises, or breaks its contract."""

    exit_code = 6
