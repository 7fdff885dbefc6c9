"""What to run: one frozen value, written as `recipe.json` by whoever starts a run and read by everyone who follows it."""

from __future__ import annotations

import dataclasses
import secrets
import time
from dataclasses import dataclass, field
from typing import Any, Literal

from trnui_runner.common.text import one_line, slug

VERSION = 1
PROMPT = "The compiler turns every graph into"
QUESTION = "What does the picture show?"  # about a picture, in the place of PROMPT
NEW_TOKENS = 32  # the published protocol's
DEVICES = ("neuron", "cpu", "stand-in")

Script = Literal["published", "bundled", "file"]
Device = Literal["neuron", "cpu", "stand-in"]


@dataclass(frozen=True)
class Source:
    """Where a row, and so a published script, comes from. `row` counts from 0 inside `file`."""

    dataset: str
    revision: str | None = None
    file: str | None = None
    row: int | None = None


@dataclass(frozen=True)
class Recipe:
    """Fields as in the run folder's `recipe.json`. `row` holds the dataset's columns without `run_py`, or None."""

    id: str
    model: str
    task: str = "text-generation"
    library: str = "transformers"
    revision: str | None = None
    script: Script = "bundled"
    script_sha256: str = ""
    source: Source | None = None
    row: dict[str, Any] | None = None
    device: Device = "cpu"
    cores: int = 1
    parallelism: Literal["none", "tp", "ep"] = "none"
    dtype: str = "auto"
    prompt: str = PROMPT
    image: str | None = None
    max_new_tokens: int = NEW_TOKENS
    python: str = ""
    timeout_s: float | None = None
    judge: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    v: int = VERSION

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, value: object) -> Recipe:
        """Raises ValueError when the value is no recipe; unknown keys (a newer version's) are left out."""
        if (
            not isinstance(value, dict)
            or not isinstance(value.get("id"), str)
            or not isinstance(value.get("model"), str)
        ):
            raise ValueError("not a recipe: no id or model")
        known = {f.name for f in dataclasses.fields(cls)}
        data = {k: v for k, v in value.items() if k in known}
        if isinstance(data.get("source"), dict):
            names = {f.name for f in dataclasses.fields(Source)}
            data["source"] = Source(**{k: v for k, v in data["source"].items() if k in names})
        return cls(**data)

    def departures(self) -> tuple[str, ...]:
        """What is "not the protocol" here, in words; empty for a run as published."""
        found = []
        if self.max_new_tokens != NEW_TOKENS:
            found.append(f"{self.max_new_tokens} new tokens instead of {NEW_TOKENS}")
        if self.script == "bundled" and self.prompt not in (PROMPT, QUESTION):
            found.append("a prompt of one's own")
        if self.script == "bundled" and self.dtype != "auto":
            found.append(f"dtype {one_line(self.dtype, 20)} by option")
        if self.device != "neuron":
            found.append(f"on {'the CPU' if self.device == 'cpu' else 'a stand-in device'}, not on Trainium")
        if self.script == "file":
            found.append("a script of one's own")
        return tuple(found)


def new_id(model: str, now: float | None = None) -> str:
    """`YYYYMMDD-HHMMSS-<model slug>-<4 hex>`, local time, as the run folder is called."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    return f"{stamp}-{slug(model)}-{secrets.token_hex(2)}"
