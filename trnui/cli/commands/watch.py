"""`trnui watch MODEL…`: pins models; what began to pass or fail for them is told by `trnui sync` and by `trnui watch --check`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trnui.cli.choices import NearestChoice
from trnui.cli.shared_options import GlobalOptions, global_options, note
from trnui.cli.shell_completion import models, watched
from trnui.cli.stack_options import tell
from trnui_runner.common.errors import Exit, UsageError, UserError

if TYPE_CHECKING:
    from trnui.catalog.engine.catalog import Catalog


@click.command("watch")
@click.argument("model", nargs=-1, shell_complete=models)
@click.option(
    "--list", "list_", is_flag=True, help="The models watched, and how they stand now (also without any option)."
)
@click.option(
    "--remove", metavar="MODEL", multiple=True, shell_complete=watched, help="Stop watching this one; repeatable."
)
@click.option(
    "--check", is_flag=True, help="What changed since the last --check; exit code 1 if anything did, for cron."
)
@click.option("--format", "format_", type=NearestChoice(["text", "json"]), default="text", show_default=True)
@global_options
@click.pass_obj
def command(
    options: GlobalOptions, model: tuple[str, ...], list_: bool, remove: tuple[str, ...], check: bool, format_: str
) -> int:
    """Watch models: MODEL… is pinned from now on.

    As a line of cron: trnui sync && trnui watch --check || mail …
    """
    from trnui.catalog.engine.catalog import open_catalog

    if sum((bool(model), list_, bool(remove), check)) > 1:
        raise UsageError("MODEL, --list, --remove and --check go one at a time")
    if remove:
        return _remove(remove)
    catalog = open_catalog(options)
    if model:
        return _add(catalog, model)
    if check:
        return _check(catalog, format_)
    return _list(catalog, format_)


def _add(catalog: Catalog, names: tuple[str, ...]) -> int:
    from trnui.catalog import watch
    from trnui.catalog.engine.catalog import UnknownModelError

    spelled = []
    for name in names:
        try:
            spelled.append(catalog.find(name))
        except UnknownModelError as error:
            near = f"; nearest: {', '.join(error.near)}" if error.near else ""
            note(f"{name}: no row yet{near}")
            spelled.append(name)
    try:
        new = watch.add(spelled)
        for teller in (watch.CHECK, watch.SYNC, watch.APP):
            watch.news(catalog, teller)  # from here on a change is a change
    except OSError as error:
        raise UserError(f"{watch.path()}: cannot be written ({error.strerror})") from error
    for name in spelled:
        note(f"{name}: {'watched from now on' if name in new else 'is watched already'}")
    return Exit.OK


def _remove(names: tuple[str, ...]) -> int:
    from trnui.catalog import watch
    from trnui.did_you_mean import did_you_mean

    pinned = watch.load().models
    lower = {p.lower() for p in pinned}
    for name in names:
        if name.lower() not in lower:
            raise UsageError(
                f"{name}: is not watched", f"{did_you_mean(name, pinned)}trnui watch --list names those that are."
            )
    for name in watch.remove(names):
        note(f"{name}: no longer watched")
    return Exit.OK


def _check(catalog: Catalog, format_: str) -> int:
    from trnui.catalog import watch
    from trnui.catalog.analysis.export import dumps

    try:
        found = watch.news(catalog, watch.CHECK)
    except OSError as error:
        raise UserError(f"{watch.path()}: cannot be written ({error.strerror})") from error
    if format_ == "json":
        print(
            dumps(
                [
                    {
                        "model_id": c.model_id, "neuronx_cc": c.stack.neuronx_cc, "library": c.stack.library,
                        "library_version": c.stack.library_version, "before": c.before, "after": c.after,
                    }
                    for c in found
                ],
                indent=1,
            )
        )  # fmt: skip
    else:
        for change in found:
            print(f"{change.model_id}\t{change.words}")
    many = len(watch.load().models)
    tell(
        catalog,
        f"{many} model{'s' * (many != 1)} watched, {len(found)} change{'s' * (len(found) != 1)} since the last check",
    )
    return Exit.FAILED if found else Exit.OK


def _list(catalog: Catalog, format_: str) -> int:
    from trnui.catalog import watch
    from trnui.catalog.analysis.export import dumps
    from trnui.catalog.engine.elsewhere import elsewhere_of

    pinned = sorted(watch.load().models, key=str.lower)
    words = [elsewhere_of(catalog.connection, name) for name in pinned]
    if format_ == "json":
        print(dumps([{"model_id": n, "stands": w} for n, w in zip(pinned, words, strict=True)], indent=1))
    else:
        for name, told in zip(pinned, words, strict=True):
            print(f"{name}\t{told or 'NOT TESTED'}")
    tell(catalog, "" if pinned else "No model is watched: trnui watch MODEL pins one.")
    return Exit.OK
