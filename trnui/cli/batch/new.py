"""`trnui batch new`: chooses rows, looks ahead, asks once, and starts the batch's keeper."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from trnui.cli.batch.sources import by_name, cached_models, from_comparison, from_list, from_view
from trnui.cli.shared_options import GlobalOptions, global_options, note
from trnui.cli.stack_options import split, stack_options, tell
from trnui_runner.batch.batch_file import Limits, check_id
from trnui_runner.batch.progress import FAIL_ON
from trnui_runner.common.errors import Exit, UsageError

if TYPE_CHECKING:
    from trnui.batch_requests import ChosenRow, PlannedBatch
    from trnui.catalog.engine.catalog import Catalog

VIEWS: Final = ("selected", "trending", "downloads", "failures")


@click.command("new")
@click.argument("models", nargs=-1, metavar="[MODEL]…")
@click.option("--from", "list_", type=click.Path(path_type=Path), metavar="FILE|-", help="A list: one model a line.")
@click.option(
    "--view", type=click.Choice(VIEWS), help="The rows of a view, with --result, --task, --search, --max-cores."
)
@click.option(
    "--compare",
    "compare",
    nargs=2,
    metavar="A B",
    help="What two stacks do differently: the newly failing, or --change.",
)
@click.option("--mine", is_flag=True, help="The models in the Hub's cache of this host.")
@click.option(
    "--change", multiple=True, metavar="KIND,…", help="With --compare: these kinds of change, as in trnui compare."
)
@click.option("--result", "results", multiple=True, metavar="R,…", help="With --view: PASS, FAIL, EXCLUDED, UNTESTED.")
@click.option("--task", metavar="T", help="With --view: one task.")
@click.option("--search", default="", metavar="TEXT", help="With --view: any part of the model's name.")
@click.option("--max-cores", type=click.IntRange(1), metavar="N", help="With --view: at most N cores.")
@stack_options
@click.option("--script", default="auto", metavar="published|bundled", help="Default: each row's own, else bundled.")
@click.option("--device", type=click.Choice(["auto", "neuron", "cpu"]), default="auto", help="auto: each row's device.")
@click.option("--python", metavar="P", help="Interpreter, or an environment's folder, that runs the models.")
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(0),
    metavar="S",
    help="Stop a run after this many seconds; 0: never.",
)
@click.option("--name", metavar="ID", help="The batch's name; default: the day and the compiler's version.")
@click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    default="newly-failing",
    show_default=True,
    help="For CI: what exit code 1 means.",
)
@click.option(
    "--disk",
    "disk_gb",
    type=click.FloatRange(1),
    metavar="GB",
    help="Disk space that fetched checkpoints may use at a time.",
)
@click.option(
    "--compiling", type=click.IntRange(1), metavar="N", help="Runs that compile at a time; default: vCPUs / 4."
)
@click.option("--ray", metavar="ADDRESS", help="Over the hosts of a Ray cluster, as 10.0.0.5:6379.")
@click.option("--open-port", is_flag=True, help="With --ray: accept a cluster that asks for no token.")
@click.option("--yes", is_flag=True, help="Start it; consent to the rows' own scripts.")
@click.option("--dry-run", is_flag=True, help="Show the plan and start nothing.")
@click.option("--detach", is_flag=True, help="Start it, print its id, and return.")
@click.option("--again", is_flag=True, help="Start a new batch even if an unfinished one has the same rows.")
@click.option("--format", "format_", type=click.Choice(["text", "jsonl"]), default="text", show_default=True)
@global_options
@click.pass_obj
def new(options: GlobalOptions, /, **given: Any) -> int:
    """Run many rows, packed on this host's cores, and follow them.

    Rows come from models by name, --from, --view, --compare or --mine. The batch outlives the terminal; the same command
    goes on with one that was interrupted. Exit codes: 0 all as published or PASS, 1 something newly failing, 5 only
    UNCHECKED besides, 4 no host left, 130 stopped.
    """
    return _new(options, **given)


def _new(
    options: GlobalOptions,
    *,
    name: str | None,
    yes: bool,
    dry_run: bool,
    detach: bool,
    again: bool,
    ray: str | None,
    open_port: bool,
    format_: str,
    **given: Any,
) -> int:
    from trnui.cli.batch.follow import follow_batch
    from trnui_runner.batch.folder import BatchFolder

    planned = plan(options, name=_checked(name), **given)
    same = None if again else unfinished(planned)
    if dry_run:
        show(planned, format_)
        return Exit.OK
    if same is not None:
        note(f"batch {same.id} has the same rows and is not finished: resuming it (--again starts a new one)")
        folder = same
    else:
        confirm(planned, yes)
        folder = BatchFolder.create(planned.batch, planned.requests)
    if not detach:
        return follow_batch(folder, format_, note, ray=ray, open_port=open_port)
    from trnui_runner.batch.keeper_process import start_keeper

    start_keeper(folder, ray=ray, open_port=open_port)
    print(folder.id)
    return Exit.OK


def _checked(name: str | None) -> str | None:
    try:
        return check_id(name) if name is not None else None
    except ValueError as error:
        raise UsageError(f"--name: {error}") from None


def plan(
    options: GlobalOptions,
    *,
    name: str | None,
    disk_gb: float | None,
    compiling: int | None,
    fail_on: str,
    script: str,
    device: str,
    python: str | None,
    timeout_s: float | None,
    **given: Any,
) -> PlannedBatch:
    """The batch that the options ask for. Raises UserError."""
    from trnui.batch_requests import plan_batch
    from trnui.catalog.engine.catalog import open_catalog

    if script not in ("auto", "published", "bundled"):
        raise UsageError(f"--script {script}: a batch runs published or bundled scripts", "trnui run takes a file.")
    catalog = open_catalog(options, rankings=given["view"] in ("trending", "downloads"))
    choices, source = chosen(catalog, **given)
    if not choices:
        raise UsageError("There is nothing to run: no row is left.", f"Asked for: {source}.")
    tell(catalog, f"{len(choices)} rows: {source}")
    limits = Limits(compiling=compiling or 0, disk=int(disk_gb * 1e9) if disk_gb else None)
    fields = {"script": script, "device": device, "python": python, "timeout_s": timeout_s}
    return plan_batch(
        choices, catalog, options.settings, source=source, name=name, limits=limits, fail_on=fail_on,
        sizes=_sizes(options, catalog, choices), offline=options.offline, options=fields,
    )  # fmt: skip


def chosen(
    catalog: Catalog,
    *,
    models: tuple[str, ...],
    list_: Path | None,
    view: str | None,
    compare: tuple[str, str] | None,
    mine: bool,
    change: tuple[str, ...],
    results: tuple[str, ...],
    task: str | None,
    search: str,
    max_cores: int | None,
    neuronx_cc: tuple[str, ...],
    library: str | None,
    library_version: tuple[str, ...],
) -> tuple[list[ChosenRow], str]:
    """(rows, where they are from in words). Raises UsageError unless exactly one source is named."""
    ways = {
        "models by name": bool(models),
        "--from": list_ is not None,
        "--view": view is not None,
        "--compare": compare is not None,
        "--mine": mine,
    }
    named = [way for way, given in ways.items() if given]
    if len(named) != 1:
        asked = f"{' and '.join(named)} were given" if named else "none was given"
        raise UsageError(
            f"A batch takes one source of rows; {asked}.",
            f"Sources: {', '.join(ways)}. As in: trnui batch new --view failures",
        )
    stack = (neuronx_cc, library, library_version)
    if models:
        return by_name(catalog, models, stack), f"{len(models)} models by name"
    if list_ is not None:
        return by_name(catalog, from_list(list_), stack), f"the list {list_.name if str(list_) != '-' else 'on stdin'}"
    if mine:
        return by_name(catalog, cached_models(), stack), "the models in the Hub's cache of this host"
    if compare is not None:
        kinds = ", ".join(split(change)) or "newly failing"
        return from_comparison(catalog, *compare, change, library), f"{kinds} from {compare[0]} to {compare[1]}"
    assert view is not None
    words = [
        f"view {view}",
        *(
            f"{k} {v}"
            for k, v in (
                ("result", ",".join(split(results))),
                ("task", task),
                ("search", search),
                ("at most", max_cores),
            )
            if v
        ),
    ]
    return from_view(catalog, view, stack, split(results), task, search, max_cores), ", ".join(words)


def _sizes(options: GlobalOptions, catalog: Catalog, choices: list[ChosenRow]) -> dict[str, int]:
    """Bytes of the checkpoints that are not here; empty where the network is not to be asked."""
    from trnui_runner.batch.planning.checkpoint_sizes import ask_sizes
    from trnui_runner.common.hub_env import is_offline
    from trnui_runner.request.checkpoint import folder_of, is_local

    if options.offline or is_offline() or catalog.provenance.sample:
        return {}
    wanted = [c.model for c in choices if not is_local(c.model) and folder_of(c.model) is None]
    return ask_sizes(wanted, token=bool(options.settings.hub_token))


def unfinished(planned: PlannedBatch) -> Any:
    """A batch that does the same and is not over."""
    from trnui_runner.batch.folder import all_batches
    from trnui_runner.common.errors import UserError

    for folder in all_batches():
        try:
            if folder.batch().digest == planned.batch.digest and not folder.status().over:
                return folder
        except UserError:
            continue  # said by `trnui batch list`
    return None


def show(planned: PlannedBatch, format_: str) -> None:
    """The look ahead, on stdout."""
    if format_ == "jsonl":
        print(json.dumps(planned.look.to_json()))
        return
    print("\n".join(_lines(planned)))


def _lines(planned: PlannedBatch) -> list[str]:
    from trnui.batch_requests import look_words

    found = look_words(planned)
    width = max(len(name) for name, _ in found)
    return [f"{name:<{width}}  {words}" for name, words in found]


def confirm(planned: PlannedBatch, yes: bool) -> None:
    """One question for everything: the start, and the consent to the scripts of the dataset at its commit. Raises UsageError."""
    from trnui.batch_requests import approve

    for line in _lines(planned):
        note(line)
    if not yes and not (sys.stdin.isatty() and click.confirm("Start?", default=False, err=True)):
        raise UsageError("Not started.", "Say --yes to start it, --dry-run to see the plan.")
    approve(planned)
