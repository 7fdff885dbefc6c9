"""`trnui list --mine`, `--from`, `--org`, `--collection`: models that the user names, each with its best known result."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from trnui.cli.shared_options import note
from trnui.cli.stack_options import tell
from trnui.cli.table_output import Output, put_in
from trnui_runner.common.errors import DataError, Exit, UsageError, UserError
from trnui_runner.common.text import one_line, thousands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trnui.catalog.analysis.my_models import MyModel, Named
    from trnui.catalog.analysis.what_if import WhatIf
    from trnui.catalog.engine.catalog import Catalog
    from trnui.catalog.query import Query
    from trnui.cli.shared_options import GlobalOptions


def list_mine(
    options: GlobalOptions,
    catalog: Catalog,
    query: Query,
    mine: bool,
    files: Sequence[str],
    org: str | None,
    collection: str | None,
    host: WhatIf | None,
    where: Output,
) -> int:
    """The models of all these sources together. Raises UserError."""
    from trnui.catalog.analysis.my_models import my_models, table

    named = _named(options, catalog, mine, files, org, collection)
    _, stacks = catalog.database.resolve(query)
    chosen = stacks if query.neuronx_cc or query.library_version or query.library else None
    cores, host_words = _host(host)
    models = my_models(catalog.database, named, cores, chosen, catalog.connection)
    shown = [m for m in models if _passes(m, query)][: query.limit]
    put_in(table(shown, catalog.stacks()), options, where)
    on = "all stacks" if chosen is None else f"{len(chosen)} stack{'s' * (len(chosen) != 1)}"
    passing = sum(m.best is not None and m.best.status == "PASS" for m in models)
    tell(
        catalog,
        f"{thousands(len(shown))} of {thousands(len(models))} models · {thousands(passing)} with a PASS · best result on {on}",
        host_words,
    )
    return Exit.OK


def _passes(model: MyModel, query: Query) -> bool:
    status = model.best.status if model.best else "UNTESTED"
    return query.text.lower() in model.model_id.lower() and (not query.results or status in query.results)


def _named(
    options: GlobalOptions, catalog: Catalog, mine: bool, files: Sequence[str], org: str | None, collection: str | None
) -> tuple[Named, ...]:
    from trnui.catalog.analysis.my_models import described, in_cache, in_text, merged, of_owner
    from trnui_runner.common.hub_env import hub_cache

    lists = []
    if mine:
        found = in_cache()
        note(f"{len(found)} checkpoint{'s' * (len(found) != 1)} in {hub_cache()}")
        lists.append(found)
    lists += [in_text(_text(file), "stdin" if file == "-" else file) for file in files]
    if org is not None:
        lists += [_fetched(options, "org", org), of_owner(catalog.database, org, catalog.connection)]
    if collection is not None:
        lists.append(_fetched(options, "collection", collection))
    return merged(*lists) if lists else described((), "")


def _text(file: str) -> str:
    if file == "-":
        return sys.stdin.read()
    try:
        return Path(file).expanduser().read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(
            f"--from {one_line(file, 200)}: {error.strerror}", "Give a file with one name a line, or -."
        ) from error


def _fetched(options: GlobalOptions, kind: Literal["org", "collection"], name: str) -> tuple[Named, ...]:
    """The Hub's list, asked for when it is not on disk or a day old; offline, or in trouble, what is there."""
    from trnui.catalog.analysis.my_models import described
    from trnui.catalog.hub import model_lists
    from trnui.catalog.hub.fetch_client import Refresh
    from trnui.catalog.hub.fetch_worker import Order

    name = model_lists.checked(kind, name)
    found = model_lists.load(kind, name)
    trouble: UserError | None = None
    if not options.offline and (found is None or time.time() - found.fetched > model_lists.FRESH_S):
        settings = options.settings
        order = Order(listing=(kind, name), timeout=settings.hub_timeout_s, token=settings.hub_token)
        refresh = Refresh(order).start()
        try:
            part = refresh.wait().listing
        finally:
            refresh.close()
        if part is None or part.failed:
            words = part.words if part else "no answer"
            usage = part is not None and part.kind == "missing"
            trouble = (UsageError if usage else DataError)(f"--{kind} {name}: {words}", part.remedy if part else "")
        found = model_lists.load(kind, name)
    if found is not None:
        note(found.words + (f" · not refreshed: {trouble.message}" if trouble else ""))
        return described(found.models, kind)
    if kind == "org":  # what is on disk of it all the same
        note(f"trnui: {trouble.message if trouble else '--offline: the Hub is not asked'}")
        return ()
    raise trouble or DataError(f"--{kind} {name}: not on disk", "Leave --offline out to ask the Hub.")


def _host(host: WhatIf | None) -> tuple[int | None, str]:
    """Cores of the host that is asked about: the one named, else this one."""
    if host is not None:
        return host.instance.cores, f"fits: on {host.instance.words}"
    from trnui_runner.host.devices import devices

    here = devices()
    if not here.cores:
        return None, "fits: no Neuron device here; --host trn2.3xlarge says what such a host holds"
    return len(here.cores), f"fits: on this host, {len(here.cores)} cores"
