"""The models of an organisation or of a collection on the Hub, kept on disk so that they can be listed offline."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from trnui.catalog.dataset.rankings import EXPAND, Ranked, ranked
from trnui.catalog.dataset.snapshot import HUB, endpoint
from trnui_runner.common.errors import UsageError
from trnui_runner.common.files import cache_dir, private_dir, read_json, write_json
from trnui_runner.common.text import age, one_line, slug

if TYPE_CHECKING:
    from huggingface_hub import HfApi

VERSION: Final = 1
MOST: Final = 1_000  # models of one list
FRESH_S: Final = 86_400.0  # a list younger than this is used without asking
_ORG = re.compile(r"[A-Za-z0-9][\w.-]{0,95}")
_COLLECTION = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]{1,200}")

Kind = Literal["org", "collection"]


@dataclass(frozen=True)
class ModelList:
    kind: Kind
    name: str
    fetched: float
    models: tuple[Ranked, ...]

    @property
    def words(self) -> str:
        most = f" (the first {MOST:,})" if len(self.models) >= MOST else ""
        return f"{self.kind} {self.name}: {len(self.models):,} model{'s' * (len(self.models) != 1)}{most}, {age(time.time() - self.fetched)}"


def checked(kind: Kind, name: str) -> str:
    """The name as the Hub takes it; a collection also by its address. Raises UsageError."""
    if kind == "collection":
        name = re.sub(r"^https?://[^/]+/collections/", "", name)
    if not (_ORG if kind == "org" else _COLLECTION).fullmatch(name):
        form = "as Qwen" if kind == "org" else "as owner/title-0123456789abcdef, or its address"
        raise UsageError(f"--{kind} {one_line(name, 200)}: not a name on the Hub", f"It is written {form}.")
    return name


def load(kind: Kind, name: str) -> ModelList | None:
    """What is on disk; None if it was never fetched from this Hub."""
    value = read_json(_path(kind, name))
    if not isinstance(value, dict) or value.get("v") != VERSION or value.get("name") != name:
        return None
    try:
        return ModelList(kind, name, float(value["fetched"]), tuple(Ranked(**m) for m in value["models"]))
    except (KeyError, TypeError, ValueError):
        return None


def fetch(api: HfApi, kind: str, name: str, beat: Callable[[], None] = lambda: None) -> str:
    """In the child: asks the Hub and stores the list; returns words. Raises HubError and the client's own kinds."""
    infos: list[Any]
    if kind == "org":
        found = api.list_models(author=name, sort="downloads", limit=MOST, expand=list(EXPAND))
        infos = list(islice(found, MOST))
        models = {m.model_id.lower(): m for m in (ranked(info, n) for n, info in enumerate(infos, 1))}
    else:
        items = [i for i in api.get_collection(name).items if i.item_type == "model"][:MOST]
        models = {str(i.item_id).lower(): Ranked(str(i.item_id)[:200], n) for n, i in enumerate(items, 1)}
    beat()
    path = _path(kind, name)
    private_dir(path.parent)
    kept = [asdict(m) for m in models.values()]
    write_json(path, {"v": VERSION, "kind": kind, "name": name, "fetched": time.time(), "models": kept})
    return f"{len(kept):,} model{'s' * (len(kept) != 1)}"


def _path(kind: str, name: str) -> Path:
    hub = endpoint()
    where = "" if hub == HUB else "@" + slug(hub.partition("://")[2].replace(":", "-"))
    return cache_dir() / "hub" / f"{kind}-{slug(name.replace('/', '--'), 120)}{where}.json"
