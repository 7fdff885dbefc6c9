"""How the models of a page of rows stand on other stacks: one join, for the rows that are shown and no others.

The newest row of a model on each other stack counts (recency.py). In words: `PASS on 2.27/5.22.0 +3 · FAIL on 2 others`,
where +3 are three more stacks that it passes on; `FAIL on 1 stack`; NULL where no other stack says anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnui.catalog.dataset.normalize_sql import lowered
from trnui.catalog.engine.recency import newest_rows

if TYPE_CHECKING:
    import duckdb

Pair = tuple[str | None, str | None, str | None]
"""neuronx_cc, library and its version; all None: no stack."""


def with_elsewhere(picked: str, columns: str, order: str) -> str:
    """`picked` is a SELECT of `id`, the listed columns, `_lower`, `_cc`, `_library`, `_version` and `_place`; the answer has
    `id` and `columns`, in which `elsewhere` names the words, by `order`."""
    others = newest_rows("r.lower_id IN (SELECT _lower FROM picked)")
    newest = "(coalesce(p.o_neuronx_cc, -1), coalesce(p.o_library_version, -1))"
    counts = ", ".join(f"count(*) FILTER (o.status = '{word}') AS {word}" for word in ("PASS", "FAIL", "EXCLUDED"))
    standing = (
        f"SELECT t.id, {counts}, arg_max(p.short, {newest}) FILTER (o.status = 'PASS') AS best "
        f"FROM picked t JOIN {others} o ON o.lower_id = t._lower JOIN s p ON p.id = o.stack "
        "WHERE (p.neuronx_cc, p.library, p.library_version) IS DISTINCT FROM (t._cc, t._library, t._version) GROUP BY t.id"
    )
    passing = "CASE WHEN PASS > 0 THEN 'PASS on ' || coalesce(best, '–') || CASE WHEN PASS > 1 THEN ' +' || (PASS - 1) ELSE '' END END"
    words = f"nullif(concat_ws(' · ', {passing}, {_on('FAIL', 'PASS > 0')}, {_on('EXCLUDED', 'PASS + FAIL > 0')}), '')"
    return (
        f"WITH picked AS MATERIALIZED ({picked}), standing AS (SELECT id, {words} AS elsewhere FROM ({standing})) "
        f"SELECT picked.id, {columns} FROM picked LEFT JOIN standing USING (id) ORDER BY {order}"
    )


def _on(word: str, named: str) -> str:
    """`FAIL on 2 others` after something else is named, else `FAIL on 2 stacks`; NULL where there is none."""
    noun = f"CASE WHEN {named} THEN 'other' ELSE 'stack' END || CASE WHEN {word} > 1 THEN 's' ELSE '' END"
    return f"CASE WHEN {word} > 0 THEN '{word} on ' || {word} || ' ' || {noun} END"


def elsewhere_of(cursor: duckdb.DuckDBPyConnection, model: str, pair: Pair = (None, None, None)) -> str | None:
    """The same of one model, its name in any case; `pair` is the stack that does not count."""
    picked = (
        f"SELECT 0 AS id, {lowered('?')} AS _lower, ?::VARCHAR AS _cc, ?::VARCHAR AS _library, ?::VARCHAR AS _version, "
        "0 AS _place"
    )
    found = cursor.execute(with_elsewhere(picked, "elsewhere", "_place"), [model, *pair]).fetchall()
    return found[0][1] if found else None
