r"""Redaction: secrets are taken out of argv, command texts and settings before they reach a spool.

The rules, in order. ``core/native/preload/redact.c`` does the same for the
processes that it sees; ``tests/golden/redaction.json`` holds both to one set of
examples. A value is replaced by ``***``; too much hidden is a smaller fault
than a secret shown.

1. A PEM private key, from BEGIN to END (or to the end of the text).
2. The value that follows a secret *name*. A name is a run of letters, digits,
   ``_``, ``-``, ``.``; it is secret if, in lower case, with ``-`` and ``.`` as
   ``_`` and without digits at its end, it ends in one of ``SECRET_ENDINGS``. A
   closing quote (also ``\\"``) may follow the name. Then:
   ``NAME=value`` (blanks allowed around): the value is a shell word;
   ``NAME: value``: up to a line end, quote, comma or closing bracket;
   ``NAME: "value"``: up to the closing quote; ``NAME:value``: a shell word;
   ``--name value`` and ``-name value``: the next shell word, unless that begins
   with ``--``.
   ``Authorization`` hides everything up to the line end or a quote.
3. ``scheme://user:password@``: the password.
4. ``Bearer value``.
5. Tokens of known shape (``TOKEN_SHAPES``), where no word character precedes.

In an argument list, an element ``NAME=value`` is hidden to its end, blanks
included, and a secret option hides the next element unless that begins with ``--``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from provio.model import events as ev

HIDDEN: Final = "***"

SECRET_ENDINGS: Final = (
    "password", "passwd", "passphrase", "secret", "token", "apikey", "api_key", "accesskey", "access_key",
    "privatekey", "private_key", "secretkey", "secret_key", "accountkey", "account_key", "authkey",
    "auth_key", "encryption_key", "signing_key", "credential", "credentials", "authorization",
    "_pass", "_pwd",
)  # fmt: skip

TOKEN_SHAPES: Final = (
    r"gh[opusr]_[A-Za-z0-9]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"glpat-[A-Za-z0-9_-]{16,}",
    r"(?:AKIA|ASIA)[A-Z0-9]{16}",
    r"xox[a-z]-[A-Za-z0-9-]{10,}",
    r"sk-[A-Za-z0-9_-]{20,}",
    r"hf_[A-Za-z0-9]{20,}",
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
)

_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_ENDINGS_ANYWHERE = re.compile(
    "|".join(e.lstrip("_").replace("_", "[_.-]") for e in SECRET_ENDINGS), re.IGNORECASE
)
_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)", re.DOTALL
)
_URL = re.compile(r"(://[^\s/?#\"'<>@:]*:)[^\s/?#\"'<>]*(?=@)")
_BEARER = re.compile(r"(?<![A-Za-z0-9_])(bearer[ \t]+)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)
_SHAPE = re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(TOKEN_SHAPES)})")
_BLANK: Final = " \t"
_WORD_END: Final = frozenset(" \t\r\n;&|()<>")

_redactors: list[Callable[[str], str]] = []
_site_endings: tuple[str, ...] = ()


def add_redactor(redactor: Callable[[str], str]) -> None:
    """Add a site's own rule, applied after the default ones to every text (hook ``provio_redact``)."""
    if redactor not in _redactors:
        _redactors.append(redactor)


def add_secret_endings(words: Iterable[str]) -> None:
    """Treat names that end in these words as secret, too (setting ``redact``)."""
    global _site_endings  # noqa: PLW0603 - one process, one site
    _site_endings = tuple(sorted({*_site_endings, *map(plain_name, words)} - {""}))


def is_secret_name(name: str) -> bool:
    """Tell whether the value of a name (option, variable, key) is a secret."""
    plain = plain_name(name.rstrip("0123456789")).rstrip("_")
    return plain.endswith(SECRET_ENDINGS) or plain.endswith(_site_endings)


def plain_name(name: str) -> str:
    """Return a name in the form in which endings are compared."""
    return name.lower().replace("-", "_").replace(".", "_")


def redact_text(text: str) -> str:
    """Return a command or message without its secrets."""
    if "PRIVATE KEY" in text:
        text = _PEM.sub(HIDDEN, text)
    if _site_endings or _ENDINGS_ANYWHERE.search(text):
        text = _hide_named(text)
    if "://" in text:
        text = _URL.sub(rf"\1{HIDDEN}", text)
    text = _BEARER.sub(rf"\1{HIDDEN}", text)
    text = _SHAPE.sub(HIDDEN, text)
    for redactor in _redactors:
        text = redactor(text)
    return text


def redact_argv(argv: Iterable[str]) -> list[str]:
    """Return an argument list without its secrets."""
    redacted: list[str] = []
    value_follows = False
    for argument in argv:
        if value_follows and argument and not argument.startswith("--"):
            redacted.append(HIDDEN)
            value_follows = False
            continue
        redacted.append(_argument(argument))
        value_follows = _is_secret_option(argument)
    return redacted


