"""`trnui sync`: fetches the dataset, its card and the rankings in a child process, with a bar on stderr; `--check` shows the mapping."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trnui.cli.choices import NearestChoice
from trnui.cli.shared_options import GlobalOptions, global_options, note
from trnui.cli.table_output import FORMATS, chosen_format, put
from trnui_runner.common.errors import Exit

if TYPE_CHECKING:
    from trnui.catalog.dataset.column_mapping import FileMapping
    from trnui.catalog.hub.fetch_client import FetchProgress, Finished, Refresh

_RANKINGS_S = 3600.0  # rankings younger than this are not asked for again
_FRAME = 0.1  # seconds between two drawings of the bar
_QUIET = 5.0  # seconds between two lines where stderr is not a terminal


@click.command("sync")
@click.option("--check", is_flag=True, help="Fetch nothing; print how each file's columns are mapped.")
@click.option("--rankings", is_flag=True, help="Ask for the rankings and the inference catalog even if they are young.")
@click.option("--format", "format_", type=NearestChoice(FORMATS), help="Of --check (default: table).")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Of --check: write to a file.",
)
@global_options
@click.pass_obj
def command(options: GlobalOptions, check: bool, rankings: bool, format_: str | None, output: Path | None) -> int:
    """Fetch the dataset, its card, the Hub's rankings and its inference catalog; unchanged data costs one request.

    Every file is checked against its digest; one that is damaged on disk is fetched again.
    """
    if check:
        return _check(options, chosen_format(format_, output), output)
    return _sync(options, rankings)


def _sync(options: GlobalOptions, all_rankings: bool) -> int:
    from trnui.catalog.dataset import rankings, snapshot
    from trnui.catalog.hub import inference_catalog
    from trnui.catalog.hub.fetch_client import Refresh
    from trnui.catalog.hub.fetch_worker import Order

    settings = options.settings
    dataset = settings.dataset
    source = snapshot.resolve(dataset, options.offline)
    if options.offline:
        note("trnui: --offline: nothing is fetched")
        print(f"dataset\tnot fetched\t{source.provenance.words}")
        return Exit.OK
    old = rankings.stale(time.time(), 0.0 if all_rankings else _RANKINGS_S)
    recipes = inference_catalog.stale(time.time(), 0.0 if all_rankings else inference_catalog.EVERY_S)
    order = Order(source.hub, old, recipes, timeout=settings.hub_timeout_s, token=settings.hub_token)
    if source.hub is None:
        note(f"{dataset}: local, nothing to fetch but the rankings and the inference catalog")
        if not (old or recipes):
            return Exit.OK
    refresh = Refresh(order).start()
    try:
        finished = _follow(refresh)
    finally:
        refresh.close()
    return _tell(finished, source.hub, options)


def _follow(refresh: Refresh) -> Finished:
    """Draws until it is over: a bar on a terminal, now and then a line elsewhere."""
    from trnui.catalog.hub.fetch_client import Finished

    terminal = sys.stderr.isatty()
    drawn, last = "", time.monotonic()
    while True:
        state = refresh.poll()
        if isinstance(state, Finished):
            if drawn and terminal:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()
            return state
        words = bar(state)
        if terminal and words != drawn:
            sys.stderr.write(f"\r\x1b[K{words}")
            sys.stderr.flush()
            drawn = words
        elif not terminal and time.monotonic() - last > _QUIET:
            note(words)
            last = time.monotonic()
        time.sleep(_FRAME)


def bar(p: FetchProgress, width: int = 24) -> str:
    """`[=====>      ] 5 of 12 files, 1.2 of 3.4 MiB`; without totals only what is being done."""
    from trnui_runner.common.text import fit, size

    if p.files_total is None:
        return p.at
    share = p.bytes / p.bytes_total if p.bytes_total else p.files / max(p.files_total, 1)
    filled = min(width, int(share * width))
    bar = "=" * filled + (">" if filled < width else "") + " " * (width - filled - 1)
    known = f"{size(p.bytes)} of {size(p.bytes_total)}" if p.bytes_total else size(p.bytes)
    return fit(f"[{bar}] {p.files} of {p.files_total} files, {known}", 79).rstrip()


def _tell(finished: Finished, dataset: str | None, options: GlobalOptions) -> int:
    """What became of each part on stdout (name, state, words); troubles and the data still at hand on stderr."""
    from trnui.catalog.dataset import snapshot

    code, said = Exit.OK, ""
    for name, part in (("dataset", finished.dataset), ("rankings", finished.rankings), ("recipes", finished.recipes)):
        if part is None:
            continue
        if not part.failed:
            print(f"{name}\t{part.state}\t{part.words}")
            continue
        if name == "dataset":
            code = Exit.NO_DATA
        if part.words != said:
            note(f"trnui: {name}: {part.words}")
            note(part.remedy)
        said = part.words
    if finished.changed:
        _watched(options)
    if dataset is not None and finished.dataset is not None:
        at_hand = snapshot.resolve(dataset, options.offline).provenance
        if finished.dataset.failed:
            note(f"at hand: {at_hand.words.partition(' · not refreshed')[0]}")
        else:
            note(at_hand.words)
    return code


def _watched(options: GlobalOptions) -> None:
    """What the new commit changed for the models that are watched."""
    from trnui.catalog import watch
    from trnui.catalog.engine.catalog import open_catalog

    if not watch.load().models:
        return
    try:
        for change in watch.news(open_catalog(options), watch.SYNC):
            print(f"watched\t{change.model_id}\t{change.words}")
    except OSError as error:
        note(f"{watch.path()}: cannot be written ({error.strerror})")


def _check(options: GlobalOptions, format_: str, output: Path | None) -> int:
    """How each file's columns are read; troubles on stderr, exit code 1 where a file could not be read."""
    from trnui.catalog.dataset.snapshot import resolve
    from trnui.catalog.engine.database import Database
    from trnui.catalog.engine.result_set import Table

    source = resolve(options.settings.dataset, options.offline)
    database = Database(source.files, source.names, columns=options.settings.columns, sample=source.provenance.sample)
    database.problems = tuple(source.problems)
    connection = database.open()
    database.load()
    counts = dict(connection.execute("SELECT file, count(*) FROM r GROUP BY file").fetchall())
    short = format_ in ("table", "markdown")
    rows: list[tuple[object, ...]] = []
    for number, name in enumerate(database.names):
        mapping = database.mappings.get(number)
        if mapping is None:
            rows.append((name, None, None, None, "not read", None))
        else:
            rows += [(name, counts.get(number, 0), *line) for line in mapped(mapping, short=short)]
    put(
        Table(("file", "rows", "column", "source", "how", "type"), tuple(rows)), options, format_=format_, output=output
    )
    note(source.provenance.words)
    for problem in database.problems:
        note(f"{problem.file}: {problem.words}")
    note(
        ", ".join(
            (_many(len(database.files), "file"), _many(database.rows, "row"), _many(len(database.problems), "problem"))
        )
    )
    return Exit.OK if len(database.mappings) == len(database.files) else Exit.FAILED


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def mapped(mapping: FileMapping, *, short: bool) -> list[tuple[object, ...]]:
    """(column, source, how, type) of a file; `short` tells the columns that are there by their own names in one line."""
    rows: list[tuple[object, ...]] = []
    plain = [m for m in mapping.mapped if m.how == "name" and m.lost is None] if short else []
    if plain:
        rows.append((f"{len(plain)} columns", "the same", "name", None))
    rows += [
        (m.canonical, m.source, m.how if m.lost is None else f"{m.how}, converted", m.type)
        for m in mapping.mapped
        if m not in plain
    ]
    rows += [(name, None, "absent", None) for name in mapping.absent]
    rows += [(None, name, "unknown, kept", kind) for name, kind in mapping.unknown]
    return rows
