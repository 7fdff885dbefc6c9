"""Models that a user names (in the Hub's cache on this host, in a file, of an organisation or a collection), each with its best
known result and what a host could hold."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trnui.catalog.analysis.model_results import ModelResult, newest_results
from trnui.catalog.dataset.rankings import Ranked, fit, stored
from trnui.catalog.dataset.versions import is_dev, short_names, stack_key
from trnui.catalog.engine.result_set import Table
from trnui.catalog.query import Stack
from trnui_runner.common.errors import UsageError
from trnui_runner.common.hub_env import hub_cache
from trnui_runner.common.text import one_line
from trnui_runner.payload.sharding import folder_bytes
from trnui_runner.request.checkpoint import folder_of

if TYPE_CHECKING:
    import duckdb

    from trnui.catalog.engine.database import Database

MOST: Final = 5_000  # names of one list
_ORDER: Final = {"PASS": 0, "OTHER": 1, "FAIL": 2, "EXCLUDED": 3, "UNTESTED": 4}
COLUMNS: Final = (
    "model_id", "best", "kind", "device", "on", "tp", "wall_s", "stacks_passed", "stacks_tested", "weights_gib", "cores_by_size",
    "fits", "from",
)  # fmt: skip


@dataclass(frozen=True)
class Named:
    """A model that the user means, and from where. `weight_bytes` None where nothing on disk tells."""

    model_id: str
    source: str
    weight_bytes: int | None = None


@dataclass(frozen=True)
class MyModel:
    """`best` None where no row is known. `passed` and `tested` count stacks. `fits`: whether the host in question holds it, by the
    cores of its best PASS, else by the size of its weights; None where neither is known, or the host."""

    named: Named
    model_id: str
    best: ModelResult | None
    stack: Stack | None
    passed: int
    tested: int
    cores_by_size: int | None
    fits: bool | None


# -- where the names come from


def in_cache(cache: Path | None = None) -> tuple[Named, ...]:
    """Checkpoints in the Hub's cache on this host that have a snapshot, with the bytes of their safetensors files."""
    root = hub_cache() if cache is None else cache
    found = []
    try:
        names = sorted(entry.name for entry in os.scandir(root) if entry.name.startswith("models--"))
    except OSError:
        return ()
    for name in names[:MOST]:
        model = name.removeprefix("models--").replace("--", "/", 1)
        folder = folder_of(model) or _newest_snapshot(root / name)
        if folder is not None:
            found.append(Named(model, "Hub cache", _bytes(folder)))
    return tuple(found)


def _newest_snapshot(repository: Path) -> Path | None:
    try:
        return max(
            (p for p in (repository / "snapshots").iterdir() if p.is_dir()),
            key=lambda p: p.stat().st_mtime,
            default=None,
        )
    except OSError:
        return None


def _bytes(folder: Path) -> int | None:
    try:
        return folder_bytes(str(folder))
    except OSError:
        return None


