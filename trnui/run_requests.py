"""Run requests from a row, an old run, or the command line's options and the settings; and a run as the command line that repeats it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trnui.catalog.messages import Detail, Provenance
from trnui.settings import Settings
from trnui_runner.common.dataset_schema import COLUMNS
from trnui_runner.common.errors import UsageError
from trnui_runner.common.files import runs_dir
from trnui_runner.common.text import one_line
from trnui_runner.payload.judge import WORD_ORDER
from trnui_runner.preflight.gather import KnownElsewhere
from trnui_runner.request.command_line import options_of, recipe_line
from trnui_runner.request.request import RunRequest
from trnui_runner.request.steps import SupervisionOptions
from trnui_runner.run_folder.folder import RunFolder
from trnui_runner.run_folder.recipe import Recipe, RowSource

if TYPE_CHECKING:
    from trnui.catalog.dataset.snapshot import DatasetSource
    from trnui.catalog.engine.database import Database


SAMPLE_MODEL: Final = "trnui-sample/recites"  # the sample row that repeats everywhere


@dataclass(frozen=True)
class Choices:
    """What `R` lets a user change, as typed; empty means "as usual"."""

    device: str = ""
    cores: str = ""
    script: str = ""
    prompt: str = ""
    max_new_tokens: str = ""
    timeout_s: str = ""
    parallelism: str = ""
    dtype: str = ""
    revision: str = ""
    python: str = ""

    def changes(self) -> dict[str, Any]:
        """As fields of a RunRequest. Raises UsageError naming the field."""
        found: dict[str, Any] = {}
        for name in ("device", "script", "prompt", "parallelism", "dtype", "revision", "python"):
            value = str(getattr(self, name)).strip()
            if value:
                found[name] = value
        if found.get("parallelism", "tp") not in ("tp", "ep"):
            raise UsageError(
                f"parallelism: {one_line(found['parallelism'], 40)} is neither tp nor ep",
                "Leave it empty for the usual value",
            )
        for name, words, kind in (
            ("cores", "cores", int),
            ("max_new_tokens", "new tokens", int),
            ("timeout_s", "timeout", float),
        ):
            value = str(getattr(self, name)).strip()
            if value:
                try:
                    found[name] = kind(value)
                except ValueError:
                    raise UsageError(
                        f"{words}: {value!r} is not a number", "Leave it empty for the usual value"
                    ) from None
                if not 0 < found[name] < float("inf"):
                    raise UsageError(f"{words}: {value} is too small", "Leave it empty for the usual value")
        return found


def request_for_row(detail: Detail, provenance: Provenance | None, settings: Settings) -> RunRequest:
    """The request that reproduces a row; of a model without one, the request that tries it. Builds a sample's checkpoint (0.1 s).

    Raises DataError when the file that the row is from is not what the Hub said it is.
    """
    from trnui.catalog.hub.digests import require_sound
    from trnui.sample.models import folder_of

    values = detail.values
    model = str(values.get("model_id") or "")
    tested = detail.derived.get("file") is not None or detail.derived.get("run") is not None
    row = {name: _plain(values.get(name)) for name in COLUMNS} if tested else None
    source = None
    if provenance is not None and detail.derived.get("file") is not None:
        if not provenance.sample:
            require_sound(provenance.dataset, provenance.commit, str(detail.derived["file"]))
        source = RowSource(
            "sample" if provenance.sample else provenance.dataset,
            provenance.commit,
            str(detail.derived["file"]),
            _int(detail.derived.get("row")),
        )
    task = detail.derived.get("task")
    return RunRequest(
        model=model,
        row=row,
        source=source,
        task=str(task) if task else None,
        library=str(values.get("library") or "transformers"),
        python=str(settings.python) or None,
        timeout_s=float(settings.timeout_s) or None,
        judge=str(settings.judge) or None,
        checkpoint=folder_of(model),
    )


def request_again(recipe: Recipe, run: RunFolder) -> RunRequest:
    """The request of a run that was: the same script byte for byte, device, cores and limits."""
    from trnui.sample.models import folder_of

    row = dict(recipe.row) if recipe.row is not None else None
    if row is not None and recipe.script == "published":
        row["run_py"] = run.script().decode("utf-8", "surrogatepass")  # as it was written
    kept = recipe.options.get("checkpoint")
    return RunRequest(
        model=recipe.model,
        row=row,
        source=recipe.source,
        library=recipe.library,
        checkpoint=Path(str(kept)) if kept else folder_of(recipe.model),
        **options_of(recipe, str(run.path / "run.py")),
    )


def request_for(
    model: str,
    settings: Settings,
    detail: Detail | None = None,
    provenance: Provenance | None = None,
    *,
    offline: bool = False,
    **options: Any,
) -> RunRequest:
    """`options` are fields of RunRequest; None means "as usual". Raises UserError when a sample's file is damaged."""
    from trnui.sample.models import folder_of
    from trnui.sample.models import name_of as is_sample

    given = {name: value for name, value in options.items() if value is not None}
    if detail is not None:
        request = request_for_row(detail, provenance, settings)
    else:
        request = RunRequest(
            model,
            checkpoint=folder_of(model),
            python=settings.python or None,
            timeout_s=settings.timeout_s or None,
            judge=settings.judge or None,
        )
    if request.judge is None and is_sample(model):
        given.setdefault("judge", WORD_ORDER)  # these models say English by heart, and need no download to be judged
    return dataclasses.replace(request, supervision=supervision_of(settings, offline), **given)


