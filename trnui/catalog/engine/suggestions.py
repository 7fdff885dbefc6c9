"""What the catalog can add to a diagnosis: the newest stack on which a model passes, siblings that pass, rows with the same code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trnui.catalog.engine.catalog import Catalog

_SIZE = re.compile(r"[-_.]\d+(?:\.\d+)?[bBmM]\b.*$")  # `Qwen3-0.6B-Base` is of the family `Qwen3`
_CODE = re.compile(r"^[A-Z0-9_]{3,16}$")
SIBLINGS = 40  # names of a family that are looked at


def advice(catalog: Catalog, model: str, code: str = "") -> dict[str, Any]:
    """Fields of trnui_runner.diagnosis.Facts. A sample's rows advise nobody: empty then."""
    if catalog.provenance.sample or not model:
        return {}
    found: dict[str, Any] = {"model": model}
    rows = catalog.rows_of(model, ("status", "wall_s"))
    passing = next((n for n, row in enumerate(rows.rows) if row[0] == "PASS"), None)
    if passing is not None:
        found["usual_s"] = rows.rows[passing][1]
        stacks = catalog.rows_of(model, ("status", "neuronx_cc", "library_version", "library")).rows
        _, compiler, version, library = stacks[passing]
        found["passes_on"] = f"neuronx-cc {compiler}, {library} {version}"
    else:
        found["siblings"] = _siblings(catalog, model)
    if _CODE.match(code):
        found["same_code"] = catalog.connection.execute(
            "SELECT count(*) FROM r WHERE contains(error, ?) AND model_id <> ?", [code, model]
        ).fetchall()[0][0]
    return found


def _siblings(catalog: Catalog, model: str) -> tuple[str, ...]:
    """Models of the same family that pass on some stack."""
    family = _SIZE.sub("", model)
    names = [n for n in catalog.models_like(family, SIBLINGS) if n != model and n.startswith(family)]
    return tuple(n for n in names if any(row[0] == "PASS" for row in catalog.rows_of(n, ("status",)).rows))[:3]
