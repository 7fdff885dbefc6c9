"""Parquet files into the table `r`: described, mapped, folded, inserted all or nothing. What fails becomes a Problem.

`r` holds what lists, filters and searches need and no more: a million rows must fit beside the screen. The ten version
columns hardly vary inside a file, so a row holds the number of its combination in the table `s` (three times as fast
to load, half the memory). Everything else stays in the files and is fetched by file and line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trnui.catalog.dataset.checksums import Footer, damaged_pages, digest_differs, has_page_checksums
from trnui.catalog.dataset.column_mapping import CANONICAL, FileColumn, FileMapping, map_columns, may_be_inside, quoted
from trnui.catalog.dataset.file_limits import LONGEST, beyond
from trnui.catalog.dataset.normalize_sql import DEVICE, ENUMS, KIND, OWN_STATUS, PARALLELISM, STATUS, TASK, lowered
from trnui.catalog.dataset.reason import reason_sql
from trnui.catalog.messages import Problem
from trnui_runner.common.dataset_schema import COLUMNS, STACK
from trnui_runner.common.text import one_line

if TYPE_CHECKING:
    import duckdb

HEAD: Final = 300  # characters of `error`, `notes` and `exclusion` that lists and searches see
ENDS: Final = 8_000  # characters at each end of a text in which its reason is looked for
HEADS: Final = ("notes", "error", "exclusion")
STACK_COLUMNS: Final = ("library", *STACK)
KEPT: Final = (
    "model_id", "tp", "result", "notes", "error", "exclusion", "wall_s", "hbm_peak_gb", "hbm_capacity_gb", "tested_at",
)  # fmt: skip
FOLDED: Final = ("status", "kind", "device", "task", "parallelism")
ROW: Final[dict[str, str]] = {
    "file": "SMALLINT", "line": "INTEGER", "stack": "INTEGER", "lower_id": "VARCHAR", **{n: n for n in FOLDED},
    **{n: COLUMNS[n] for n in KEPT}, "reason": "VARCHAR",
}  # fmt: skip
"""The columns of `r` and, after `run`, of `own`."""
RANKINGS: Final[dict[str, str]] = {
    "ranking": "VARCHAR", "task": "VARCHAR", "rank": "INTEGER", "model_id": "VARCHAR", "downloads": "BIGINT",
    "trending_score": "DOUBLE", "parameters": "BIGINT", "gated": "VARCHAR",
}  # fmt: skip
"""The Hub's lists: one line for a model's place in one of them."""
READ: Final = "read_parquet(?, hive_partitioning = false)"
READ_NUMBERED: Final = "read_parquet(?, hive_partitioning = false, file_row_number = true)"
_SOURCES: Final = tuple(c for c in CANONICAL if c not in STACK_COLUMNS and c != "run_py")
_REALS: Final = ("hbm_peak_gb", "hbm_capacity_gb")
_VIRTUAL: Final = ("filename", "file_index", "file_row_number")

Combination = tuple[str | None, ...]
StackNumbers = Callable[[list[Combination]], list[int]]
"""Ids in `s` of combinations, made where they are new."""


@dataclass(frozen=True)
class Member:
    """A file that can be read: its number, its rows and how its columns map."""

    number: int
    path: Path
    mapping: FileMapping
    rows: int

    @property
    def alone(self) -> bool:
        """Whether it takes a statement of its own: something is taken from its path, or lost, or named as DuckDB names things."""
        return any(m.how == "path" or m.lost is not None for m in self.mapping.mapped) or any(
            name in _VIRTUAL for name, _ in self.mapping.unknown
        )


class ManyPairsError(Exception):
    """Rows that do not name their pair belong to their file's: such files must be read one by one."""


@dataclass(frozen=True)
class Inserted:
    """`infinite`: values of a file's column that are infinite, and so absent: (number of the file, column, how many)."""

    rows: int
    stacks: frozenset[int]  # ids in `s`
    infinite: tuple[tuple[int, str, int], ...] = ()


