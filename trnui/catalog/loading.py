"""One Parquet file into the table `r`: described, mapped, folded, inserted in one transaction. What fails is a Problem.

The ten version columns hardly vary inside a file, so a row holds the number of its combination in the table `s`: that
halves the memory and makes loading three times as fast. Long texts stay in the file; `error` and `notes` keep their heads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from runner.text import one_line
from trnui.catalog.answers import Problem
from trnui.catalog.folding import DEVICE, ENUMS, KIND, OWN_STATUS, PARALLELISM, STATUS, TASK
from trnui.catalog.mapping import CANONICAL, Column, FileMapping, map_columns, may_be_inside, quoted
from trnui.catalog.schema import COLUMNS, STACK

if TYPE_CHECKING:
    import duckdb

HEAD: Final = 300  # characters of `error`, `notes` and `exclusion` that lists and searches see
STACK_COLUMNS: Final = ("library", *STACK)
HEADS: Final = ("notes", "error", "exclusion")
ROW: Final[dict[str, str]] = {
    "file": "SMALLINT", "line": "INTEGER", "stack": "INTEGER", "lower_id": "VARCHAR",
    "status": "status", "kind": "kind", "device": "device", "task": "VARCHAR", "parallelism": "parallelism",
    **{n: t for n, t in COLUMNS.items() if n not in STACK_COLUMNS and n != "run_py"},
}  # fmt: skip
"""The columns of `r` and, after `run`, of `own`."""

Combination = tuple[str | None, ...]
StackNumber = Callable[[Combination], int]


@dataclass(frozen=True)
class Loading:
    """What became of one file."""

    rows: int
    problems: tuple[Problem, ...]
    mapping: FileMapping | None


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
    con.execute(f"CREATE TABLE s (id INTEGER, {', '.join(f'{n} VARCHAR' for n in STACK_COLUMNS)}, {orders})")
    con.execute(
        "CREATE TABLE rankings (ranking VARCHAR, task VARCHAR, rank INTEGER, model_id VARCHAR, downloads BIGINT, "
        "trending_score DOUBLE, parameters BIGINT, gated VARCHAR)"
    )


def describe(con: duckdb.DuckDBPyConnection, path: Path) -> tuple[Column, ...]:
    """The file's columns, stack columns with their keys. Raises duckdb.Error for what is no Parquet file."""
    read = "read_parquet(?, hive_partitioning = false)"
    con.execute(f"SELECT * FROM {read} LIMIT 0", [glob_safe(path)])
    columns = []
    for name, kind, *_ in con.description or ():
        if kind.id == "struct":
            columns.append(Column(name, str(kind), "struct", tuple((k, str(t)) for k, t in kind.children)))
        elif kind.id == "map" and may_be_inside(name) and str(kind).startswith("MAP(VARCHAR"):
            found = f"SELECT DISTINCT unnest(map_keys({quoted(name)})) FROM {read}"
            keys = [row[0] for row in con.execute(found, [glob_safe(path)]).fetchall()]
            columns.append(Column(name, str(kind), "map", tuple((k, str(kind.children[1][1])) for k in sorted(keys))))
        elif str(kind) == "VARCHAR" and may_be_inside(name):
            inner = f"SELECT TRY(json_keys({quoted(name)})) AS k FROM {read} WHERE ltrim({quoted(name)}) LIKE '{{%'"
            found = f"SELECT DISTINCT unnest(k) FROM ({inner})"
            keys = [row[0] for row in con.execute(found, [glob_safe(path)]).fetchall()]
            form = "json" if keys else "flat"
            columns.append(
                Column(
                    name, "VARCHAR", "json" if form == "json" else "flat", tuple((k, "VARCHAR") for k in sorted(keys))
                )
            )
        else:
            columns.append(Column(name, str(kind)))
    return tuple(columns)


def load_file(
    con: duckdb.DuckDBPyConnection,
    number: int,
    path: Path,
    name: str,
    overrides: Mapping[str, str],
    stack_number: StackNumber,
    *,
    own_words: bool = False,
) -> Loading:
    """Inserts the file's rows, all or none. Raises duckdb.InterruptException only; other errors become a Problem."""
    import duckdb

    try:
        mapping = map_columns(name, describe(con, path), overrides)
        problems = [
            Problem(name, f"settings: [columns] {words}: no such column in this file") for words in mapping.unused
        ]
        if mapping.of("model_id") is None:
            have = one_line(", ".join(n for n, _ in mapping.unknown), 200) or "none"
            words = f"no column names the model, so its rows are left out (columns: {have}); [columns] in the settings can name one"
            return Loading(0, (*problems, Problem(name, words)), mapping)
        problems += _losses(con, path, name, mapping)
        rows = _insert(con, number, path, mapping, stack_number, own_words)
    except duckdb.InterruptException:
        _rollback(con)
        raise
    except (duckdb.Error, OSError, UnicodeError) as error:
        _rollback(con)
        return Loading(0, (Problem(name, unreadable(path, error)),), None)
    return Loading(rows, tuple(problems), mapping)


