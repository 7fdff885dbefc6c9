"""My models: the checkpoints in this host's Hub cache, each with its best known result and whether this host holds it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.binding import BindingType

from trnui.catalog.column_formats import number, result_word, text
from trnui.catalog.messages import Record
from trnui.tui.bindings import bindings
from trnui.tui.dialogs.copy_menu import copy_texts, export_rows
from trnui.tui.tables.table_screen import TableScreen
from trnui.tui.widgets.columns import Column, many, result_style
from trnui_runner.common.text import ABSENT, shown


def _as_result(record: Record) -> Record:
    return {"status": record.get("best"), "kind": record.get("kind"), "device": record.get("device")}


def _passed(record: Record) -> str:
    """`3 of 4`: stacks with a PASS, of those where it was run."""
    return f"{record.get('stacks_passed')} of {record.get('stacks_tested')}" if record.get("stacks_tested") else ABSENT


def _fits(record: Record) -> str:
    fits = record.get("fits")
    return ABSENT if fits is None else "yes" if fits else "no"


COLUMNS = (
    Column(
        "best", "best result", 12, lambda r: result_word(_as_result(r)), style=lambda r: result_style(_as_result(r))
    ),
    Column("model_id", "model", 48, text("model_id")),
    Column("on", "on", 22, text("on")),
    Column("tp", "cores", 5, number("tp"), "right"),
    Column("wall_s", "wall time", 9, number("wall_s", " s"), "right"),
    Column("passed", "stacks passed", 13, _passed, "right"),
    Column("weights_gib", "weights", 10, number("weights_gib", " GiB", 1), "right"),
    Column("cores_by_size", "cores by size", 13, number("cores_by_size"), "right"),
    Column("fits", "fits here", 9, _fits),
    Column("from", "from", 10, lambda r: shown(r.get("from")), style="muted", grow=True),
)


class MineScreen(TableScreen):
    PLACE = "mine"
    VIEW = "selected"
    BINDINGS: ClassVar[list[BindingType]] = bindings("mine")

    def columns(self) -> tuple[Column, ...]:
        return COLUMNS

    def on_mount(self) -> None:
        self.look()

    def on_screen_resume(self) -> None:
        if self._names:
            self.look()

    def look(self) -> None:
        """Reads the cache's folders and asks this host how many cores it has, in a thread."""
        store = self.context.store
        if store is None:
            self.put((), (), ["", "No dataset is open yet."])
            return

        def work() -> Callable[[], None]:
            from trnui.catalog.analysis.my_models import in_cache, merged, my_models, table
            from trnui_runner.common.hub_env import hub_cache
            from trnui_runner.host.devices import devices

            named, cores = merged(in_cache()), len(devices().cores) or None
            cursor = store.database.connection.cursor()
            try:
                models = my_models(store.database, named, cores, None, cursor)
            finally:
                cursor.close()
            found = table(models, store.database.stacks)
            passing = sum(m.best is not None and m.best.status == "PASS" for m in models)
            host = f"{many(cores, 'NeuronCore')} here" if cores else "no NeuronCore here: what fits is not known"
            words = f" {hub_cache()} · {passing} with a PASS on some stack · {host}"

            def then() -> None:
                self.say_chips(((words, "plain"),))
                rows = [(row[0], *row) for row in found.rows]
                self.put(
                    found.columns,
                    rows,
                    ["", "No checkpoint is in the Hub's cache.", "trnui list --from FILE takes a list of names."],
                )

            return then

        self.in_thread(work, "mine")

    def counted(self, shown: int, every: int) -> str:
        return many(every, "checkpoint") if shown == every else f"{shown} of {many(every, 'checkpoint')}"

    # -- keys

    def why_not(self, action_id: str) -> str | None:
        if action_id in ("mine.open", "mine.copy") and self.record is None:
            return "no model under the cursor"
        return None

    def action_open(self) -> None:
        assert self.record is not None  # why_not
        self.context.open_model(str(self.record["model_id"]))

    def action_copy(self) -> None:
        assert self.record is not None  # why_not
        texts = [("i", "model id", str(self.record["model_id"])), ("l", "command", "trnui list --mine")]
        copy_texts(self.context, texts)

    def action_export(self) -> None:
        export_rows(self.context, "mine", self._names, [r[1:] for r in self._rows])