def glob_safe(path: Path | str) -> str:
    """The path as DuckDB must be told it, so that `*`, `?` and `[` in a file's name are ordinary characters."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(path))


def create_tables(con: duckdb.DuckDBPyConnection) -> None:
    for name, words in ENUMS.items():
        con.execute(f"CREATE TYPE {name} AS ENUM ({', '.join(repr(w) for w in words)})")
    columns = ", ".join(f"{n} {t}" for n, t in ROW.items())
    con.execute(f"CREATE TABLE r ({columns})")
    con.execute(f"CREATE TABLE own (run VARCHAR, {columns})")
    orders = ", ".join(f"o_{n} INTEGER" for n in STACK)
    con.execute(
        f"CREATE TABLE s (id INTEGER, {', '.join(f'{n} VARCHAR' for n in STACK_COLUMNS)}, {orders}, short VARCHAR)"
    )
    con.execute(f"CREATE TABLE rankings ({', '.join(f'{n} {t}' for n, t in RANKINGS.items())}, lower_id VARCHAR)")


def describe(con: duckdb.DuckDBPyConnection, path: Path) -> tuple[FileColumn, ...]:
    """The file's columns, stack columns with their keys. Raises duckdb.Error for what is no Parquet file."""
    con.execute(f"SELECT * FROM {READ} LIMIT 0", [glob_safe(path)])
    columns = []
    for name, kind, *_ in con.description or ():
        if kind.id == "struct":
            columns.append(FileColumn(name, str(kind), "struct", tuple((k, str(t)) for k, t in kind.children)))
        elif kind.id == "map" and may_be_inside(name) and str(kind).startswith("MAP(VARCHAR"):
            found = f"SELECT DISTINCT unnest(map_keys({quoted(name)})) FROM {READ}"
            keys = [row[0] for row in con.execute(found, [glob_safe(path)]).fetchall()]
            columns.append(
                FileColumn(name, str(kind), "map", tuple((k, str(kind.children[1][1])) for k in sorted(keys)))
            )
        elif str(kind) == "VARCHAR" and may_be_inside(name):
            inner = f"SELECT TRY(json_keys({quoted(name)})) AS k FROM {READ} WHERE ltrim({quoted(name)}) LIKE '{{%'"
            rows = con.execute(f"SELECT DISTINCT unnest(k) FROM ({inner})", [glob_safe(path)]).fetchall()
            inside = tuple((row[0], "VARCHAR") for row in sorted(rows))
            columns.append(FileColumn(name, "VARCHAR", "json" if inside else "flat", inside))
        else:
            columns.append(FileColumn(name, str(kind)))
    return tuple(columns)