def unreadable(path: Path, error: Exception) -> str:
    """Why a file could not be loaded, for a person."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(64).lstrip()
    except OSError as problem:
        return f"cannot be read: {problem.strerror or problem}"
    if size == 0:
        return "is empty (0 bytes); fetch it again"
    if head.startswith(b"version https://git-lfs"):
        return "is a Git LFS pointer, not the file itself; fetch it again"
    if head.startswith((b"<", b"{")):
        return "holds a web page or an error message, not Parquet; fetch it again"
    if head.startswith(b"PAR1") and "agic bytes" in str(error):
        return f"is cut off after {size:,} bytes; fetch it again"
    words = str(error).replace(str(path), path.name).replace(glob_safe(path), path.name)
    return f"cannot be read as Parquet: {one_line(words, 300)}"


def _rollback(con: duckdb.DuckDBPyConnection) -> None:
    import duckdb

    try:
        con.execute("ROLLBACK")
    except duckdb.TransactionException:
        return  # the error came before BEGIN


def _insert(
    con: duckdb.DuckDBPyConnection,
    number: int,
    path: Path,
    mapping: FileMapping,
    stack_number: StackNumber,
    own_words: bool,
) -> int:
    read = "read_parquet(?, hive_partitioning = false, file_row_number = true)"
    stack = ", ".join(f"{mapping.sql(c)} AS {c}" for c in STACK_COLUMNS)
    combinations = con.execute(f"SELECT DISTINCT {stack} FROM {read}", [glob_safe(path)]).fetchall()
    filled = {combination: _filled(combination, combinations) for combination in combinations}
    numbers = {combination: stack_number(full) for combination, full in filled.items()}
    inner = ", ".join(
        f"{_head(c, mapping.sql(c))} AS {c}" for c in CANONICAL if c not in STACK_COLUMNS and c != "run_py"
    )
    if len(numbers) == 1:
        source = f"SELECT {inner}, {next(iter(numbers.values()))} AS stack, file_row_number AS line FROM {read}"
        parameters: list[object] = [glob_safe(path)]
    else:
        values = ", ".join("(" + ", ".join(["?"] * len(STACK_COLUMNS)) + f", {n})" for n in numbers.values())
        match = " AND ".join(f"f.k_{c} IS NOT DISTINCT FROM k.{c}" for c in STACK_COLUMNS)
        names = ", ".join((*STACK_COLUMNS, "stack"))
        keys = ", ".join(f"{mapping.sql(c)} AS k_{c}" for c in STACK_COLUMNS)
        source = (
            f"SELECT f.*, k.stack FROM (SELECT {inner}, {keys}, file_row_number AS line FROM {read}) f "
            f"LEFT JOIN (VALUES {values}) k({names}) ON {match}"
        )
        parameters = [glob_safe(path), *(value for combination in numbers for value in combination)]
    con.execute("BEGIN")
    con.execute(f"INSERT INTO r {folded(source, number, own_words, ordered=len(numbers) != 1)}", parameters)
    rows = int(con.fetchall()[0][0])
    con.execute("COMMIT")
    return rows


def folded(source: str, number: int, own_words: bool, *, lead: str = "", ordered: bool = False) -> str:
    """A SELECT of the columns of `r` (after `lead`) from one of the canonical columns, `stack` and `line`."""
    kept = ", ".join(c for c in ROW if c in COLUMNS)
    status = OWN_STATUS if own_words else STATUS
    with_status = f"SELECT * REPLACE ({TASK} AS task, {PARALLELISM} AS parallelism), {status} AS status FROM ({source})"
    order = " ORDER BY line" if ordered else ""
    return (
        f"SELECT {lead}{number}::SMALLINT, line::INTEGER, stack, lower(model_id), status, {KIND}, {DEVICE}, task, parallelism, {kept} "
        f"FROM ({with_status}){order}"
    )


def _head(canonical: str, sql: str) -> str:
    return f"left({sql}, {HEAD})" if canonical in HEADS else sql


def _filled(combination: Combination, all_: list[Combination]) -> Combination:
    """A row without the pair belongs to the pair of its file, if that is one: a file stands for one pair."""
    pair = slice(0, 3)  # library, neuronx_cc, library_version
    whole = {c[pair] for c in all_ if all(c[pair])}
    if len(whole) != 1 or all(combination[pair]):
        return combination
    (only,) = whole
    merged = tuple(mine or theirs for mine, theirs in zip(combination[pair], only, strict=True))
    return merged + combination[3:] if merged == only else combination


def _losses(con: duckdb.DuckDBPyConnection, path: Path, name: str, mapping: FileMapping) -> list[Problem]:
    """One Problem a column whose values could not all be taken over; the rows are there, without those values."""
    doubtful = [(m.canonical, m.source, m.type, m.lost) for m in mapping.mapped if m.lost is not None]
    if not doubtful:
        return []
    counts = ", ".join(f"count(*) FILTER ({lost})" for *_, lost in doubtful)
    sql = f"SELECT {counts} FROM read_parquet(?, hive_partitioning = false)"
    found = con.execute(sql, [glob_safe(path)]).fetchall()[0]
    return [
        Problem(
            name,
            f"{count:,} {'value' if count == 1 else 'values'} of {one_line(source, 60)} ({kind}) not usable as {canonical}",
        )
        for (canonical, source, kind, _), count in zip(doubtful, found, strict=True)
        if count
    ]
