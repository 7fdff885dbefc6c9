"""Which models have a tested Neuron recipe in Hugging Face's inference catalog: a second official source, kept on disk.

A recipe was tested for serving, with an engine of its own; it is not a result of the dataset's test and never shown as one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trnui.catalog.dataset.snapshot import HUB, endpoint
from trnui_runner.common.files import cache_dir, private_dir, read_json, write_json
from trnui_runner.common.text import age, one_line, slug

if TYPE_CHECKING:
    from huggingface_hub import HfApi

VERSION: Final = 1
MOST: Final = 5_000  # models kept
RECIPES: Final = 20  # kept of one model
EVERY_S: Final = 86_400.0  # seconds after which it is asked for again
ACCELERATOR: Final = "neuron"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True)
class ServingRecipe:
    """One tested way to serve a model: the catalog's id of it, the engine and the checkpoint's revision where it is pinned."""

    id: str
    engine: str
    revision: str | None = None


@dataclass(frozen=True)
class InferenceCatalog:
    """`models`: by name, their Neuron recipes. Empty where the Hub in use has no such catalog."""

    endpoint: str
    fetched: float
    models: dict[str, tuple[ServingRecipe, ...]]

    @property
    def words(self) -> str:
        many = len(self.models)
        return f"{many:,} model{'s' * (many != 1)} with a tested Neuron recipe, {age(time.time() - self.fetched)}"

    def of(self, model: str) -> tuple[ServingRecipe, ...]:
        """The recipes of a model, its name in any case."""
        found = self.models.get(model)
        if found is None:
            lower = model.lower()
            found = next((r for name, r in self.models.items() if name.lower() == lower), ())
        return found


def load() -> InferenceCatalog | None:
    """What is on disk; None if it was never fetched from this Hub, or cannot be read."""
    value = read_json(_path())
    if not isinstance(value, dict) or value.get("v") != VERSION:
        return None
    try:
        models = {
            str(name): tuple(ServingRecipe(**recipe) for recipe in recipes) for name, recipes in value["models"].items()
        }
        return InferenceCatalog(str(value["endpoint"]), float(value["fetched"]), models)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def stale(now: float, limit: float = EVERY_S) -> bool:
    found = load()
    return found is None or now - found.fetched > limit


# -- in the child


def fetch(api: HfApi, beat: Callable[[], None] = lambda: None) -> str:
    """Asks for the catalog and stores it; returns words. Raises HubError and the client's own kinds.

    A client older than huggingface_hub 2.4 cannot ask; a Hub without a catalog has none, which is remembered for a day.
    """
    from trnui.catalog.hub.hub_errors import HubError

    ask = getattr(api, "list_inference_catalog", None)
    if ask is None:
        return "not asked: this needs huggingface_hub 2.4 or newer"
    try:
        models = recipes_of(ask(accelerator=ACCELERATOR, limit=MOST))
        words = f"{len(models):,} model{'s' * (len(models) != 1)} with a tested Neuron recipe"
    except HubError as error:
        if error.kind != "missing":
            raise
        models, words = {}, "this Hub has no inference catalog"
    beat()
    path = _path()
    private_dir(path.parent)
    kept = {name: [asdict(recipe) for recipe in recipes] for name, recipes in models.items()}
    write_json(path, {"v": VERSION, "endpoint": endpoint(), "fetched": time.time(), "models": kept})
    return words


def recipes_of(items: Iterable[Any]) -> dict[str, tuple[ServingRecipe, ...]]:
    """From huggingface_hub's InferenceCatalogModel; of foreign names only those that can be a model's, all of it bounded."""
    found: dict[str, tuple[ServingRecipe, ...]] = {}
    for item in items:
        name = str(getattr(item, "repo_id", ""))[:200]
        if len(found) >= MOST:
            break
        if not _NAME.fullmatch(name):
            continue
        recipes = [
            ServingRecipe(one_line(r.id, 100), one_line(r.engine, 40), one_line(r.revision, 64) if r.revision else None)
            for r in list(getattr(item, "recipes", ()))[:RECIPES]
            if r.accelerator == ACCELERATOR
        ]
        if recipes:
            found[name] = tuple(recipes)
    return found


def _path() -> Path:
    hub = endpoint()
    where = "" if hub == HUB else "@" + slug(hub.partition("://")[2].replace(":", "-"))
    return cache_dir() / "hub" / f"inference-catalog{where}.json"
