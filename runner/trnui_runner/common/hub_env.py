"""The environment variables of huggingface_hub, read in one place: cache folder, offline, token. As huggingface_hub reads them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

TOKENS: Final = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH")
_VARIABLE: Final = re.compile(r"\$(?:(\w+)|\{(\w+)\})", re.ASCII)
_TRUE: Final = ("1", "ON", "YES", "TRUE")


def hub_home(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of cache and token: HF_HOME, else `huggingface` in the user's cache."""
    home = environ.get("HF_HOME") or os.path.join(environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    return _expanded(home, environ)


def hub_cache(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder that holds `models--owner--name`."""
    chosen = environ.get("HF_HUB_CACHE") or environ.get("HUGGINGFACE_HUB_CACHE")
    return _expanded(chosen, environ) if chosen else hub_home(environ) / "hub"


def is_offline(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the user has told the Hub's library to ask no network."""
    return (environ.get("HF_HUB_OFFLINE") or environ.get("TRANSFORMERS_OFFLINE") or "").upper() in _TRUE


def has_token(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a Hub token is at hand. Only its presence is looked at, never what it is."""
    if environ.get("HF_TOKEN") or environ.get("HUGGING_FACE_HUB_TOKEN"):
        return True
    stored = environ.get("HF_TOKEN_PATH")
    try:
        return os.stat(_expanded(stored, environ) if stored else hub_home(environ) / "token").st_size > 0
    except OSError:
        return False


def without_token(environ: Mapping[str, str]) -> dict[str, str]:
    """The same environment for a child that must send no token, neither from a variable nor from a file."""
    return {k: v for k, v in environ.items() if k not in TOKENS} | {"HF_HUB_DISABLE_IMPLICIT_TOKEN": "1"}


def _expanded(path: str, environ: Mapping[str, str]) -> Path:
    """`$NAME` and `~` as huggingface_hub expands them."""
    expanded = _VARIABLE.sub(lambda found: environ.get(found[1] or found[2], found[0]), path)
    home = environ.get("HOME")
    if home and (expanded == "~" or expanded.startswith("~/")):
        return Path(home + expanded[1:])
    return Path(os.path.expanduser(expanded))
