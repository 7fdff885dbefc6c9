"""What can be copied of a row, as texts: the same commands that a shell takes. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trnui.catalog.messages import Detail
from trnui.settings import DATASET
from trnui_runner.request.command_line import row_line


@dataclass(frozen=True)
class Copyable:
    key: str  # the menu's letter
    label: str
    text: str  # empty: the row has none


def command(name: str, record: Mapping[str, object], dataset: str) -> str:
    """`trnui NAME MODEL` with the row's own stack, and the dataset if it is not the usual one."""
    return row_line(name, str(record.get("model_id")), record, dataset if dataset != DATASET else None)


TABLE = ("model_id", "result", "tp", "wall_s", "neuronx_cc", "library", "library_version", "error")


def _values(detail: Detail) -> dict[str, object]:
    return {k: v for k, v in detail.values.items() if k != "run_py"} | dict(detail.derived)


def as_json(detail: Detail) -> str:
    """The row as `trnui show --format json` words it, without run.py."""
    return json.dumps(_values(detail), indent=1, ensure_ascii=False, default=str)


def rows_as_json(details: Sequence[Detail]) -> str:
    return json.dumps([_values(d) for d in details], indent=1, ensure_ascii=False, default=str)


def as_markdown(details: Sequence[Detail]) -> str:
    """A table to paste: result, stack and the line of the error that says most."""
    from io import StringIO

    from trnui.catalog.analysis.export import write
    from trnui.catalog.dataset.reason import reason_line
    from trnui.catalog.engine.result_set import Table

    rows = tuple(
        tuple(reason_line(str(d.values.get(c) or "")) or None if c == "error" else d.values.get(c) for c in TABLE)
        for d in details
    )
    sink = StringIO()
    write(Table(TABLE, rows), "markdown", sink)
    return sink.getvalue()


def copyables(detail: Detail, dataset: str, install: str) -> list[Copyable]:
    record = {**detail.values, **detail.derived}
    script = detail.values.get("run_py")
    error = detail.values.get("error")
    return [
        Copyable("i", "model id", str(record.get("model_id"))),
        Copyable("n", "row as JSON", as_json(detail)),
        Copyable("p", "install command", install),
        Copyable("c", "cache command", command("cache", record, dataset)),
        Copyable("s", "show command", command("show", record, dataset)),
        Copyable("r", "run command", command("run", record, dataset)),
        Copyable("y", "run.py", str(script or "")),
        Copyable("e", "error", str(error or "")),
        Copyable("t", "report (Markdown)", report(detail, dataset, install)),
    ]


def report(detail: Detail, dataset: str, install: str) -> str:
    """A row as a Markdown issue: result, stack, commands, error. A run of one's own has `trnui report`."""
    from trnui_runner.common.dataset_schema import STACK
    from trnui_runner.common.text import ABSENT, clean, one_line

    values = detail.values
    lines = [f"### {one_line(values.get('model_id'))}: {one_line(values.get('result')) or ABSENT}", ""]
    for name in ("exclusion", "notes", "tp", "wall_s", "hbm_peak_gb", "tested_at"):
        if values.get(name) not in (None, ""):
            lines.append(f"- {name}: {one_line(values[name])}")
    lines += ["", "| package | version |", "|---|---|"]
    lines += [f"| {n} | {one_line(values.get(n)) or ABSENT} |" for n in STACK]
    lines += ["", "```sh", *([install] if install else []), command("run", values, dataset), "```"]
    error = clean(values.get("error"))
    if error:
        lines += ["", "<details><summary>error</summary>", "", "```text", error[:20_000], "```", "</details>"]
    return "\n".join(lines) + "\n"
