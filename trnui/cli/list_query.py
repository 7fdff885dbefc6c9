"""From the options of `trnui list` to a Query: those that were typed, over those of a saved view, over what is usual."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from trnui.cli.stack_options import split
from trnui.did_you_mean import did_you_mean
from trnui_runner.common.errors import UsageError
from trnui_runner.common.text import one_line

if TYPE_CHECKING:
    from trnui.catalog.query import Query
    from trnui.catalog.saved_views import SavedView

STATUSES: Final = ("PASS", "FAIL", "EXCLUDED", "UNTESTED", "OTHER")


def typed(name: str) -> bool:
    """Whether an option stands on the command line."""
    context = click.get_current_context(silent=True)
    source = context.get_parameter_source(name) if context else None
    return source not in (None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)


def query_of(
    saved: SavedView | None,
    *,
    view: str,
    task: str | None,
    search: str,
    anywhere: str,
    result: tuple[str, ...],
    max_cores: int | None,
    models: tuple[str, ...],
    sort: str | None,
    limit: int | None,
) -> Query:
    """Without the stack, which needs the data. Raises UsageError."""
    from trnui.catalog.query import Query, View

    query = saved.query if saved else Query()
    column, _, direction = (sort or "").partition(":")
    if direction not in ("", "asc", "desc"):
        raise UsageError(f"--sort {one_line(sort, 80)}: after the colon comes asc or desc")
    given: dict[str, Any] = {
        "view": View(view) if typed("view") else None,
        "task": task,
        "text": search,
        "anywhere": anywhere,
        "results": statuses(result),
        "max_cores": max_cores,
        "models": models,
        "limit": limit,
    }
    query = query.but(**{name: value for name, value in given.items() if value not in (None, "", ())})
    if column:
        query = query.but(sort=column, descending=direction == "desc")
    checked(query)
    return query


def checked(query: Query) -> None:
    """Raises UsageError for a task or a column to sort by that there is not."""
    from trnui.catalog.columns import RANKED, sortable
    from trnui.catalog.dataset.normalize_sql import TASK_NAMES
    from trnui_runner.common.dataset_schema import TASKS

    known = TASKS if query.view in RANKED else TASK_NAMES
    if query.task is not None and query.task not in known:
        raise UsageError(
            f"--task {one_line(query.task, 80)}: no such task",
            f"{did_you_mean(query.task, known)}Tasks: {', '.join(known)}",
        )
    columns = sortable(query.view)
    if query.sort is not None and query.sort not in columns:
        raise UsageError(
            f"--sort {one_line(query.sort, 80)}: no such column",
            f"{did_you_mean(query.sort, columns)}Columns: {', '.join(columns)}",
        )


def statuses(words: tuple[str, ...]) -> tuple[str, ...]:
    """Names of results, in any case, several with commas. Raises UsageError."""
    found = tuple(
        word.upper().replace("NOT TESTED", "UNTESTED").replace("NOT_TESTED", "UNTESTED") for word in split(words)
    )
    for word in found:
        if word not in STATUSES:
            raise UsageError(
                f"--result {one_line(word, 80)}: no such result",
                f"{did_you_mean(word, STATUSES)}Results: {', '.join(STATUSES)}",
            )
    return found
