"""Pass rate, number of models and median wall time by release: one line a stack, with bars of block characters or ASCII.

A model counts once on a stack, by its newest row there. The pass rate is PASS out of PASS and FAIL: what was left out or
not tested is neither. Stacks test different models, so the rate over the models tested on all of them stands beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from trnui.catalog.dataset.versions import stack_key
from trnui.catalog.engine.recency import RECENCY
from trnui.catalog.query import Stack

if TYPE_CHECKING:
    import duckdb

    from trnui.catalog.engine.database import Database

WIDTH: Final = 20  # cells of a bar that means 100 %
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
RULE: Final = (
    "pass_rate is PASS of PASS and FAIL; pass_rate_common the same over the models that PASS or FAIL on every stack listed. "
    "median_wall_s is of rows that PASS, compilation included."
)
COLUMNS: Final = (
    "neuronx_cc", "library", "library_version", "tested", "pass", "fail", "excluded", "other", "untested", "pass_rate",
    "pass_rate_common", "tested_common", "median_wall_s",
)  # fmt: skip
SHORT: Final = ("stack", "pass_rate", "bar", "tested", "pass", "fail", "excluded", "common", "median_wall_s")


@dataclass(frozen=True)
class Release:
    """The models of one stack by status. `common` is how many of them PASS or FAIL on every stack looked at, `common_passed`
    how many of these PASS; `median_wall_s` None where no PASS has a time."""

    stack: Stack
    passed: int
    failed: int
    excluded: int
    other: int
    untested: int
    median_wall_s: float | None
    common: int
    common_passed: int

    @property
    def tested(self) -> int:
        return self.passed + self.failed

    @property
    def rate(self) -> float | None:
        """0 to 1; None where nothing was tested."""
        return self.passed / self.tested if self.tested else None

    @property
    def common_rate(self) -> float | None:
        return self.common_passed / self.common if self.common else None

    def bar(self, width: int = WIDTH, *, ascii_only: bool = False) -> str:
        """The pass rate as `width` cells; empty where nothing was tested, which is not the same as none passing."""
        return "" if self.rate is None else bar(self.rate, width, ascii_only=ascii_only)


def bar(share: float, width: int = WIDTH, *, ascii_only: bool = False) -> str:
    """A share from 0 to 1 in eighths of a cell, or in whole cells of `#`; the rest is dots, so that 100 % can be seen."""
    if ascii_only:
        whole = min(width, int(share * width + 0.5))
        return "#" * whole + "." * (width - whole)
    eighths = min(width * 8, int(share * width * 8 + 0.5))
    whole, part = divmod(eighths, 8)
    drawn = "█" * whole + (_EIGHTHS[part] if part else "")
    return drawn + "·" * (width - len(drawn))


def releases(
    database: Database, stacks: Sequence[Stack] | None = None, cursor: duckdb.DuckDBPyConnection | None = None
) -> tuple[Release, ...]:
    """One for each of `stacks` (default: all), oldest first."""
    cursor = cursor or database.connection.cursor()
    chosen = sorted(dict.fromkeys(database.stacks if stacks is None else stacks), key=stack_key)
    numbers = [(n, i) for n, stack in enumerate(chosen) for i in database.ids_of(stack)]
    sql = (
        "WITH place AS (SELECT unnest(?::INTEGER[]) AS place, unnest(?::INTEGER[]) AS stack), "
        f"newest AS (SELECT p.place, r.lower_id, arg_max(r.rowid, {RECENCY}) AS row "
        "FROM r JOIN place p USING (stack) WHERE r.model_id IS NOT NULL GROUP BY ALL), "
        "seen AS (SELECT n.place, n.lower_id, r.status::VARCHAR AS status, r.wall_s FROM newest n JOIN r ON r.rowid = n.row), "
        "common AS (SELECT lower_id FROM seen WHERE status IN ('PASS', 'FAIL') GROUP BY lower_id HAVING count(*) = ?) "
        "SELECT place, count(*) FILTER (status = 'PASS'), count(*) FILTER (status = 'FAIL'), count(*) FILTER (status = 'EXCLUDED'), "
        "count(*) FILTER (status = 'OTHER'), count(*) FILTER (status = 'UNTESTED'), median(wall_s) FILTER (status = 'PASS'), "
        "count(*) FILTER (lower_id IN (FROM common) AND status IN ('PASS', 'FAIL')), "
        "count(*) FILTER (lower_id IN (FROM common) AND status = 'PASS') FROM seen GROUP BY place ORDER BY place"
    )
    parameters = [[n for n, _ in numbers], [i for _, i in numbers], len(chosen)]
    return tuple(Release(chosen[place], *values) for place, *values in cursor.execute(sql, parameters).fetchall())


def between(stacks: Sequence[Stack], a: Stack, b: Stack) -> tuple[Stack, ...]:
    """The stacks from `a` to `b`, both included, of their libraries, in whichever order they are given."""
    low, high = sorted((stack_key(a), stack_key(b)))
    return tuple(s for s in stacks if s.library in (a.library, b.library) and low <= stack_key(s) <= high)


def table(found: Sequence[Release]) -> list[tuple[object, ...]]:
    """As rows of `COLUMNS`; rates from 0 to 1."""
    return [
        (
            r.stack.neuronx_cc or None, r.stack.library or None, r.stack.library_version or None, r.tested, r.passed, r.failed,
            r.excluded, r.other, r.untested, _rounded(r.rate), _rounded(r.common_rate), r.common, r.median_wall_s,
        )
        for r in found
    ]  # fmt: skip


def _rounded(rate: float | None) -> float | None:
    return None if rate is None else round(rate, 4)


def short(found: Sequence[Release], *, ascii_only: bool = False) -> list[tuple[object, ...]]:
    """For a person, as rows of `SHORT`; `common` is the rate over the models that every stack listed has."""
    return [
        (
            r.stack.short, percent(r.rate), r.bar(ascii_only=ascii_only) or None, r.tested, r.passed, r.failed, r.excluded,
            f"{percent(r.common_rate)} of {r.common:,}" if r.common else None, r.median_wall_s,
        )
        for r in found
    ]  # fmt: skip


def percent(rate: float | None) -> str | None:
    """`71.9 %`; never 100.0 where one failed, nor 0.0 where one passed."""
    if rate is None:
        return None
    shown = f"{rate:.1%}"
    if rate < 1 and shown == "100.0%":
        shown = "99.9%"
    if rate > 0 and shown == "0.0%":
        shown = "0.1%"
    return shown.replace("%", " %")
