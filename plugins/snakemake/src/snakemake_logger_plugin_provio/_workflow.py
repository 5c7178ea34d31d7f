"""Which workflow this is: its identity and its configuration files.

Identity: what the user configured, else the version-control remote and the
Snakefile's path in it, else the Snakefile's own path. git is not called: its
configuration is one small file, and a helper process could hang.
"""

from __future__ import annotations

import configparser
import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


def identity(snakefile: str, configured: str | None = None) -> str:
    """Return the identity of a workflow, such as ``git:github.com/a/b//workflow/Snakefile``."""
    if configured:
        return configured
    if "://" in snakefile:
        return snakefile
    path = Path(os.path.realpath(snakefile))
    for folder in path.parents:
        if (folder / ".git").exists():
            remote = _remote(folder / ".git")
            return f"git:{remote}//{path.relative_to(folder)}" if remote else f"file:{path}"
    return f"file:{path}"


def _remote(git: Path) -> str:
    """Return the remote ``origin`` (else the first one) without scheme, user and ``.git``."""
    urls = _remotes(_config_of(git))
    url = urls.get("origin") or next(iter(urls.values()), "")
    url = re.sub(r"^[a-z+]+://", "", url)
    url = re.sub(r"^[^@/]*@", "", url)  # also takes a password out
    return re.sub(r"^([^/:]+):(?!\d+/)", r"\1/", url).removesuffix(".git")


def _config_of(git: Path) -> Path:
    """Return git's configuration file; a worktree or submodule has a pointer instead of a directory."""
    try:
        if git.is_file():
            target = git.parent / git.read_text().partition("gitdir:")[2].strip()
            common = target / "commondir"
            return (target / common.read_text().strip() if common.exists() else target) / "config"
    except OSError:
        pass
    return git / "config"


def _remotes(config: Path) -> dict[str, str]:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string("\n".join(line.strip() for line in config.read_text().splitlines()))
    except (OSError, UnicodeDecodeError, configparser.Error):
        return {}
    found = {}
    for section in parser.sections():
        match = re.fullmatch(r'remote "(.*)"', section)
        if match and parser.has_option(section, "url"):
            found[match[1]] = parser.get(section, "url") or ""
    return found


def configuration(workflow: Any, record: Any) -> dict[str, Any]:
    """Return configuration files with digests, and the values (redacted when written)."""
    files = [str(f) for f in getattr(record, "configfiles", None) or ()]
    values = getattr(workflow, "config", None)
    return {
        "files": list(_digests(files)),
        "md5": str(getattr(record, "config_md5", "")),
        "values": _plain(dict(values)) if values else {},
    }


def _digests(paths: Iterable[str]) -> Iterable[dict[str, str]]:
    for path in paths:
        try:
            digest = "sha256:" + hashlib.sha256(Path(path).read_bytes()).hexdigest()
        except OSError:
            digest = ""
        yield {"path": os.path.abspath(path), "digest": digest}  # noqa: PTH100


def _plain(value: Any) -> Any:
    """Return a configuration value as JSON can hold it."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)
