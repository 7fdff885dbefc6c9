"""What to run: one frozen value, written as `recipe.json` by whoever starts a run and read by everyone who follows it."""

from __future__ import annotations

import dataclasses
import secrets
import time
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from trnui_runner.common.text import clean, one_line, slug
from trnui_runner.run_folder.fields import Damaged, Fields

VERSION = 2  # since 2 results are sealed: their digest stands in state.json
PROMPT = "The compiler turns every graph into"
QUESTION = "What does the picture show?"  # about a picture, in the place of PROMPT
NEW_TOKENS = 32  # the published protocol's

Script = Literal["published", "bundled", "file"]
Device = Literal["neuron", "cpu", "stand-in"]
Parallelism = Literal["none", "tp", "ep"]
SCRIPTS: tuple[Script, ...] = get_args(Script)
DEVICES: tuple[Device, ...] = get_args(Device)
PARALLELISMS: tuple[Parallelism, ...] = get_args(Parallelism)
NAME = "recipe.json"
MOST = 16 << 20  # bytes


@dataclass(frozen=True)
class RowSource:
    """Where a row, and so a published script, comes from. `row` counts from 0 inside `file`."""

    dataset: str
    revision: str | None = None
    file: str | None = None
    row: int | None = None

    @classmethod
    def from_json(cls, value: object) -> RowSource:
        """Raises Damaged."""
        given = Fields(f"{NAME}: source", value)
        return cls(given.line("dataset"), given.maybe("revision"), given.maybe("file"), given.whole("row"))


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
    source: RowSource | None = None
    row: dict[str, Any] | None = None
    device: Device = "cpu"
    cores: int = 1
    parallelism: Parallelism = "none"
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
        """Raises Damaged when the value is no recipe; unknown keys (a newer version's) are left out. What a run may be
        started with again stands there as it was given, the rest is clean."""
        given = Fields(NAME, value)
        run, model = given.line("id"), given.raw("model")
        if not run or not model:
            raise Damaged(f"{NAME} is no recipe: no id or model")
        source = RowSource.from_json(given.mapping("source")) if given.has("source") else None
        return cls(
            id=run,
            model=clean(model),
            task=given.line("task", "text-generation"),
            library=given.line("library", "transformers"),
            revision=given.maybe("revision"),
            script=given.word("script", SCRIPTS) or "bundled",
            script_sha256=given.line("script_sha256"),
            source=source,
            row=given.row("row"),
            device=given.word("device", DEVICES) or "cpu",
            cores=_positive(given, "cores", 1),
            parallelism=given.word("parallelism", PARALLELISMS) or "none",
            dtype=given.line("dtype", "auto"),
            prompt=PROMPT if given.raw("prompt") is None else given.raw("prompt") or "",
            image=given.raw("image"),
            max_new_tokens=_positive(given, "max_new_tokens", NEW_TOKENS),
            python=given.raw("python") or "",
            timeout_s=given.number("timeout_s"),
            judge=given.maybe("judge"),
            options=given.mapping("options") or {},
            v=given.whole("v") or 1,
        )

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


def _positive(given: Fields, key: str, usual: int) -> int:
    value = given.whole(key)
    if value is not None and not 0 < value < 1 << 31:
        raise Damaged(f"{NAME}: {key} is out of range")
    return value or usual


def new_id(model: str, now: float | None = None) -> str:
    """`YYYYMMDD-HHMMSS-<model slug>-<4 hex>`, local time, as the run folder is called."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    return f"{stamp}-{slug(model)}-{secrets.token_hex(2)}"