def in_text(text: str, source: str) -> tuple[Named, ...]:
    """One name a line; what follows a comma, a tab or `#` is left out, and so are a first line `model_id` and empty ones.
    Raises UsageError that names the line."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        name = line.partition("#")[0].replace("\t", ",").partition(",")[0].strip().strip('"')
        if not name or (number == 1 and name.lower() in ("model_id", "model", "models")):
            continue
        if any(c.isspace() or not c.isprintable() for c in name) or len(name) > 200 or name.count("/") > 1:
            raise UsageError(
                f"{source}, line {number}: {one_line(name, 80)} is not a model's name", "One a line, as owner/name."
            )
        found.append(Named(name, source))
        if len(found) > MOST:
            raise UsageError(f"{source}: more than {MOST:,} names", "Split the list.")
    return tuple(found)


def of_owner(database: Database, owner: str, cursor: duckdb.DuckDBPyConnection | None = None) -> tuple[Named, ...]:
    """The models of an organisation that the dataset or a ranking on disk has."""
    cursor = cursor or database.connection.cursor()
    sql = (
        "SELECT any_value(model_id) FROM (SELECT model_id FROM r UNION ALL SELECT model_id FROM rankings) "
        "WHERE starts_with(lower(model_id), ?) GROUP BY lower(model_id) ORDER BY lower(any_value(model_id))"
    )
    rows = cursor.execute(sql, [f"{owner.lower()}/"]).fetchall()
    return tuple(Named(row[0], "dataset and rankings") for row in rows)


def described(models: Iterable[Ranked], source: str) -> tuple[Named, ...]:
    return tuple(Named(m.model_id, source, m.weight_bytes) for m in models)


def merged(*lists: Sequence[Named]) -> tuple[Named, ...]:
    """Each model once, the first list's order first; a size that one list lacks is taken from another, or from a ranking."""
    sizes = {
        m.model_id.lower(): m.weight_bytes for r in stored() for m in (*r.trending, *r.downloads) if m.weight_bytes
    }
    found: dict[str, Named] = {}
    for named in (n for one in lists for n in one):
        key = named.model_id.lower()
        old = found.get(key)
        if old is None:
            found[key] = replace(named, weight_bytes=named.weight_bytes or sizes.get(key))
        elif old.weight_bytes is None and named.weight_bytes is not None:
            found[key] = replace(old, weight_bytes=named.weight_bytes)
    return tuple(found.values())


# -- what is known of them


def my_models(
    database: Database,
    named: Sequence[Named],
    host_cores: int | None,
    stacks: Collection[Stack] | None = None,
    cursor: duckdb.DuckDBPyConnection | None = None,
) -> tuple[MyModel, ...]:
    """In the order given. `stacks` None looks at all of them; `host_cores` None where no host is asked about."""
    results = newest_results(database, [n.model_id for n in named], cursor)
    found = []
    for one in named:
        rows = {s: r for s, r in results.get(one.model_id.lower(), {}).items() if stacks is None or s in stacks}
        found.append(_judged(one, rows, host_cores))
    return tuple(found)


def _judged(named: Named, rows: Mapping[Stack, ModelResult], host_cores: int | None) -> MyModel:
    stack = max(rows, key=lambda s: _rank(s, rows[s]), default=None)
    best = rows[stack] if stack is not None else None
    by_size = fit(named.weight_bytes).cores if named.weight_bytes is not None else None
    tested = best.cores if best and best.status == "PASS" and best.device in (None, "neuron") else None
    fits: bool | None = None
    if host_cores is not None and tested is not None:
        fits = tested <= host_cores
    elif host_cores is not None and named.weight_bytes is not None:
        fits = by_size is not None and by_size <= host_cores
    passed = sum(r.status == "PASS" for r in rows.values())
    run = sum(r.status in ("PASS", "FAIL") for r in rows.values())
    return MyModel(named, best.model_id if best else named.model_id, best, stack, passed, run, by_size, fits)


def _rank(stack: Stack, result: ModelResult) -> tuple[object, ...]:
    """A PASS first, of these the one checked against a CPU; releases before development versions, the newest first."""
    dev = is_dev(stack.neuronx_cc) or is_dev(stack.library_version)
    return (
        -_ORDER.get(result.status, 9),
        result.status == "PASS" and result.kind == "cpu-match",
        not dev,
        stack_key(stack),
    )


def table(found: Sequence[MyModel], stacks: Sequence[Stack]) -> Table:
    """As rows of COLUMNS; `best` is UNTESTED where no row is known."""
    names = short_names(stacks)
    rows = []
    for m in found:
        best = m.best
        size = m.named.weight_bytes
        rows.append(
            (
                m.model_id, best.status if best else "UNTESTED", best.kind if best else None, best.device if best else None,
                names.get(m.stack, m.stack.short) if m.stack else None, best.cores if best else None, best.wall_s if best else None,
                m.passed, m.tested, None if size is None else round(size / (1 << 30), 1), m.cores_by_size, m.fits, m.named.source,
            )
        )  # fmt: skip
    return Table(COLUMNS, tuple(rows), count=len(rows), total=len(rows))