class Descriptions:
    """The columns of files; asked of DuckDB (1 ms) once for files whose footers hold the same schema, byte by byte."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[FileColumn, ...]] = {}

    def of(self, con: duckdb.DuckDBPyConnection, path: Path, footer: Footer | None) -> tuple[FileColumn, ...]:
        known = self._known.get(footer.schema) if footer else None
        if known is not None:
            return known
        columns = describe(con, path)
        if footer and not any(may_be_inside(c.name) for c in columns):  # keys inside are each file's own
            self._known[footer.schema] = columns
        return columns


def read_mapping(
    con: duckdb.DuckDBPyConnection,
    path: Path,
    name: str,
    overrides: Mapping[str, str],
    descriptions: Descriptions,
    footer: Footer | None,
) -> tuple[FileMapping | None, tuple[Problem, ...]]:
    """How a file is read; None when it cannot be. The problems name what is lost, the rows themselves are there."""
    import duckdb

    try:
        broken = (beyond(footer) if footer else None) or damage(con, path)
        if broken:
            return None, (Problem(name, broken),)
        mapping = map_columns(name, descriptions.of(con, path, footer), overrides)
        if mapping.absent and mapping.unknown and names_differ(con, path):
            return None, (Problem(name, "is damaged: its footer names a column in two ways; fetch it again"),)
        problems = [
            Problem(name, f"settings: [columns] {words}: no such column in this file") for words in mapping.unused
        ]
        if mapping.of("result") is None and mapping.of("model_id") is not None:
            words = (
                "no column holds the results, so its rows are NOT TESTED here; [columns] in the settings can name one"
            )
            problems.append(Problem(name, words))
        if mapping.of("model_id") is None:
            have = one_line(", ".join(n for n, _ in mapping.unknown), 200) or "none"
            words = f"no column names the model, so its rows are left out (columns: {have}); [columns] in the settings can name one"
            return None, (*problems, Problem(name, words))
        return mapping, (*problems, *_losses(con, path, name, mapping))
    except duckdb.InterruptException:
        raise
    except (duckdb.Error, OSError, UnicodeError, MemoryError) as error:
        return None, (Problem(name, unreadable(path, error)),)


def insert(
    con: duckdb.DuckDBPyConnection, members: Sequence[Member], stack_numbers: StackNumbers, *, own_words: bool
) -> Inserted:
    """The rows of several files (one that is `alone` comes alone), all or none. Raises duckdb.Error, ManyPairsError.

    Files of the same columns are read by one scan, and all of them by one statement: planning it costs more than 1,000 rows.
    """
    import duckdb

    groups = _groups(members)
    paths: list[object] = [[glob_safe(m.path) for m in group] for group in groups]
    combined = con.execute(" UNION ALL ".join(_combinations(g) for g in groups), paths).fetchall()
    infinite = _infinities(combined)
    found = [row[: -len(_REALS)] for row in combined]
    if not found:
        return Inserted(0, frozenset())
    combinations = list(dict.fromkeys(tuple(c[1:]) for c in found))
    if len(members) > 1 and not all(all(c[:3]) for c in combinations):
        raise ManyPairsError
    numbers = dict(zip(combinations, stack_numbers(_filled(combinations)), strict=True))
    parameters = paths
    of_file = {file: numbers[tuple(c)] for file, *c in found}
    if len(of_file) == len(found):  # as published: every file is one stack's
        source = " UNION ALL ".join(
            f"SELECT {_columns(g)}, {_by_file(of_file.get(m.number) for m in g)} AS stack FROM {READ_NUMBERED}"
            for g in groups
        )
    else:
        values = ", ".join("(" + ", ".join(["?"] * len(STACK_COLUMNS)) + f", {n})" for n in numbers.values())
        match = " AND ".join(f"f.k_{c} IS NOT DISTINCT FROM k.{c}" for c in STACK_COLUMNS)
        read = " UNION ALL ".join(f"SELECT {_columns(g)}, {_keys(g[0].mapping)} FROM {READ_NUMBERED}" for g in groups)
        source = f"SELECT f.*, k.stack FROM ({read}) f LEFT JOIN (VALUES {values}) k({', '.join((*STACK_COLUMNS, 'stack'))}) ON {match}"
        parameters = [*paths, *(value for combination in numbers for value in combination)]
    ordered = len(of_file) != len(found) or len(groups) > 1
    con.execute("BEGIN")
    try:
        con.execute(f"INSERT INTO r {folded(source, own_words, ordered=ordered)}", parameters)
        rows = int(con.fetchall()[0][0])
        con.execute("COMMIT")
    except duckdb.Error:
        con.execute("ROLLBACK")
        raise
    return Inserted(rows, frozenset(numbers.values()), infinite)


def _groups(members: Sequence[Member]) -> list[list[Member]]:
    """Files of the same columns together, whatever stands between them."""
    groups: list[list[Member]] = []
    for member in members:
        mapping = member.mapping
        same = (g for g in groups if (g[0].mapping.mapped, g[0].mapping.unknown) == (mapping.mapped, mapping.unknown))
        group = next(same, None)
        if group is None:
            groups.append([member])
        else:
            group.append(member)
    return groups


def _combinations(group: Sequence[Member]) -> str:
    stack = ", ".join(f"{_head(c, group[0].mapping.sql(c))} AS {c}" for c in STACK_COLUMNS)
    counts = ", ".join(f"count(*) FILTER ({_infinite(group[0].mapping, c)})" for c in _REALS)
    return f"SELECT {_by_file(m.number for m in group)} AS file, {stack}, {counts} FROM {READ} GROUP BY ALL"


def _infinite(mapping: FileMapping, column: str) -> str:
    """Whether the value is infinite; of columns whose type had to be changed `_losses` has counted that."""
    found = mapping.of(column)
    plain = found is not None and found.lost is None and found.type == "DOUBLE" and found.how != "inside"
    return f"isinf({quoted(found.source)})" if found is not None and plain else "false"


def _infinities(rows: Iterable[Sequence[Any]]) -> tuple[tuple[int, str, int], ...]:
    totals: Counter[tuple[int, str]] = Counter()
    for file, *_, in_peak, in_capacity in rows:
        for column, count in zip(_REALS, (in_peak, in_capacity), strict=True):
            totals[file, column] += count
    return tuple((file, column, count) for (file, column), count in totals.items() if count)


def _columns(group: Sequence[Member]) -> str:
    mapping = group[0].mapping
    columns = ", ".join(f"{_head(c, mapping.sql(c))} AS {c}" for c in _SOURCES)
    columns += f", {reasons(mapping.sql('exclusion'), mapping.sql('error'))} AS reason"
    return f"{columns}, file_row_number AS line, {_by_file(m.number for m in group)} AS file"


def _by_file(values: Iterable[int | None]) -> str:
    """SQL for what a scan's first, second, … file stands for; NULL where it has no row."""
    words = ["NULL" if v is None else str(v) for v in values]
    return f"[{', '.join(words)}][file_index::BIGINT + 1]" if len(words) > 1 else words[0]


