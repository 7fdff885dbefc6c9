"""`trnui cache`: the state of the NEFF cache, the bucket that could fill it with who names it, and filling it."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from trnui.cli.shared_options import GlobalOptions, global_options, note
from trnui.cli.shell_completion import models
from trnui.cli.stack_options import stack_options
from trnui_runner.common.errors import DataError, Exit, UsageError
from trnui_runner.common.text import ABSENT, one_line, size

if TYPE_CHECKING:
    from trnui.catalog.messages import Detail
    from trnui_runner.host.neff_cache import Bucket, Cache

NO_BUCKET = "Neither the dataset nor a setting names a bucket with compiled graphs."
SET_BUCKET = 'Set one: neff_bucket = "owner/name" in the settings (trnui config), or TRNUI_NEFF_BUCKET.'


class StackOptions(NamedTuple):
    """The stack options as given."""

    neuronx_cc: tuple[str, ...]
    library: str | None
    library_version: tuple[str, ...]


@click.command("cache")
@click.argument("model", required=False, shell_complete=models)
@click.option("--status", is_flag=True, help="All caches of this host, one for each compiler version.")
@click.option("--fill", is_flag=True, help="Copy the graphs from the bucket: staged, checked, then moved.")
@click.option("--python", metavar="P", help="Interpreter whose compiler version counts.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@stack_options
@global_options
@click.pass_obj
def command(
    options: GlobalOptions,
    model: str | None,
    status: bool,
    fill: bool,
    python: str | None,
    format_: str,
    neuronx_cc: tuple[str, ...],
    library: str | None,
    library_version: tuple[str, ...],
) -> int:
    """The NEFF cache for this host's compiler: what is there, and the command that fills it.

    With MODEL the row's notes and run.py are searched for a bucket too. Graphs fit one compiler version only.
    """
    from trnui_runner.host import neff_cache

    if status or (model is None and not fill):
        return _status(options, python, format_)
    stack = StackOptions(neuronx_cc, library, library_version)
    detail, card = _known(options, model, stack)
    values = detail.values if detail is not None else {}
    named = neff_cache.bucket(
        options.settings.neff_bucket, card=card, notes=values.get("notes"), run_py=values.get("run_py")
    )
    version, whose = _version(options, python, stack, values)
    cache = neff_cache.cache(version, options.settings.neff_cache)
    if fill:
        return _fill(options, named, version, cache)
    _show(model or "", cache, named, version, whose, values.get("neuronx_cc"), format_)
    return Exit.OK


def _known(options: GlobalOptions, model: str | None, stack: StackOptions) -> tuple[Detail | None, str | None]:
    """(the model's row, the dataset card's text)."""
    from trnui.catalog.dataset import snapshot

    card = snapshot.resolve(options.settings.dataset, options.offline).card
    text = card.read_text(encoding="utf-8", errors="replace") if card is not None else None
    if model is None:
        return None, text
    from trnui.catalog.engine.catalog import open_catalog
    from trnui.cli.row_choice import chosen_row

    return chosen_row(open_catalog(options), model, stack.neuronx_cc, stack.library, stack.library_version), text


def _version(
    options: GlobalOptions, python: str | None, stack: StackOptions, values: dict[str, Any]
) -> tuple[str, str]:
    """(compiler version, whose): as asked for, this host's, else the row's. Raises UsageError when none is known."""
    asked = [v for v in stack.neuronx_cc if v not in ("all", "latest")]
    if asked:
        return asked[0], "asked for"
    from trnui_runner.host.interpreter import find

    here = find(python or options.settings.python or None).stack.get("neuronx_cc")
    if here:
        return here, "this host's"
    row = values.get("neuronx_cc")
    if row:
        return str(row), "the row's; this host has no neuronx-cc"
    raise UsageError("This host has no neuronx-cc, and no row names a version.", "Name one: --neuronx-cc V.")


def _show(model: str, cache: Cache, named: Bucket | None, version: str, whose: str, row: Any, format_: str) -> None:
    from trnui_runner.host import neff_cache

    fill = f"trnui cache {model} --fill".replace("  ", " ") if named is not None else None
    raw = neff_cache.command(named, version, cache.path) if named is not None else None
    if format_ == "json":
        value = cache.to_json() | {
            "bucket": named.name if named else None,
            "bucket_source": named.source if named else None,
            "fill": fill,
            "command": raw,
            "stand_in": "standin" in version,
        }
        print(json.dumps(value, indent=1))
        return
    mark = " · stand-in" if "standin" in version else ""
    lines = [
        ("compiler", f"neuronx-cc {one_line(version)} ({whose}){mark}"),
        ("cache", f"{cache.words}{mark}"),
        ("folder", f"{cache.path} ({cache.origin})"),
        ("bucket", f"{named.name}, named by {named.source}" if named else NO_BUCKET),
    ]
    lines += [("fill", fill), ("", f"or, unchecked: {raw}")] if fill else [("", SET_BUCKET)]
    print("\n".join(f"{name:<10}{words}".rstrip() for name, words in lines))
    if row and row != version:
        note(f"The row was compiled by neuronx-cc {one_line(row)}: its graphs cannot be used with {one_line(version)}.")
    note("Graphs from a bucket are programs for the device: fill from sources that you trust.")


def _status(options: GlobalOptions, python: str | None, format_: str) -> int:
    """Every version's cache, and which one a run here uses."""
    from trnui_runner.host import neff_cache
    from trnui_runner.host.interpreter import find

    setting = options.settings.neff_cache
    stack = find(python or options.settings.python or None).stack
    compiler = stack.get("neuronx_cc")
    used = neff_cache.cache(compiler, setting) if compiler else None
    caches = {c.path: c for c in (*([used] if used else []), *neff_cache.all_caches(setting))}
    if format_ == "json":
        print(
            json.dumps(
                [c.to_json() | {"used": used is not None and c.path == used.path} for c in caches.values()], indent=1
            )
        )
        return Exit.OK
    now = time.time()
    from trnui_runner.common.text import age

    print(f"{'':2}{'neuronx-cc':<28}{'graphs':>8}{'size':>12}{'empty':>7}  newest")
    for cache in caches.values():
        newest = ABSENT if cache.newest is None else age(now - cache.newest)
        row = f"{one_line(cache.neuronx_cc) or 'unknown':<28}{cache.files:>8}{size(cache.bytes):>12}{len(cache.broken):>7}  {newest}"
        print(f"{'* ' if used is not None and cache.path == used.path else '  '}{row}")
    note(
        f"* a run here uses {used.path} ({used.origin})"
        if used
        else "no neuronx-cc on this host: runs use none of them"
    )
    if stack.get("stand_in"):
        note("This host is a stand-in, not a Trainium: these are not real graphs.")
    return Exit.OK


def _fill(options: GlobalOptions, named: Bucket | None, version: str, cache: Cache) -> int:
    """Raises DataError when no bucket is known or reachable."""
    from trnui_runner.host.neff_cache import address
    from trnui_runner.host.neff_sync import fill

    if named is None:
        raise DataError(NO_BUCKET, SET_BUCKET)
    if options.offline:
        raise DataError("--offline: nothing can be fetched.", "Leave out --offline to fill the cache.")
    try:
        source = address(named, version)
    except ValueError as error:
        raise UsageError(str(error)) from error
    note(f"{source} (named by {named.source}) → {cache.path}")
    terminal = sys.stderr.isatty()

    def say(done: int, total: int) -> None:
        if terminal:
            sys.stderr.write(f"\r\x1b[K{size(min(done, total))} of {size(total)}")
            sys.stderr.flush()

    try:
        filled = fill(source, cache.path, say=say, token=options.settings.hub_token)
    finally:
        if terminal:
            sys.stderr.write("\r\x1b[K")
    print(filled.words)
    for path in filled.broken[:20]:
        note(f"incomplete: {path}")
    return Exit.FAILED if filled.broken else Exit.OK
