"""Settings: the few things a user can choose once instead of every time. Stdlib only.

In falling order: the environment, ``.provio/config.toml`` of the store, the
user's ``$XDG_CONFIG_HOME/provio/config.toml``, the default. A file has flat
``name = value`` lines in TOML. Unknown names and wrong values are errors that
name the file; what runs beside a workflow catches them and uses defaults.
``provio config`` shows and changes them.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from provio.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

Value = str | int | tuple[str, ...]

_SIZE = re.compile(r"(\d+)\s*([KMGT]i?B?|B)?", re.IGNORECASE)
_UNITS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\*?")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Attributes:
        name: key in the files.
        variable: environment variable that overrides them.
        default: value where nothing is said.
        meaning: one line for people.
        choices: allowed words, empty if free.
    """

    name: str
    variable: str
    default: Value
    meaning: str
    choices: tuple[str, ...] = ()

    def parse(self, raw: Any, origin: str) -> Value:
        """Return the value of what a file or variable says.

        Raises:
            UsageError: it is not such a value.
        """
        value = _parsed(self, raw)
        if value is None or (self.choices and value not in self.choices):
            raise UsageError(
                f"{origin}: {self.name} cannot be {raw!r}", hint=f"{self.name} is {self.expects}"
            )
        return value

    @property
    def expects(self) -> str:
        """Say what values it takes."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if isinstance(self.default, int):
            return "a number of bytes, such as 0, 1048576 or 64 MiB"
        return 'a list of words, such as ["a", "b"] (or a,b)'


SETTINGS: Final = (
    Setting("trace", "PROVIO_TRACE", "aggregate",
            "How much is recorded: sums per open file, every read and write, or nothing.",
            ("aggregate", "full", "off")),
    Setting("digest_limit", "PROVIO_DIGEST_LIMIT", 1 << 30,
            "How many bytes of a run's results are read for SHA-256 digests when it is sealed; 0: none."),
    Setting("redact", "PROVIO_REDACT", (),
            "Words whose values are hidden in recorded commands, besides the built-in ones."),
    Setting("environment", "PROVIO_ENV_ALLOW", (),
            "Environment variables whose values are recorded with a run (NAME or PREFIX*)."),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Chosen:
    """A setting with its value and where that comes from."""

    setting: Setting
    value: Value
    origin: str


def user_file() -> Path:
    """Return the user's file, whether or not it exists."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    folder = Path(base) if base.startswith("/") else Path("~/.config").expanduser()
    return folder / "provio" / "config.toml"


def store_file(store: Path) -> Path:
    """Return the file of a store, whether or not it exists."""
    return store / "config.toml"


def effective(store: Path | None = None, environ: Mapping[str, str] | None = None) -> dict[str, Chosen]:
    """Return every setting with its value and origin.

    Args:
        store: directory of the store, None to leave its file out.
        environ: environment to look in, the process's own by default.

    Raises:
        UsageError: a file cannot be read or says something unknown.
    """
    environ = os.environ if environ is None else environ
    chosen = {setting.name: Chosen(setting, setting.default, "default") for setting in SETTINGS}
    for file in (user_file(), *([store_file(store)] if store else [])):
        for name, raw in read_file(file).items():
            setting = setting_of(name, str(file))
            chosen[name] = Chosen(setting, setting.parse(raw, str(file)), str(file))
    for setting in SETTINGS:
        if environ.get(setting.variable):
            value = setting.parse(environ[setting.variable], setting.variable)
            chosen[setting.name] = Chosen(setting, value, f"environment ({setting.variable})")
    return chosen


def setting_of(name: str, origin: str = "") -> Setting:
    """Return the setting of that name.

    Raises:
        UsageError: there is none; the hint has the nearest.
    """
    for setting in SETTINGS:
        if setting.name == name:
            return setting
    from difflib import get_close_matches

    names = [setting.name for setting in SETTINGS]
    near = get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"the settings are {', '.join(names)}"
    raise UsageError(f"{origin + ': ' if origin else ''}there is no setting {name!r}", hint=hint)


def read_file(file: Path) -> dict[str, Any]:
    """Return what a file says; nothing where it does not exist.

    Raises:
        UsageError: it cannot be read, or is not TOML.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}", hint="repair or remove the file") from None
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file} is not TOML: {error}", hint="repair or remove the file") from None


def write_setting(file: Path, setting: Setting, value: Value) -> None:
    """Set one line of a file, leaving the others and their comments as they are.

    Raises:
        UsageError: the file cannot be written, or has the setting in a form that one line cannot replace.
    """
    read_file(file)
    old = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    line = f"{setting.name} = {toml_value(value)}"
    pattern = re.compile(rf"\s*{setting.name}\s*=")
    places = [index for index, text in enumerate(old) if pattern.match(text)]
    lines = [line if index in places else text for index, text in enumerate(old)]
    if not places:
        lines.append(line)
    _replace_file(file, "\n".join(lines) + "\n", setting, value)


def _replace_file(file: Path, text: str, setting: Setting, value: Value) -> None:
    import tomllib

    try:
        said = tomllib.loads(text).get(setting.name)
    except tomllib.TOMLDecodeError:
        said = None
    if said is None or setting.parse(said, str(file)) != value:
        raise UsageError(f"{file} sets {setting.name} over several lines", hint="change that file by hand")
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8")
        beside.replace(file)
    except OSError as error:
        raise UsageError(
            f"{file} cannot be written: {error.strerror}", hint="check the directory's owner and mode"
        ) from None


def toml_value(value: Value) -> str:
    """Return a value as TOML writes it."""
    import json

    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)


def _parsed(setting: Setting, raw: Any) -> Value | None:
    if isinstance(setting.default, tuple):
        words = [word.strip() for word in raw.split(",")] if isinstance(raw, str) else raw
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            return None
        words = [word for word in words if word]
        return tuple(words) if all(_NAME.fullmatch(word) for word in words) else None
    if isinstance(setting.default, int):
        return _bytes(raw)
    return raw if isinstance(raw, str) else None


def _bytes(raw: Any) -> int | None:
    if isinstance(raw, int) and not isinstance(raw, bool):
        return raw if raw >= 0 else None
    match = _SIZE.fullmatch(raw.strip()) if isinstance(raw, str) else None
    if match is None:
        return None
    unit = (match[2] or "").lower().removesuffix("b").removesuffix("i")
    return int(match[1]) << (10 * _UNITS[unit])
