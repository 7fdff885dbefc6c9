"""Since which version a model fails: the first bad compiler, or library, on the way to a stack where it fails now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from trnui.catalog.dataset.versions import key, public
from trnui.catalog.engine.recency import RECENCY
from trnui.catalog.query import Stack

if TYPE_CHECKING:
    import duckdb

    from trnui.catalog.engine.database import Database

PASS: Final = "PASS"
FAIL: Final = "FAIL"


@dataclass(frozen=True)
class FirstFailing:
    """`half` is "neuronx_cc" or the library's name: `version` is the first one that fails, `passed` the last one before
    it that passed. Both with the other half of the pair as on the stack asked about."""

    half: str
    version: str
    passed: str

    @property
    def words(self) -> str:
        """`since neuronx-cc 2.28.7631.0 (PASS on 2.27.5334.0)`."""
        name = "neuronx-cc" if self.half == "neuronx_cc" else self.half
        return f"since {name} {public(self.version)} (PASS on {public(self.passed)})"


def first_failing(tested: Mapping[Stack, str], now: Stack) -> FirstFailing | None:
    """Looks back from `now`, where it fails, along the compilers with the same library version, then along the library
    versions with the same compiler. None where nothing on either line passed before."""
    compilers = {s.neuronx_cc: status for s, status in tested.items() if _same_library(s, now)}
    versions = {
        s.library_version: status
        for s, status in tested.items()
        if s.library == now.library and s.neuronx_cc == now.neuronx_cc
    }
    return _along("neuronx_cc", compilers, now.neuronx_cc) or _along(now.library, versions, now.library_version)


def _same_library(stack: Stack, other: Stack) -> bool:
    return (stack.library, stack.library_version) == (other.library, other.library_version)


def _along(half: str, statuses: Mapping[str, str], now: str) -> FirstFailing | None:
    """From `now` back over what fails to the first that passes; other results say nothing either way."""
    first = now
    for version in sorted((v for v in statuses if key(v) < key(now)), key=key, reverse=True):
        if statuses[version] == PASS:
            return FirstFailing(half, first, version)
        if statuses[version] == FAIL:
            first = version
    return None


def since(
    database: Database, models: Sequence[str], now: Stack, cursor: duckdb.DuckDBPyConnection | None = None
) -> dict[str, FirstFailing]:
    """For those of `models` (names in any case) that fail on `now` and passed before; by name in lower case."""
    cursor = cursor or database.connection.cursor()
    sql = (
        "SELECT r.lower_id, s.neuronx_cc, s.library_version, s.library, arg_max(r.status::VARCHAR, "
        f"{RECENCY}) FROM r JOIN s ON s.id = r.stack "
        "WHERE r.lower_id IN (SELECT unnest(?::VARCHAR[])) GROUP BY ALL"
    )
    tested: dict[str, dict[Stack, str]] = defaultdict(dict)
    for model, compiler, version, library, status in cursor.execute(sql, [[m.lower() for m in models]]).fetchall():
        tested[model][Stack(compiler or "", version or "", library or "")] = status
    found = {model: first_failing(rows, now) for model, rows in tested.items() if rows.get(now) == FAIL}
    return {model: first for model, first in found.items() if first is not None}