def _keys(mapping: FileMapping) -> str:
    return ", ".join(f"{_head(c, mapping.sql(c))} AS k_{c}" for c in STACK_COLUMNS)


def folded(source: str, own_words: bool, *, lead: str = "", ordered: bool = False) -> str:
    """A SELECT of the columns of `r` (after `lead`) from one of the canonical columns, `stack`, `file` and `line`."""
    with_status = f"SELECT * REPLACE ({TASK} AS task, {PARALLELISM} AS parallelism, {_ends('reason')} AS reason), {OWN_STATUS if own_words else STATUS} AS status FROM ({source})"
    order = " ORDER BY file, line" if ordered else ""
    return (
        f"SELECT {lead}file::SMALLINT, line::INTEGER, stack, {lowered('model_id')}, status, {KIND}, {DEVICE}, try_cast(task AS task), "
        f"parallelism, {', '.join(KEPT)}, {_REASON} FROM ({with_status}){order}"
    )


def reasons(exclusion: str, error: str) -> str:
    """The text that says why a row was left out, else why it failed."""
    return f"coalesce(CASE WHEN {reason_sql(exclusion)} IS NOT NULL THEN {exclusion} END, {error})"


# A failure without an error may say in its notes what was wrong.
_REASON: Final = f"coalesce({reason_sql('reason')}, CASE WHEN status = 'FAIL' THEN {reason_sql('notes')} END) AS reason"


def damage(con: duckdb.DuckDBPyConnection, path: Path) -> str | None:
    """What is wrong with a file's bytes, where a digest or page checksums tell. Raises OSError, duckdb.Error."""
    if digest_differs(path):
        return "is not what its digest says: damaged on this disk; fetch it again"
    if not has_page_checksums(path):
        return None
    offsets = "least(coalesce(dictionary_page_offset, data_page_offset), data_page_offset)"
    chunks = con.execute(
        f"SELECT {offsets}, total_compressed_size FROM parquet_metadata(?)", [glob_safe(path)]
    ).fetchall()
    pages = damaged_pages(path, chunks)
    return f"is damaged: {pages} of its pages do not have their checksum; fetch it again" if pages else None


