"""The Hub's own Trending and Downloads lists, one pair a task, kept on disk with their age; and single models looked up by name.

The Hub has no rank field: a model's rank is its place in the list. Fetching happens in the child (fetch.py) only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trnui.catalog.dataset.snapshot import HUB, endpoint
from trnui.catalog.query import View
from trnui_runner.common.dataset_schema import TASKS
from trnui_runner.common.files import cache_dir, private_dir, read_json, write_json
from trnui_runner.common.text import age, size, slug
from trnui_runner.payload.sharding import CORE_BYTES, COUNTS, FILL

if TYPE_CHECKING:
    from huggingface_hub import HfApi

VERSION: Final = 1
_LONGEST: Final = 200  # characters of a name; the Hub's own limit is 96
TOP: Final = 200  # models of each list: one page, one request
SORTS: Final = {View.TRENDING: "trending_score", View.DOWNLOADS: "downloads"}
EXPAND: Final = (
    "downloads", "trendingScore", "pipeline_tag", "gated", "safetensors", "library_name", "lastModified",
)  # fmt: skip
# Bytes of a parameter by the names that safetensors gives its types; packed ones count as stored.
_BYTES: Final = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2}
USABLE: Final = int(CORE_BYTES * FILL)  # of a core, for weights: the rest is for activations, cache and the runtime


@dataclass(frozen=True)
class Ranked:
    """A model as the Hub describes it. Sizes in bytes, times UTC epoch seconds; None where the Hub does not say."""

    model_id: str
    rank: int = 0
    downloads: int | None = None
    trending_score: float | None = None
    parameters: int | None = None
    weight_bytes: int | None = None
    gated: str | None = None
    pipeline_tag: str | None = None
    library_name: str | None = None
    last_modified: float | None = None


@dataclass(frozen=True)
class Ranking:
    """Both lists of a task, in the Hub's order."""

    task: str
    endpoint: str
    fetched: float
    trending: tuple[Ranked, ...]
    downloads: tuple[Ranked, ...]

    @property
    def words(self) -> str:
        return f"Hub rankings of {self.task}, {age(time.time() - self.fetched)}"


@dataclass(frozen=True)
class Fit:
    """Whether weights of a size fit on Trainium by their size alone; `cores` None: on none of 1 to 16."""

    weight_bytes: int | None
    cores: int | None

    @property
    def words(self) -> str:
        if self.weight_bytes is None:
            return "size unknown: the Hub lists no safetensors weights"
        if self.cores is None:
            return f"{size(self.weight_bytes)} of weights: more than 16 cores of {size(CORE_BYTES)} hold"
        many = "one core" if self.cores == 1 else f"{self.cores} cores"
        return (
            f"{size(self.weight_bytes)} of weights: would fit {many} by size ({size(USABLE)} of {size(CORE_BYTES)} a core for weights); "
            "whether it runs is not known"
        )


def load(task: str) -> Ranking | None:
    """The stored lists of a task; None if they were never fetched from this Hub."""
    value = read_json(_path(task))
    if not isinstance(value, dict) or value.get("v") != VERSION:
        return None
    try:
        lists = {view: tuple(Ranked(**row) for row in value[view]) for view in ("trending", "downloads")}
        return Ranking(str(value["task"]), str(value["endpoint"]), float(value["fetched"]), **lists)
    except (KeyError, TypeError, ValueError):
        return None


def stored() -> tuple[Ranking, ...]:
    """The lists of every known task that are on disk."""
    found = (load(task) for task in TASKS)
    return tuple(ranking for ranking in found if ranking is not None)


def stale(now: float, limit: float) -> tuple[str, ...]:
    """Tasks whose lists are older than `limit` seconds or not there."""
    found = {task: load(task) for task in TASKS}
    return tuple(task for task, ranking in found.items() if ranking is None or now - ranking.fetched > limit)


def fit(weight_bytes: int | None) -> Fit:
    if weight_bytes is None:
        return Fit(None, None)
    return Fit(weight_bytes, next((n for n in COUNTS if weight_bytes / n <= USABLE), None))


Line = tuple[str, str, int, str, int | None, float | None, int | None, str | None]


def lines(rankings: Iterable[Ranking]) -> list[Line]:
    """As `Database.set_rankings` takes them: (view, task, rank, model, downloads, trending score, parameters, gated)."""
    return [
        (view.value, r.task, m.rank, m.model_id, m.downloads, m.trending_score, m.parameters, m.gated)
        for r in rankings
        for view, models in ((View.TRENDING, r.trending), (View.DOWNLOADS, r.downloads))
        for m in models
    ]


# -- in the child


def fetch(api: HfApi, task: str, beat: Callable[[], None] = lambda: None) -> str:
    """Asks the Hub for both lists of a task and stores them; returns words. Raises HubError and the client's own kinds."""
    lists: dict[str, list[dict[str, Any]]] = {}
    for view, key in SORTS.items():
        found = api.list_models(sort=key, pipeline_tag=task, limit=TOP, expand=list(EXPAND))  # type: ignore[arg-type]
        lists[view.value] = [asdict(model) for model in distinct(found)]
        beat()
    path = _path(task)
    private_dir(path.parent)
    value = {"v": VERSION, "task": task, "endpoint": endpoint(), "fetched": time.time(), **lists}
    write_json(path, value)
    return f"{len(lists['trending'])} trending, {len(lists['downloads'])} by downloads"


def distinct(infos: Iterable[Any]) -> list[Ranked]:
    """In the Hub's order, each model once: a list may shift while it is read page by page, and a page may link to itself."""
    found: dict[str, Ranked] = {}
    for info in islice(infos, 2 * TOP):
        model = ranked(info, len(found) + 1)
        if model.model_id.lower() not in found and len(found) < TOP:
            found[model.model_id.lower()] = model
    return list(found.values())


def lookup(api: HfApi, model: str) -> Ranked:
    """One model by its exact name. Raises HubError and the client's own kinds."""
    return ranked(api.model_info(model, expand=list(EXPAND)), 0)


def ranked(info: Any, rank: int) -> Ranked:
    """From huggingface_hub's ModelInfo, any of whose fields may be None or of another type than announced."""
    weights = getattr(info, "safetensors", None)
    parts = dict(getattr(weights, "parameters", None) or {})
    total = getattr(weights, "total", None)
    gated = getattr(info, "gated", None)
    modified = getattr(info, "last_modified", None)
    return Ranked(
        model_id=str(info.id)[:_LONGEST],
        rank=rank,
        downloads=_int(getattr(info, "downloads", None)),
        trending_score=_float(getattr(info, "trending_score", None)),
        parameters=_int(total) if total is not None else (sum(parts.values()) if parts else None),
        weight_bytes=weight_bytes(parts) if parts else None,
        gated=None if gated is None else (_word(str(gated)) if gated else "no"),
        pipeline_tag=_word(getattr(info, "pipeline_tag", None)),
        library_name=_word(getattr(info, "library_name", None)),
        last_modified=modified.timestamp() if modified else None,
    )


def weight_bytes(parameters: dict[str, int]) -> int:
    """Bytes of the weights as stored, from the number of parameters of each type."""
    return sum(count * _BYTES.get(kind, 1) for kind, count in parameters.items())


def _word(value: object) -> str | None:
    return value[:_LONGEST] if isinstance(value, str) else None


def _int(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) else None


def _float(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _path(task: str) -> Path:
    hub = endpoint()
    where = "" if hub == HUB else "@" + slug(hub.partition("://")[2].replace(":", "-"))
    return cache_dir() / "hub" / f"rankings-{slug(task)}{where}.json"
