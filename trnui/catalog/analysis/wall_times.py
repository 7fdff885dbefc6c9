"""The wall times that the dataset holds, as what an estimate of another run is made from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from trnui.catalog.engine.lookups import family
from trnui_runner.batch.planning.estimates import ALL_ROWS, SAME_CORES, SAME_FAMILY, SAME_MODEL, Estimates, Observation
from trnui_runner.preflight.expected_wait import ExpectedWait

if TYPE_CHECKING:
    from trnui.catalog.engine.catalog import Catalog

NEWEST_STACKS: Final = 6  # whose wall times are looked at
_SIZE: Final = re.compile(r"(?i)(?:^|[-_])(\d+(?:\.\d+)?(?:x\d+)?[bm])(?=[-_.]|$)")
_SOURCES: Final = {
    SAME_MODEL: "this model took that on another stack",
    SAME_FAMILY: "the median of its family on as many cores",
    SAME_CORES: "the median of models on as many cores",
    ALL_ROWS: "the median of all models",
}


@dataclass(frozen=True)
class Kin:
    """`name`: family and size, `qwen3 0.6b`, which models of about the same wall time share; the family alone without a size."""

    name: str
    sized: bool


def kin_of(model: str) -> Kin:
    size = _SIZE.search(model.rpartition("/")[2])
    return Kin(f"{family(model)} {size[1].lower()}", True) if size else Kin(family(model), False)


def observations(catalog: Catalog, models: Sequence[str]) -> Iterable[Observation]:
    """Wall times of the newest stacks, and of `models` on every stack."""
    stacks = catalog.stacks()
    age = {i: n for n, stack in enumerate(stacks) for i in catalog.database.ids_of(stack)}
    newest = [i for i, n in age.items() if n < NEWEST_STACKS] or [-1]
    sql = (
        "SELECT model_id, coalesce(tp, 1), wall_s, stack FROM r WHERE wall_s > 0 AND model_id IS NOT NULL "
        f"AND (stack IN ({', '.join(map(str, newest))}) OR list_contains($1, model_id))"
    )
    for model, cores, wall, stack in catalog.connection.execute(sql, [list(models)]).fetchall():
        yield Observation(model, kin_of(model).name, int(cores), float(wall), age.get(stack, len(stacks)))


def wait_by_kin(catalog: Catalog, model: str, cores: int) -> ExpectedWait | None:
    """From the rows of a dataset of Trainium results; None where it holds no time."""
    if catalog.provenance.sample:
        return None
    found = Estimates(observations(catalog, [model])).of(model, kin_of(model).name, cores)
    return ExpectedWait(found.seconds, _SOURCES[found.basis]) if found else None
