"""From what is on the list to a batch: the marked rows, or all of the view that can be run. No Textual."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final

from trnui.batch_requests import ChosenRow, PlannedBatch, plan_batch
from trnui.catalog.query import Query

if TYPE_CHECKING:
    from trnui.catalog.dataset.snapshot import DatasetSource
    from trnui.catalog.engine.database import Database
    from trnui.tui.context import AppContext

RUN: Final = ("PASS", "FAIL")  # of a view, what is run when its filter says nothing else


def planning_of(
    context: AppContext, source: DatasetSource, database: Database, query: Query, marked: Collection[tuple[object, ...]]
) -> Callable[[], PlannedBatch]:
    """For a thread. Raises UserError when nothing can be run."""
    settings, offline = context.settings, context.offline

    def planning() -> PlannedBatch:
        from trnui.catalog.engine.catalog import Catalog
        from trnui.catalog.engine.lookups import marked_rows

        catalog = Catalog.over(source, database, database.connection.cursor())
        if marked:
            details = marked_rows(database, query, marked)
            words = f"{len(details)} marked rows"
        else:
            chosen = query if query.results else query.but(results=RUN)
            details = [catalog.detail(identity) for identity in catalog.rows(chosen, ("model_id",)).ids]
            words = f"view {query.view.value}" + (
                f", filtered by {', '.join(query.narrowed())}" if query.narrowed() else ""
            )
        choices = [ChosenRow(str(detail.values["model_id"]), detail) for detail in details]
        return plan_batch(choices, catalog, settings, source=words, offline=offline)

    return planning
