"""A Table in any of the formats. Only `table` shortens values, and only to fit a terminal; the other formats hold them whole.

csv and tsv round-trip (an absent value is an empty field, an empty text is `""`); control characters reach a terminal in
no format. Headers are the columns, also of a table without rows.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import IO, Any, Final

from trnui.catalog.engine.result_set import Table
from trnui_runner.common.dataset_schema import COLUMNS, Status
from trnui_runner.common.text import ABSENT, Safe, cells, clean, escaped, fit, one_line

FORMATS: Final = ("table", "csv", "tsv", "json", "jsonl", "markdown", "parquet", "html")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
_NARROW: Final = 12  # cells below which a text column is not squeezed
_FIRST: Final = 32  # the same for the first column, which names the row
_SURROGATE = re.compile("[\ud800-\udfff]")
_MARKDOWN = re.compile(r"([\\`*\[\]<>|])")
# Types of the columns that are not the dataset's, for Parquet; the rest is text.
_TYPES: Final = {
    "row": "BIGINT", "rank": "INTEGER", "downloads": "BIGINT", "parameters": "BIGINT", "trending_score": "DOUBLE",
}  # fmt: skip


def write(
    table: Table,
    format: str,
    stream: IO[Any],
    *,
    width: int | None = None,
    terminal: bool = False,
    spreadsheet_safe: bool = False,
    ascii_only: bool = False,
) -> tuple[str, ...]:
    """Writes to a text stream (parquet: to a binary one, or to the `buffer` of a text one). `width` in cells squeezes the
    format `table`; `terminal` cleans csv and tsv. Returns the columns that did not fit. Raises OSError."""
    if format == "parquet":
        getattr(stream, "buffer", stream).write(parquet(table))
        return ()
    if format == "table":
        lines, left_out = as_table(table, width, ascii_only=ascii_only)
        stream.writelines(line + "\n" for line in lines)
        return left_out
    if format in ("csv", "tsv"):
        mark = "," if format == "csv" else "\t"
        stream.writelines(separated(table, mark, terminal=terminal, spreadsheet_safe=spreadsheet_safe))
    elif format == "markdown":
        stream.writelines(as_markdown(table))
    elif format == "jsonl":
        stream.writelines(dumps(record) + "\n" for record in table.records())
    elif format == "html":
        from trnui_runner.common import html_page

        stream.write(html_page.page("trnui", [html_page.table(table.columns, table.rows, shown=cell)]))
    elif format == "json":
        stream.writelines(as_json(table.records()))
    else:
        raise ValueError(format)
    return ()


def plain(value: object) -> object:
    """A value as JSON knows them: times as ISO in UTC, NaN and infinities as None."""
    if isinstance(value, datetime):
        steps = "milliseconds" if value.microsecond and value.microsecond % 1000 == 0 else "auto"
        return (
            value.astimezone(UTC).isoformat(timespec=steps).replace("+00:00", "Z")
            if value.tzinfo
            else value.isoformat()
        )
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int | bool):
        return value
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value.hex() if isinstance(value, bytes) else str(value)


def dumps(value: object, indent: int | None = None) -> Safe:
    """JSON that no terminal obeys: control, bidi and invisible characters are escaped."""
    return escaped(json.dumps(plain(value), ensure_ascii=False, indent=indent))


def as_json(records: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """A list, one object a line."""
    first = True
    for record in records:
        yield ("[\n " if first else ",\n ") + dumps(record)
        first = False
    yield "[]\n" if first else "\n]\n"


def text(value: object) -> str:
    """A value as text in csv and tsv."""
    value = plain(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else dumps(value) if isinstance(value, dict | list) else repr(value)


def separated(table: Table, mark: str, *, terminal: bool = False, spreadsheet_safe: bool = False) -> Iterator[str]:
    """RFC 4180 with `mark` between fields; an absent value is empty, an empty text is `""`."""

    def field(value: object) -> str:
        written = _SURROGATE.sub("\ufffd", text(value))
        if terminal:
            written = clean(written)
        if spreadsheet_safe and isinstance(value, str) and written.startswith(_FORMULA):
            written = "'" + written
        if not written:
            return '""' if isinstance(value, str) else ""
        if any(c in written for c in (mark, '"', "\n", "\r")) or written != written.strip():
            return '"' + written.replace('"', '""') + '"'
        return written

    yield mark.join(field(c) for c in table.columns) + "\n"
    alone = len(table.columns) == 1  # an absent value alone on its line would be no line
    for row in table.rows:
        line = mark.join(field(v) for v in row)
        yield ('""' if alone and not line else line) + "\n"


def cell(column: str, value: object) -> str:
    """A value for a person, on one line."""
    if column == "status" and isinstance(value, str) and value in Status.__members__:
        return Status(value).word
    written = one_line(text(value), 2000) if value is not None else ""
    return written or ABSENT


def as_markdown(table: Table) -> Iterator[str]:
    def line(values: Iterable[str]) -> str:
        return "| " + " | ".join(values) + " |\n"

    yield line(_MARKDOWN.sub(r"\\\1", one_line(c)) for c in table.columns)
    yield line("---:" if _numeric(table, n) else "---" for n in range(len(table.columns)))
    for row in table.rows:
        yield line(_MARKDOWN.sub(r"\\\1", cell(c, v)) for c, v in zip(table.columns, row, strict=True))


def _numeric(table: Table, n: int) -> bool:
    kinds = {type(row[n]) for row in table.rows[:200]} - {type(None)}
    return bool(kinds) and kinds <= {int, float}


def as_table(table: Table, width: int | None = None, *, ascii_only: bool = False) -> tuple[list[str], tuple[str, ...]]:
    """Aligned lines, and the columns that found no room in `width` cells.

    Columns that say the same in every row are left out first, then those at the right; then text columns are squeezed, the
    first one least. The device is never left out where it is not a Trainium.
    """
    columns = [one_line(c) for c in table.columns]
    rows = [[cell(c, v) for c, v in zip(table.columns, row, strict=True)] for row in table.rows]
    if ascii_only:
        rows = [[v.replace(ABSENT, "-").encode("ascii", "replace").decode() for v in row] for row in rows]
    widths = [max([cells(c), *(cells(row[n]) for row in rows)]) for n, c in enumerate(columns)]
    right = [_numeric(table, n) for n in range(len(columns))]
    shown = list(range(len(columns)))
    if width is not None:
        floors = [
            w if right[n] else min(w, max(_FIRST if n == 0 else _NARROW, cells(columns[n])))
            for n, w in enumerate(widths)
        ]
        same = [n for n in shown[1:] if len(rows) > 1 and len({row[n] for row in rows}) == 1]
        marks = [
            n for n, c in enumerate(columns) if c == "device" and {row[n] for row in rows} - {"neuron", ABSENT, "-"}
        ]
        for n in (*reversed(same), *(n for n in reversed(shown[1:]) if n not in same)):
            if n not in marks and sum(floors[n] for n in shown) + 2 * (len(shown) - 1) > width:
                shown.remove(n)
        _squeeze(widths, floors, shown, width)

    def line(values: Sequence[str]) -> str:
        parts = [fit(values[n], widths[n], "right" if right[n] else "left") for n in shown]
        whole = "  ".join(parts).rstrip()
        return whole.replace("…", "~") if ascii_only else whole

    return [line(columns), *(line(row) for row in rows)], tuple(c for n, c in enumerate(columns) if n not in shown)


def _squeeze(widths: list[int], floors: list[int], shown: list[int], width: int) -> None:
    """Takes cells from the widest columns until the line fits, from the first one last."""
    excess = sum(widths[n] for n in shown) + 2 * (len(shown) - 1) - width
    while excess > 0:
        room = [(n != 0, widths[n], n) for n in shown if widths[n] > floors[n]]
        if not room:
            widths[0] = max(1, widths[0] - excess)  # a terminal narrower than one column
            return
        n = max(room)[-1]
        widths[n] -= 1
        excess -= 1


def parquet(table: Table) -> bytes:
    """With the dataset's own types and page checksums; also without rows."""
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {
        "VARCHAR": pa.string(), "INTEGER": pa.int32(), "BIGINT": pa.int64(), "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_(),
        "TIMESTAMP WITH TIME ZONE": pa.timestamp("ms", tz="UTC"),
    }  # fmt: skip
    schema = pa.schema([(c, kinds[_kind(c, [row[n] for row in table.rows])]) for n, c in enumerate(table.columns)])
    columns = [
        pa.array(
            [_stored(row[n], schema.field(n).type == pa.string()) for row in table.rows],
            schema.field(n).type,
            from_pandas=True,
        )
        for n in range(len(table.columns))
    ]
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(columns, schema=schema), sink, write_page_checksum=True)
    return sink.getvalue()


def _kind(column: str, values: Sequence[object]) -> str:
    """The type that a column is known to have if its values are of it (a query may call anything `tp`), else theirs, else text."""
    known = COLUMNS.get(column) or _TYPES.get(column)
    there = {type(value) for value in values if value is not None}
    whole = [value for value in values if isinstance(value, int)]
    small, large = (all(-(1 << bits) <= value < 1 << bits for value in whole) for bits in (31, 63))
    fits = {
        "INTEGER": there <= {int} and small,
        "BIGINT": there <= {int} and large,
        "DOUBLE": there <= {int, float} and large,
        "TIMESTAMP WITH TIME ZONE": there <= {datetime},
        "VARCHAR": True,
    }
    if known and fits[known]:
        return known
    if not there:
        return "VARCHAR"
    return next(
        (kind for kind in ("BIGINT", "DOUBLE", "TIMESTAMP WITH TIME ZONE") if fits[kind]),
        "BOOLEAN" if there == {bool} else "VARCHAR",
    )


def _stored(value: object, as_text: bool) -> object:
    if as_text and value is not None and not isinstance(value, str):
        return text(value)
    return _SURROGATE.sub("\ufffd", value) if isinstance(value, str) else value