def names_differ(con: duckdb.DuckDBPyConnection, path: Path) -> bool:
    """Whether the schema and the column chunks of the footer disagree about the names of the top-level columns."""
    schema = "SELECT name FROM parquet_schema(?) WHERE num_children IS NULL OR num_children = 0"
    chunks = "SELECT split_part(path_in_schema, ', ', -1) FROM parquet_metadata(?)"
    found = [{row[0] for row in con.execute(sql, [glob_safe(path)]).fetchall()} for sql in (schema, chunks)]
    return bool(found[1]) and found[0] != found[1]


def unreadable(path: Path, error: Exception) -> str:
    """Why a file could not be loaded, for a person."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(64).lstrip()
    except OSError as problem:
        return f"cannot be read: {problem.strerror or problem}"
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":
        return "needs more memory than this program takes for a dataset: left out"
    if size == 0:
        return "is empty (0 bytes); fetch it again"
    if head.startswith(b"version https://git-lfs"):
        return "is a Git LFS pointer, not the file itself; fetch it again"
    if head.startswith((b"<", b"{")):
        return "holds a web page or an error message, not Parquet; fetch it again"
    if head.startswith(b"PAR1") and any(words in str(error) for words in ("agic bytes", "too small")):
        return f"is cut off after {size:,} bytes; fetch it again"
    words = str(error).partition("\n\nLINE ")[0].replace(str(path), path.name).replace(glob_safe(path), path.name)
    return f"cannot be read as Parquet: {one_line(words, 300)}"


def _head(canonical: str, sql: str) -> str:
    if canonical in HEADS:
        return f"left({sql}, {HEAD})"
    return f"left({sql}, {LONGEST})" if CANONICAL[canonical] == "VARCHAR" else sql


def _ends(sql: str) -> str:
    """A text's first and last ENDS characters, where it is longer than both: the line that gives a reason is in one of them."""
    return f"CASE WHEN strlen({sql}) > {2 * ENDS} THEN left({sql}, {ENDS}) || chr(10) || right({sql}, {ENDS}) ELSE {sql} END"


def _filled(combinations: list[Combination]) -> list[Combination]:
    """Each with the pair of its file where it names none, if the file is of one pair: a file stands for one pair."""
    pair = slice(0, 3)  # library, neuronx_cc, library_version
    whole = {c[pair] for c in combinations if all(c[pair])}
    if len(whole) != 1:
        return combinations
    (only,) = whole

    def filled(combination: Combination) -> Combination:
        merged = tuple(mine or theirs for mine, theirs in zip(combination[pair], only, strict=True))
        return merged + combination[3:] if merged == only else combination

    return [filled(c) for c in combinations]


def _losses(con: duckdb.DuckDBPyConnection, path: Path, name: str, mapping: FileMapping) -> list[Problem]:
    """One Problem a column whose values could not all be taken over; the rows are there, without those values."""
    doubtful = [(m.canonical, m.source, m.type, m.lost) for m in mapping.mapped if m.lost is not None]
    if not doubtful:
        return []
    counts = ", ".join(f"count(*) FILTER ({lost})" for *_, lost in doubtful)
    found = con.execute(f"SELECT {counts} FROM {READ}", [glob_safe(path)]).fetchall()[0]
    return [
        Problem(
            name,
            f"{count:,} {'value' if count == 1 else 'values'} of {one_line(source, 60)} ({kind}) not usable as {canonical}",
        )
        for (canonical, source, kind, _), count in zip(doubtful, found, strict=True)
        if count
    ]