def redact_config(value: Any, key: str = "") -> Any:
    """Return settings (nested mappings and lists) without their secrets; the shape stays."""
    if isinstance(value, Mapping):
        return {redact_text(str(k)): redact_config(v, str(k)) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [redact_config(item, key) for item in value]
    if key and is_secret_name(key) and value is not None and not isinstance(value, bool):
        return HIDDEN
    return redact_text(value) if isinstance(value, str) else value


def redact_event(event: ev.Event) -> ev.Event:
    """Return an event without secrets in the parts that come from users."""
    if isinstance(event, ev.TaskStarted):
        return replace(
            event,
            physical=redact_text(event.physical),
            command=redact_text(event.command),
            declared=tuple(map(_declared, event.declared)),
            attributes=redact_config(event.attributes),
        )
    if isinstance(event, ev.RunStarted):
        return replace(event, argv=tuple(redact_argv(event.argv)), config=redact_config(event.config))
    if isinstance(event, ev.ProcessStarted):
        return replace(event, argv=tuple(redact_argv(event.argv)))
    if isinstance(event, ev.TaskEnded):
        return replace(event, message=redact_text(event.message))
    if isinstance(event, ev.GapSeen):
        return replace(event, detail=redact_text(event.detail))
    return event


def _declared(item: ev.Declared) -> ev.Declared:
    """Redact values; declared paths stay as they are, for they are compared with real ones."""
    if item.role not in {"param", "resource", "config", "environment"}:
        return item
    value = HIDDEN if item.name and is_secret_name(item.name) else redact_text(item.value)
    return replace(item, value=value)


def _argument(argument: str) -> str:
    name, equals, value = argument.partition("=")
    if equals and value and _NAME.fullmatch(name) and is_secret_name(name):
        return f"{name}={HIDDEN}"
    return redact_text(argument)


def _is_secret_option(argument: str) -> bool:
    return argument.startswith("-") and _NAME.fullmatch(argument) is not None and is_secret_name(argument)


def _hide_named(text: str) -> str:
    """Apply rule 2."""
    parts: list[str] = []
    done = 0
    for match in _NAME.finditer(text):
        if match.start() < done or not is_secret_name(match[0]):
            continue
        begin, end = _value_after(text, match[0], match.end())
        if begin < end:
            parts += [text[done:begin], HIDDEN]
            done = end
    return "".join(parts) + text[done:]


def _value_after(text: str, name: str, at: int) -> tuple[int, int]:
    """Return begin and end of the value of a name that ends at ``at``; equal if it has none."""
    after_quote = at + len(_quote_at(text, at))
    sign = _skip(text, after_quote, _BLANK)
    if text[sign : sign + 1] in {"=", ":"}:
        begin = _skip(text, _skip(text, sign, "=:"), _BLANK)
        if name.lower().endswith("authorization"):
            return begin, _line_end(text, begin, "\"'")
        if text[sign] == ":":
            return begin, _end_after_colon(text, begin)
        return begin, _word_end(text, begin)
    if name.startswith("-") and after_quote == at and sign > at and not text.startswith("--", sign):
        return sign, _word_end(text, sign)
    return at, at


def _end_after_colon(text: str, begin: int) -> int:
    if quote := _quote_at(text, begin):
        close = _closing(text, begin + len(quote), quote)
        return len(text) if close < 0 else close
    return _line_end(text, begin, "\"',}]") if text[begin - 1] in _BLANK else _word_end(text, begin)


def _skip(text: str, at: int, chars: str) -> int:
    while at < len(text) and text[at] in chars:
        at += 1
    return at


def _quote_at(text: str, at: int) -> str:
    """Return the quote at a position, with the backslash before it that text within quotes has; else ""."""
    escaped = text[at : at + 1] == "\\"
    return text[at : at + 1 + escaped] if text[at + escaped : at + escaped + 1] in {'"', "'"} else ""


def _line_end(text: str, begin: int, stops: str) -> int:
    at = begin
    while at < len(text) and text[at] not in "\r\n" and (text[at] not in stops or at == begin):
        at += 1
    return at


def _word_end(text: str, begin: int) -> int:
    """Return the end of a shell word; an unpaired quote at its begin runs to the end of the text."""
    at = begin
    while at < len(text) and text[at] not in _WORD_END:
        if quote := _quote_at(text, at):
            close = _closing(text, at + len(quote), quote)
            if close < 0:
                return len(text) if at == begin else at
            at = close
        else:
            at += 1 + (text[at] == "\\")
    return min(at, len(text))


def _closing(text: str, at: int, quote: str) -> int:
    """Return the position after the quote that closes ``quote``, -1 if there is none."""
    while at < len(text):
        if text.startswith(quote, at):
            return at + len(quote)
        at += 1 + (text[at] == "\\")
    return -1
