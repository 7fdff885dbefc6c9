"""All rows of a dataset in one in-memory DuckDB, loaded file by file; shared by the blocking Catalog and the threaded Store.

Tables: `r` (rows of the dataset), `own` (runs of this host, same columns after `run`), `s` (stacks with the order of each
version), `rankings` (the Hub's lists). Only the loading thread writes; every other thread reads by a cursor of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trnui.catalog.dataset.checksums import Footer, footer_of
from trnui.catalog.dataset.column_mapping import CANONICAL, FileMapping, pair_in
from trnui.catalog.dataset.loader import (
    RANKINGS,
    STACK_COLUMNS,
    Combination,
    Descriptions,
    ManyPairsError,
    Member,
    create_tables,
    folded,
    insert,
    read_mapping,
    reasons,
    unreadable,
)
from trnui.catalog.dataset.mended_copy import mended
from trnui.catalog.dataset.normalize_sql import lowered
from trnui.catalog.dataset.versions import (
    default_stack,
    is_dev,
    key,
    newest_first,
    public,
    resolve,
    short_names,
    stack_key,
)
from trnui.catalog.engine import kept_rows
from trnui.catalog.engine.kept_rows import WORTH_FILES, WORTH_ROWS
from trnui.catalog.messages import Loaded, Problem
from trnui.catalog.query import Query, Stack, View
from trnui_runner.common.dataset_schema import STACK

if TYPE_CHECKING:
    import duckdb

    from trnui.catalog.dataset.rankings import Line

OWN_BASE: Final = -1  # identity of the first own run; further ones count down
UNTESTED_BASE: Final = 1 << 40  # identities from here on: places in a ranking without a row
CONFIG: Final[dict[str, Any]] = {
    "threads": 1, "checkpoint_threshold": "64GB", "autoinstall_known_extensions": False, "autoload_known_extensions": False,
}  # fmt: skip
"""Checkpoints compress, for half a second each: a million rows load in half the time without them."""
AT_ONCE: Final = 20_000  # rows up to which all come together; of more, the first file comes first
BATCH: Final = (
    100_000  # rows that are loaded by one statement: planning it costs more than reading 1,000; 300,000 cost 100 MB
)
MANY: Final = 100_000
MEMORY: Final = 4 << 30  # bytes that DuckDB may hold: a hundred times what 100,000 rows need
Listener = Callable[[Loaded], object]


def stack_of(combination: Combination) -> Stack:
    """Absent parts are empty text."""
    library, compiler, version = combination[0], combination[1], combination[2]
    return Stack(compiler or "", version or "", library or "")


class Database:
    """`files` are read in the order newest pair first (as their names tell it); `names` are what a user knows them by."""

    def __init__(
        self,
        files: Sequence[Path],
        names: Sequence[str] = (),
        *,
        columns: Mapping[str, str] | None = None,
        host: Stack | None = None,
        sample: bool = False,
    ) -> None:
        self.sample = sample
        self._overrides = dict(columns or {})
        self._labelled = list(zip(files, names or [f.name for f in files], strict=True))
        self.prefer(host)
        self.mappings: dict[int, FileMapping] = {}
        self.problems: tuple[Problem, ...] = ()
        self.rows = 0
        self.own: tuple[Mapping[str, Any], ...] = ()
        self._combinations: dict[Combination, int] = {}
        self._orders: dict[int, tuple[int | None, ...]] = {}  # as `s` has them
        self._used: frozenset[int] = frozenset()  # those that rows of the dataset have
        self._counts: Mapping[int, int] | None = None  # rows of each, where they were kept
        self._by_stack: dict[Stack, tuple[int, ...]] = {}
        self._mended: set[int] = set()  # files of which a mended copy is read
        self._short: dict[Stack, str] = {}  # as `s` has them
        self.stacks: tuple[Stack, ...] = ()
        self.own_stacks: tuple[Stack, ...] = ()
        self.scripts_read = False  # whether tasks were taken from the scripts (script_facts)
        self.kept = False  # whether `r` is a view of kept rows
        self._key: str | None = None  # of the files as they were when loading began
        self._told = 0  # problems that were known before loading

    def prefer(self, host: Stack | None) -> None:
        """Before loading: the pair whose rows come first, where there are any."""
        self.host = host
        ordered = _newest_files_first(self._labelled, host)
        self.files: tuple[Path, ...] = tuple(path for path, _ in ordered)
        self.names: tuple[str, ...] = tuple(name for _, name in ordered)

    def open(self) -> duckdb.DuckDBPyConnection:
        """Connects, once; imports DuckDB (50 ms)."""
        import duckdb

        self.connection: duckdb.DuckDBPyConnection = duckdb.connect(config=CONFIG)
        self.connection.execute("SET GLOBAL TimeZone = 'UTC'")  # in config= it would want an extension from the network
        self.connection.execute(f"SET memory_limit = '{MEMORY >> 20}MiB'")
        self.connection.execute("SET temp_directory = ''")  # else what does not fit goes into the working folder
        create_tables(self.connection)
        return self.connection

    @property
    def default(self) -> Stack | None:
        return default_stack(self.stacks, self.host)

    def load(self, listener: Listener | None = None, stop: Callable[[], bool] = lambda: False) -> None:
        """Every file, up to `BATCH` rows by one statement; tells `listener` after each. Rows that were kept are at once there.
        Raises duckdb.InterruptException when interrupted."""
        if self._restore():
            if listener:
                listener(self.loaded(len(self.files)))
            return
        batch: list[Member] = []
        descriptions = Descriptions()
        footers = [_footer(path) for path in self.files]
        all_at_once = sum(f.rows if f else 0 for f in footers) <= AT_ONCE

        def flush(done: int) -> None:
            self._insert(batch)
            batch.clear()
            self._publish(order=done in (1, len(self.files)))
            if listener:
                listener(self.loaded(done))

        for number, (path, name, footer) in enumerate(zip(self.files, self.names, footers, strict=True)):
            if stop():
                return
            mapping, problems = read_mapping(self.connection, path, name, self._overrides, descriptions, footer)
            self.problems += problems
            if mapping is not None:
                self.mappings[number] = mapping
                member = Member(number, path, mapping, footer.rows if footer else BATCH)
                if batch and (batch[-1].alone or member.alone or sum(m.rows for m in batch) + member.rows > BATCH):
                    flush(number)
                batch.append(member)
            if number == 0 and not all_at_once:
                flush(1)
        if self.files and (batch or all_at_once or len(self.files) > 1):
            flush(len(self.files))
        if self.rows > MANY:
            self.connection.execute("SET threads = 2")  # loading is quicker with one, sorting with two

    def _restore(self) -> bool:
        """The rows as they were kept, if they were."""
        self._told = len(self.problems)
        self._key = kept_rows.key_of(self.files, self.names, self._overrides, own_words=self.sample)
        state = kept_rows.attach(self.connection, self._key) if self._key and self.files else None
        if state is None:
            return False
        self.rows, self.mappings = state.rows, dict(state.mappings)
        self.problems += state.problems
        self._numbers(state.combinations)
        self._used, self._counts = state.used, state.counts
        self.scripts_read, self.kept = state.scripts, True
        self._publish()
        if self.rows > MANY:
            self.connection.execute("SET threads = 2")
        return True

    def keep(self) -> None:
        """Writes the loaded rows down for the next start, where that saves time and the files are still the same."""
        if self.kept or self._mended or not self.mappings or (self.rows < WORTH_ROWS and len(self.files) < WORTH_FILES):
            return
        key = kept_rows.key_of(self.files, self.names, self._overrides, own_words=self.sample)
        if key is None or key != self._key:
            return
        problems = self.problems[self._told :]
        combinations = tuple(sorted(self._combinations, key=self._combinations.__getitem__))
        counts = self.counts(self.connection)
        state = kept_rows.KeptState(
            self.rows, self.mappings, problems, combinations, self._used, counts, self.scripts_read
        )
        kept_rows.keep(self.connection, key, state)

    def make_writable(self) -> None:
        """Before a change of `r`: a table again, if it is a view of kept rows."""
        if self.kept:
            kept_rows.make_writable(self.connection)
            self.kept = False

    def _insert(self, batch: Sequence[Member]) -> None:
        """A batch in one statement, or else file by file, so that one bad file takes no other with it."""
        import duckdb

        try:
            if batch:
                inserted = insert(self.connection, batch, self._numbers, own_words=self.sample)
                self.rows += inserted.rows
                self._used |= inserted.stacks
                self.problems += tuple(
                    Problem(
                        self.names[file],
                        f"{count:,} infinite value{'' if count == 1 else 's'} of {column}, taken as absent",
                    )
                    for file, column, count in inserted.infinite
                )
        except duckdb.InterruptException:
            raise
        except (duckdb.Error, MemoryError, ManyPairsError) as error:
            if len(batch) > 1:
                for member in batch:
                    self._insert([member])
                return
            if not self._mend(batch[0], error):
                del self.mappings[batch[0].number]
                self.problems += (Problem(self.names[batch[0].number], unreadable(batch[0].path, error)),)

    def _mend(self, member: Member, error: Exception) -> bool:
        """Reads a mended copy in place of a file that one cell or one name makes unreadable; once a file."""
        copy = None if member.number in self._mended else mended(member.path, str(error))
        if copy is None:
            return False
        path, words = copy
        self._mended.add(member.number)
        name = self.names[member.number]
        mapping, problems = read_mapping(self.connection, path, name, self._overrides, Descriptions(), _footer(path))
        if mapping is None:
            return False
        self.files = (*self.files[: member.number], path, *self.files[member.number + 1 :])
        self.mappings[member.number] = mapping
        self.problems += (*problems, Problem(name, words))
        self._insert([Member(member.number, path, mapping, member.rows)])
        return True

    def loaded(self, done: int) -> Loaded:
        return Loaded(done, len(self.files), self.rows, self.problems, self.stacks, self.default)

    def resolve(self, query: Query) -> tuple[tuple[int, ...] | None, tuple[Stack, ...]]:
        """The ids in `s` of the stacks that a query means (None: no limit), and those stacks."""
        known = self.own_stacks if query.view is View.RUNS else self.stacks
        stacks = resolve(known, query, self.host)
        if stacks is None:
            return None, ()
        return tuple(i for s in stacks for i in self.ids_of(s)), stacks

    def ids_of(self, stack: Stack) -> tuple[int, ...]:
        """The ids in `s` of a stack's combinations of versions."""
        return self._by_stack.get(stack, ())

    def counts(self, con: duckdb.DuckDBPyConnection) -> Mapping[int, int]:
        """Rows of each id in `s`: as they were kept, else counted by `con`, a cursor of the calling thread."""
        if self._counts is not None:
            return self._counts
        return dict(con.execute("SELECT stack, count(*) FROM r GROUP BY stack").fetchall())

    def set_own(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Replaces the own runs: the dataset's columns and `run` each, newest first."""
        con = self.connection
        self.own = tuple(rows)
        names = [c for c in CANONICAL if c not in STACK_COLUMNS and c != "run_py"]
        stacks = self._numbers([tuple(_text(row.get(c)) for c in STACK_COLUMNS) for row in self.own])
        con.execute("BEGIN")
        con.execute("DELETE FROM own")
        for line, (row, number) in enumerate(zip(self.own, stacks, strict=True)):
            casts = ", ".join(f"try_cast(? AS {CANONICAL[c]}) AS {c}" for c in names)
            source = f"SELECT *, {reasons('exclusion', 'error')} AS reason FROM (SELECT {casts}, {number} AS stack, {line} AS line, -1 AS file)"
            values = [_text(row.get("run")), *(row.get(c) for c in names)]
            con.execute(f"INSERT INTO own {folded(source, True, lead='?, ')}", values)
        con.execute("COMMIT")
        self._publish()

    def set_rankings(self, lines: Iterable[Line]) -> None:
        """Replaces the Hub's lists (rankings.lines), and takes from them the task of rows that do not name one."""
        con, found = self.connection, list(lines)
        columns = ", ".join(f"unnest(?::{kind}[]) AS {name}" for name, kind in RANKINGS.items())
        con.execute("BEGIN")
        con.execute("DELETE FROM rankings")
        if found:
            lists = [list(column) for column in zip(*found, strict=True)]
            con.execute(f"INSERT INTO rankings SELECT *, {lowered('model_id')} FROM (SELECT {columns})", lists)
        con.execute("COMMIT")
        tagged = "SELECT lower_id, any_value(try_cast(task AS task)) AS task FROM rankings GROUP BY lower_id"
        for table in ("r", "own") if found else ():
            lacking = f"{table}.task IS NULL AND {table}.lower_id = k.lower_id"
            if table == "r":
                if not con.execute(f"SELECT 1 FROM r, ({tagged}) k WHERE {lacking} LIMIT 1").fetchall():
                    continue
                self.make_writable()
                self._key = None  # these rows are not the files' alone
            con.execute(f"UPDATE {table} SET task = k.task FROM ({tagged}) k WHERE {lacking}")

    def _numbers(self, combinations: Sequence[Combination]) -> list[int]:
        """The ids in `s` of combinations of versions; new ones are added, with the order of their versions as far as it is known."""
        new = [c for c in dict.fromkeys(combinations) if c not in self._combinations]
        if new:
            self._combinations |= {c: number for number, c in enumerate(new, len(self._combinations))}
            orders = self._places()
            ids = [self._combinations[c] for c in new]
            self._orders |= {n: orders[n] for n in ids}
            lists: list[list[Any]] = [ids]
            lists += [[c[n] for c in new] for n in range(len(STACK_COLUMNS))]
            lists += [list(column) for column in zip(*(orders[n] for n in ids), strict=True)]
            kinds = ["INTEGER", *["VARCHAR"] * len(STACK_COLUMNS), *["INTEGER"] * len(STACK)]
            self.connection.execute(
                f"INSERT INTO s SELECT {', '.join(f'unnest(?::{k}[])' for k in kinds)}, NULL", lists
            )
        return [self._combinations[c] for c in combinations]

    def _places(self) -> dict[int, tuple[int | None, ...]]:
        """Id in `s` → where each of its versions stands among all versions of that package."""
        columns = []
        for name in STACK:
            n = STACK_COLUMNS.index(name)
            values = sorted({value for c in self._combinations if (value := c[n])}, key=key)
            places: dict[str | None, int] = {value: place for place, value in enumerate(values)}
            columns.append([places.get(c[n]) for c in self._combinations])
        return dict(zip(self._combinations.values(), zip(*columns, strict=True), strict=True))

    def _publish(self, order: bool = True) -> None:
        """Makes new stacks known to readers in other threads; with `order`, also the order of their versions in `s`."""
        con = self.connection
        own = {r[0] for r in con.execute("SELECT DISTINCT stack FROM own").fetchall()} if self.own else set()
        by_stack: dict[Stack, tuple[int, ...]] = {}
        for combination, number in self._combinations.items():
            by_stack[stack_of(combination)] = (*by_stack.get(stack_of(combination), ()), number)
        places = self._places() if order else self._orders
        if places != self._orders:
            self._orders = places
            lists = [list(places), *(list(column) for column in zip(*places.values(), strict=True))]
            names = ("id", *(f"o_{name}" for name in STACK))
            read = ", ".join(f"unnest(?::INTEGER[]) AS {name}" for name in names)
            sets = ", ".join(f"{name} = n.{name}" for name in names[1:])
            con.execute(f"UPDATE s SET {sets} FROM (SELECT {read}) n WHERE s.id = n.id", lists)
        if order:
            self._name_stacks(by_stack)
        self._by_stack = by_stack
        self.stacks, self.own_stacks = (
            newest_first({stack_of(c) for c, n in self._combinations.items() if n in used})
            for used in (self._used, own)
        )

    def _name_stacks(self, by_stack: Mapping[Stack, tuple[int, ...]]) -> None:
        """The short name of each stack in `s`, where it has changed: 2.27/5.22.0."""
        names = short_names(by_stack)
        if names != self._short:
            self._short = names
            pairs = [(number, names[stack]) for stack, numbers in by_stack.items() for number in numbers]
            lists = [list(column) for column in zip(*pairs, strict=True)] or [[], []]
            read = "SELECT unnest(?::INTEGER[]) AS id, unnest(?::VARCHAR[]) AS short"
            self.connection.execute(f"UPDATE s SET short = n.short FROM ({read}) n WHERE s.id = n.id", lists)


def _footer(path: Path) -> Footer | None:
    try:
        return footer_of(path)
    except OSError:
        return None  # what is wrong with it is said when it is read


def _newest_files_first(labelled: Sequence[tuple[Path, str]], host: Stack | None) -> list[tuple[Path, str]]:
    """So that the first rows shown are the default stack's: this host's pair, then newer pairs before older ones, by file name."""

    def order(item: tuple[Path, str]) -> tuple[bool, Any]:
        pair = pair_in(item[1])
        stack = Stack(pair.get("neuronx_cc", ""), pair.get("library_version", ""), pair.get("library", ""))
        mine = (
            host is not None
            and public(stack.neuronx_cc) == public(host.neuronx_cc)
            and stack.library_version == host.library_version
        )
        return mine, (not (is_dev(stack.neuronx_cc) or is_dev(stack.library_version)), stack_key(stack))

    return sorted(sorted(labelled, key=lambda item: item[1]), key=order, reverse=True)


def _text(value: object) -> str | None:
    return None if value is None or value == "" else str(value)