def supervision_of(settings: Settings, offline: bool = False) -> SupervisionOptions:
    return SupervisionOptions(
        grace_s=settings.grace_s,
        silence_s=settings.silence_s,
        neff_cache=settings.neff_cache or None,
        token=settings.hub_token,
        move_sharded=settings.move_sharded,
        offline=offline,
    )


def command_of(recipe: Recipe) -> str:
    """`trnui … run MODEL …` for a shell on this host: the same without the app."""
    return recipe_line(recipe, str(runs_dir() / recipe.id / "run.py"))


def known_elsewhere(
    request: RunRequest, settings: Settings, source: DatasetSource | None, database: Database | None
) -> KnownElsewhere:
    """What dataset and settings know of a model, for its preflight. Without a dataset, what the settings say."""
    from trnui.catalog.analysis.wall_times import wait_by_kin
    from trnui.catalog.engine.catalog import Catalog
    from trnui.catalog.engine.suggestions import advice

    bucket = str(settings.neff_bucket)
    if source is None:
        return KnownElsewhere(neff_bucket=bucket)
    card = source.card
    text = card.read_text("utf-8", "replace") if card is not None and card.exists() else None
    if database is None:
        return KnownElsewhere(card=text, neff_bucket=bucket)
    cursor = database.connection.cursor()
    try:
        catalog = Catalog.over(source, database, cursor)
        told = advice(catalog, request.model)
        kin = wait_by_kin(catalog, request.model, request.cores or _int((request.row or {}).get("tp")) or 1)
    finally:
        cursor.close()
    return KnownElsewhere(tuple(told.get("siblings", ())), told.get("passes_on"), text, bucket, kin)


def _plain(value: object) -> object:
    """A recipe is JSON: times of day as they are written in ISO 8601."""
    return value.isoformat() if isinstance(value, date) else value


def _int(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) else None


def sample_request(settings: Settings) -> RunRequest:
    """The sample row that repeats everywhere, whatever dataset is open. Raises UserError."""
    from trnui.catalog.dataset.snapshot import SAMPLE, resolve
    from trnui.catalog.engine.catalog import Catalog
    from trnui.catalog.query import Query

    catalog = Catalog(resolve(SAMPLE, True))
    detail = catalog.detail(catalog.choose(catalog.find(SAMPLE_MODEL), Query()))
    return request_for(SAMPLE_MODEL, settings, detail, catalog.provenance)
