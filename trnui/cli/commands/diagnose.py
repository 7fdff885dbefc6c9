"""`trnui diagnose`: what a log or a row's error means and what to do next, as text or as JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trnui.cli.choices import NearestChoice
from trnui.cli.shared_options import GlobalOptions, global_options
from trnui_runner.common.errors import Exit, UsageError, UserError

if TYPE_CHECKING:
    from trnui_runner.diagnosis import Diagnosis

CHUNK = 1 << 20
EMPTY_LOG = "The log is empty"
EMPTY_HINT = (
    "Nothing was written to it, or the errors went elsewhere: capture both with `python3 run.py > output.log 2>&1`."
)


@click.command("diagnose")
@click.argument(
    "file", metavar="FILE|-", required=False, type=click.Path(path_type=Path, dir_okay=False, allow_dash=True)
)
@click.option(
    "--row",
    metavar="FILE.json",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="One row of the dataset as a JSON object.",
)
@click.option("--elsewhere", is_flag=True, help="The text comes from another host: give no advice about this one.")
@click.option("--format", "format_", type=NearestChoice(("text", "json")), default="text", help="Default: text.")
@global_options
@click.pass_obj
def command(options: GlobalOptions, file: Path | None, row: Path | None, elsewhere: bool, format_: str) -> int:
    """The class, a summary, what to do next, the lines that say so and the facts in them.

    FILE is a log as it was captured (- for stdin); --row takes one row, as `trnui show MODEL --format json` prints its values.
    """
    if (file is None) == (row is None):
        raise UsageError("Give either FILE (- for stdin) or --row FILE.json.", "trnui diagnose output.log")
    if row is not None:
        values = read_row(row)
        found = of_row(values)
    else:
        assert file is not None
        values = None
        found = of_log(file)
    found = advised(options, found, values, elsewhere)
    if row is None and found.cls == "empty":
        found = replace(found, summary=EMPTY_LOG, hint=EMPTY_HINT)
    if format_ == "json":
        print(json.dumps(found.to_json(), ensure_ascii=False, indent=1, default=str))
    else:
        for line in lines(found):
            print(line)
    return Exit.OK


def of_log(file: Path) -> Diagnosis:
    """A file of any size, in pieces."""
    from trnui_runner.diagnosis import Stream

    stream = Stream()
    try:
        with click.open_file(str(file), "rb") as source:
            while data := source.read(CHUNK):
                stream.feed(data)
    except OSError as error:
        raise UserError(
            f"{file}: {error.strerror or error}", "Name a file that can be read, or - for stdin.", Exit.USAGE
        ) from None
    return stream.answer().diagnosis


def read_row(file: Path) -> dict[str, Any]:
    """One JSON object; of `trnui show --format json` the part with the row's values."""
    try:
        with click.open_file(str(file), "rb") as source:
            value = json.loads(source.read())
    except OSError as error:
        raise UserError(
            f"{file}: {error.strerror or error}", "Name a file that can be read, or - for stdin.", Exit.USAGE
        ) from None
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{file}: not JSON ({error})", "A row is one JSON object with the dataset's column names."
        ) from None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict) and isinstance(value.get("row"), dict):
        value = value["row"]
    if not isinstance(value, dict):
        raise UsageError(f"{file}: not one row", "A row is one JSON object with the dataset's column names.")
    return value


def of_row(row: dict[str, Any]) -> Diagnosis:
    from trnui_runner.diagnosis import diagnose_row

    return diagnose_row(row)


def advised(options: GlobalOptions, found: Diagnosis, row: dict[str, Any] | None, elsewhere: bool) -> Diagnosis:
    """The hint made concrete: by this host for a log of it, by the catalog for a row."""
    from trnui_runner.diagnosis import Facts, advise
    from trnui_runner.diagnosis.host_facts import facts_here, versions

    known: dict[str, Any] = {}
    if row is not None:
        known["row_versions"] = versions(row)
        known |= _catalog(options, str(row.get("model_id") or ""), str(found.facts.get("code") or ""))
    return advise(found, Facts(**known) if elsewhere or row is not None else facts_here(found.cls, **known))


def _catalog(options: GlobalOptions, model: str, code: str) -> dict[str, Any]:
    """What the dataset says of the model; nothing where there is none on disk."""
    from trnui.catalog.engine.catalog import open_catalog
    from trnui.catalog.engine.suggestions import advice

    try:
        return advice(open_catalog(options), model, code)
    except UserError:  # a text can be diagnosed without any dataset
        return {}


def lines(found: Diagnosis) -> list[str]:
    """For people. Every line of foreign text goes through `clean` on its way out; it is never markup."""
    from trnui_runner.common.text import clean

    shown = [f"{found.cls} ({found.severity})", found.summary, "", f"What to do: {found.hint}"]
    if found.evidence:
        shown += ["", "Evidence" if found.cls != "unknown" else "Last lines"]
        shown += [f"  {line}" for text in found.evidence for line in text.splitlines()]
    if found.facts:
        width = max(map(len, found.facts))
        shown += ["", "Facts", *(f"  {name:<{width}}  {_value(value)}" for name, value in found.facts.items())]
    return [clean(line) for line in shown]


def _value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
