"""Where a command's table goes: stdout or a file, in the format asked for or the one that the file's name ends in."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from trnui.cli.shared_options import Options, note
from trnui_runner.common.errors import UserError

if TYPE_CHECKING:
    from trnui.catalog.engine.result_set import Table

F = TypeVar("F", bound=Callable[..., Any])
FORMATS: Final = ("table", "csv", "tsv", "json", "jsonl", "markdown", "parquet")
_ENDINGS: Final = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".md": "markdown",
    ".parquet": "parquet",
    ".txt": "table",
}


def output_options(function: F) -> F:
    """--format, --output, --no-truncate, --spreadsheet-safe."""
    for decorate in (
        click.option(
            "--spreadsheet-safe",
            is_flag=True,
            help="csv, tsv: a cell that a spreadsheet would run as a formula gets a ' in front.",
        ),
        click.option("--no-truncate", is_flag=True, help="Do not fit the table to the terminal."),
        click.option(
            "-o", "--output", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Write to a file."
        ),
        click.option(
            "--format", "format_", type=click.Choice(FORMATS), help="Default: table, or what FILE's name ends in."
        ),
    ):
        function = decorate(function)
    return function


def chosen_format(format_: str | None, output: Path | None) -> str:
    return format_ or (_ENDINGS.get(output.suffix.lower(), "table") if output else "table")


def put(
    table: Table,
    options: Options,
    *,
    format_: str,
    output: Path | None,
    no_truncate: bool = False,
    spreadsheet_safe: bool = False,
) -> None:
    """Raises UserError when the file cannot be written; a file is written whole or not at all."""
    from trnui.catalog.analysis.export import write

    safe = spreadsheet_safe or bool(options.settings["spreadsheet_safe"])
    ascii_only = options.settings["ascii"] == "on"
    if output is None or str(output) == "-":
        terminal = sys.stdout.isatty()
        width = shutil.get_terminal_size().columns if terminal and not no_truncate else None
        _utf8(sys.stdout)
        left_out = write(
            table, format_, sys.stdout, width=width, terminal=terminal, spreadsheet_safe=safe, ascii_only=ascii_only
        )
        sys.stdout.flush()
        if left_out:
            note(f"{len(left_out)} columns not shown ({', '.join(left_out)}): --no-truncate shows them")
        return
    from trnui_runner.common.files import write_given

    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding="utf-8", errors="replace", newline="", write_through=True)
    write(table, format_, stream, spreadsheet_safe=safe, ascii_only=ascii_only)
    stream.flush()
    try:
        write_given(output, buffer.getvalue())
    except OSError as error:
        raise UserError(f"{output}: cannot be written ({error.strerror})") from error
    note(f"{len(table.rows):,} rows written to {output}")


def _utf8(stream: Any) -> None:
    """Data is UTF-8 whatever the locale says; a terminal that cannot draw a character gets a replacement."""
    if hasattr(stream, "reconfigure"):
        if stream.isatty():
            stream.reconfigure(errors="replace")
        else:
            stream.reconfigure(encoding="utf-8", errors="replace", newline="")
