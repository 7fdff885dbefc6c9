"""Where a checkpoint's files are on this host, and what its config.json says. Asks no network."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trnui_runner.common.files import read_json
from trnui_runner.common.hub_env import hub_cache

TEXT, PICTURE = "text-generation", "image-text-to-text"


def folder_of(model: str, revision: str | None = None) -> Path | None:
    """The folder itself for a local model, the snapshot in the Hub's cache for an id; None when it is not on disk."""
    if is_local(model):
        return Path(os.path.expanduser(model)) if is_folder(model) else None
    repository = hub_cache() / f"models--{model.replace('/', '--')}"
    name = revision or "main"
    try:
        commit = (repository / "refs" / name).read_text(encoding="ascii").strip()
    except (OSError, ValueError):  # no such file, or a name that no file can have
        commit = name
    snapshot = repository / "snapshots" / commit
    return snapshot if is_folder(str(snapshot)) else None


def is_folder(name: str) -> bool:
    """Any string is allowed: too long for a path, with NUL in it, naming an unknown user."""
    return os.path.isdir(os.path.expanduser(name))


def is_local(model: str) -> bool:
    """A path rather than a Hub id: it exists, or it cannot be an id."""
    return is_folder(model) or model.startswith(("/", "./", "../", "~")) or model.count("/") > 1


def config_of(folder: Path) -> dict[str, Any]:
    """config.json; empty when there is none."""
    value = read_json(folder / "config.json")
    return value if isinstance(value, dict) else {}


def task_of(config: Mapping[str, Any]) -> str:
    """A generating model with a vision tower is asked about a picture; every other one continues a text."""
    names = config.get("architectures")
    generates = any("ConditionalGeneration" in str(n) or "ImageText" in str(n) for n in names or ())
    return PICTURE if generates and isinstance(config.get("vision_config"), dict) else TEXT
