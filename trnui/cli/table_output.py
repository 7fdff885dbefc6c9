"""Where a command's table goes: stdout or a file, in the format asked for or the one that the file's name ends in."""

from __future__ import annotations

import difflib
import io
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from trnui.cli.choices import NearestChoice
from trnui.cli.shared_options import GlobalOptions, note
from trnui_runner.common.errors import UsageError, UserError

if TYPE_CHECKING:
    from trnui.catalog.engine.result_set import Table

F = TypeVar("F", bound=Callable[..., Any])
FORMATS: Final = ("table", "csv", "tsv", "json", "jsonl", "markdown", "parquet", "html")
_ENDINGS: Final = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".md": "markdown",
    ".parquet": "parquet",
    ".html": "html",
    ".txt": "table",
}


@dataclass(frozen=True)
class Output:
    """Where and how a command's table is to be written: what `output_options` says, the format chosen."""

    format: str
    file: Path | None = None
    no_truncate: bool = False
    spreadsheet_safe: bool = False

    @property
    def for_a_person(self) -> bool:
        return self.format in ("table", "markdown")


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
            "--format", "format_", type=NearestChoice(FORMATS), help="Default: table, or what FILE's name ends in."
        ),
    ):
        function = decorate(function)
    return function


def chosen_format(format_: str | None, output: Path | None) -> str:
    """What was asked for, else what the file's name ends in, else `table`. Raises UsageError for an ending that names
    another kind of file: a text table in `x.xlsx` would open as nothing."""
    if format_:
        return format_
    ending = output.suffix.lower() if output and str(output) != "-" else ""
    if ending and ending not in _ENDINGS and ending[1:].isalnum() and not ending[1:].isdigit():
        near = difflib.get_close_matches(ending, _ENDINGS, 1, 0.6)
        hint = f"Did you mean {near[0]}? " if near and near[0] != ".txt" else ""
        raise UsageError(
            f"-o {output}: trnui writes no {ending} file",
            f"{hint}Endings: {', '.join(_ENDINGS)}; or name the format with --format.",
        )
    return _ENDINGS.get(ending, "table")


def put(
    table: Table,
    options: GlobalOptions,
    *,
    format_: str,
    output: Path | None,
    no_truncate: bool = False,
    spreadsheet_safe: bool = False,
) -> None:
    """Raises UserError when the file cannot be written; a file is written whole or not at all."""
    from trnui.catalog.analysis.export import write

    safe = spreadsheet_safe or bool(options.settings.spreadsheet_safe)
    ascii_only = options.settings.ascii == "on"
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


def put_in(table: Table, options: GlobalOptions, where: Output) -> None:
    """`put`, as `output_options` has it."""
    put(
        table,
        options,
        format_=where.format,
        output=where.file,
        no_truncate=where.no_truncate,
        spreadsheet_safe=where.spreadsheet_safe,
    )


def put_text(text: str, file: Path | None, what: str = "") -> None:
    """A text that is not a table: to stdout, or whole into a file, which is told as `what`. Raises UserError."""
    if file is None or str(file) == "-":
        _utf8(sys.stdout)
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    from trnui_runner.common.files import write_given

    try:
        write_given(file, text)
    except OSError as error:
        raise UserError(f"{file}: cannot be written ({error.strerror})") from error
    note(f"{what} written to {file}" if what else f"written to {file}")


def _utf8(stream: Any) -> None:
    """Data is UTF-8 whatever the locale says; a terminal that cannot draw a character gets a replacement."""
    if hasattr(stream, "reconfigure"):
        if stream.isatty():
            stream.reconfigure(errors="replace")
        else:
            stream.reconfigure(encoding="utf-8", errors="replace", newline="")
