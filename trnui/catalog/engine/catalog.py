"""The dataset for commands: opened, asked and answered in the calling thread. The app's twin is store.py; both share Database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from trnui.catalog.columns import carried, printed, sortable
from trnui.catalog.dataset.file_limits import LONGEST
from trnui.catalog.dataset.host_stack import host_stack
from trnui.catalog.dataset.normalize_sql import lowered
from trnui.catalog.dataset.snapshot import DatasetSource, resolve
from trnui.catalog.dataset.versions import is_dev, newest_first, stack_key
from trnui.catalog.engine.database import OWN_BASE, UNTESTED_BASE, Database
from trnui.catalog.engine.long_columns import DEEP, deep_values
from trnui.catalog.engine.result_set import Table
from trnui.catalog.engine.sql_builder import build, counts_sql, rows_sql
from trnui.catalog.messages import Detail, Problem, Provenance
from trnui.catalog.query import ALL, Query, Stack, View
from trnui.settings import DATASET
from trnui_runner.common.errors import DataError, UsageError
from trnui_runner.common.text import one_line

if TYPE_CHECKING:
    import duckdb


class DatasetOptions(Protocol):
    """Of the global options, what decides which data is read."""

    @property
    def offline(self) -> bool: ...
    @property
    def settings(self) -> Any: ...  # trnui.settings.Settings


class UnknownModelError(UsageError):
    """No row, no place in a ranking; `near` are the nearest names that exist, `source` says what was searched."""

    def __init__(self, name: str, near: Sequence[str], source: DatasetSource) -> None:
        self.name, self.near = name, tuple(near)
        words = (
            "Nearest: " + ", ".join(one_line(n, 100) for n in near)
            if near
            else "trnui list --search TEXT finds names by any part."
        )
        where = (
            f"the bundled sample, which stands in for {source.hub}" if source.provenance.sample and source.hub else ""
        )
        where = where or ("the bundled sample" if source.provenance.sample else source.provenance.dataset)
        super().__init__(f"{one_line(name, 200)}: no such model in {one_line(where)}", f"{words}\n{source.looked_in}")


class Catalog:
    """Everything known, loaded. `problems` name files, or parts of them, that could not be read."""

    def __init__(
        self, source: DatasetSource, *, columns: Mapping[str, str] | None = None, host: Stack | None = None
    ) -> None:
        self.source = source
        self.database = Database(
            source.files, source.names, columns=columns, host=host, sample=source.provenance.sample
        )
        self.database.problems = tuple(source.problems)
        self.connection: duckdb.DuckDBPyConnection = self.database.open()
        self.database.load()
        self._scripts_read = False

    @classmethod
    def over(cls, source: DatasetSource, database: Database, connection: duckdb.DuckDBPyConnection) -> Catalog:
        """The same questions to a database that is loaded already (the app's store), by a cursor of the calling thread."""
        catalog = cls.__new__(cls)
        catalog.source, catalog.database, catalog.connection, catalog._scripts_read = source, database, connection, True
        return catalog

    @property
    def provenance(self) -> Provenance:
        return self.source.provenance

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self.database.problems

    @property
    def default_stack(self) -> Stack | None:
        return self.database.default

    def default_share(self) -> tuple[int, int]:
        """(rows on the default stack, most rows on any stack)."""
        default = self.database.default
        if default is None:
            return 0, 0
        rows = self.database.counts(self.connection)
        counts = {s: sum(rows.get(i, 0) for i in self.database.ids_of(s)) for s in self.database.stacks}
        return counts[default], max(counts.values())

    def stacks(self) -> tuple[Stack, ...]:
        """Every pair that has rows, newest first."""
        return self.database.stacks

    def rows(self, query: Query, columns: Sequence[str] | None = None) -> Table:
        """Rows of a query with `columns` (default: as a list shows them). Raises UsageError for an unknown column,
        DataError when a file cannot be read any more."""
        chosen = tuple(columns or printed(query.view))
        if query.task or "task" in chosen or "parallelism" in chosen:
            self._read_scripts()
        ids, stacks = self.database.resolve(query)
        try:
            sql = build(query, ids)
        except ValueError as error:
            raise UsageError(str(error), f"Columns: {', '.join(sortable(query.view))}") from None
        known = {*carried(query.view), *sortable(query.view)} - set(DEEP)
        unknown = [c for c in chosen if c not in known and c not in DEEP and c not in ("view", "source", "row")]
        if unknown:
            raise UsageError(
                f"{unknown[0]}: no such column",
                f"Columns: {', '.join(sorted({*known, *DEEP, 'view', 'source', 'row'}))}",
            )
        con = self.connection
        total, count, excluded = con.execute(counts_sql(sql), sql.all_parameters).fetchall()[0]
        cheap = tuple(c for c in chosen if c in known)
        found = con.execute(rows_sql(sql, (*cheap, "_file", "_line"), query.limit), sql.all_parameters).fetchall()
        identities = [row[0] for row in found]
        deep = tuple(c for c in chosen if c in DEEP)
        more = deep_values(self.database, con, identities, deep) if deep else {}
        rows = tuple(self._row(query.view, chosen, cheap, deep, row, more.get(row[0])) for row in found)
        return Table(chosen, rows, tuple(identities), count, total, excluded, stacks)

    def _row(
        self,
        view: View,
        chosen: tuple[str, ...],
        cheap: tuple[str, ...],
        deep: tuple[str, ...],
        row: Sequence[Any],
        more: tuple[object, ...] | None,
    ) -> tuple[object, ...]:
        if chosen == cheap:
            return tuple(row[1:-2])
        values: dict[str, object] = dict(zip(cheap, row[1:-2], strict=True))
        values |= dict(zip(deep, more or (None,) * len(deep), strict=True))
        file, line = row[-2:]
        values |= {"view": view.value, "source": self.database.names[file] if file is not None and file >= 0 else None}
        values["row"] = line if values["source"] is not None else None
        return tuple(values[c] for c in chosen)

    def rows_of(self, model: str, columns: Sequence[str] | None = None, view: View = View.SELECTED) -> Table:
        """All rows of a model (its name in any case), on every stack, newest stack first and there the newest row first: the
        rule of sql_builder.newest_rows."""
        every = Query(view=view, models=(model,), neuronx_cc=(ALL,), library_version=(ALL,))
        table = self.rows(every, (*(columns or printed(view)), "neuronx_cc", "library_version", "library", "tested_at"))
        order = sorted(
            range(len(table.rows)), key=lambda n: (*_row_key(table.rows[n][-4:]), abs(table.ids[n])), reverse=True
        )
        return Table(
            table.columns[:-4],
            tuple(table.rows[n][:-4] for n in order),
            tuple(table.ids[n] for n in order),
            table.count,
            table.total,
            table.excluded,
            table.stacks,
        )

    def find(self, name: str) -> str:
        """A model's name as the dataset spells it (else as own runs, else as the Hub does): given in any case, or without
        its owner where only one fits. Raises UnknownModelError."""
        con, name = self.connection, name.strip(" \t\r\n")[:LONGEST]  # as names are taken from the files
        for condition in (f"lower_id = {lowered('?')}", f"ends_with(lower_id, '/' || {lowered('?')})"):
            found = con.execute(self._names(condition), [name]).fetchall()
            if len({lower for _, lower in found}) == 1:
                spellings = [spelled for spelled, _ in found]
                return str(name if name in spellings else spellings[0])
        raise UnknownModelError(name, self.models_like(name), self.source)

    def models_like(self, name: str, most: int = 5) -> tuple[str, ...]:
        """Names that contain `name`, else the most similar ones."""
        con = self.connection
        named = self._names(f"contains(lower_id, {lowered('?')})")
        contained = con.execute(
            f"SELECT model_id FROM ({named}) ORDER BY length(model_id), model_id LIMIT {most}", [name]
        ).fetchall()
        if contained and name:
            return tuple(row[0] for row in contained)
        similar = (
            f"SELECT model_id FROM ({self._names('true')}) WHERE greatest(jaro_winkler_similarity(lower(model_id), lower($1)), "
            "jaro_winkler_similarity(split_part(lower(model_id), '/', 2), split_part(lower($1), '/', -1))) > 0.8 "
            f"ORDER BY jaro_winkler_similarity(lower(model_id), lower($1)) DESC, model_id LIMIT {most}"
        )
        return tuple(row[0] for row in con.execute(similar, [name]).fetchall())

    @staticmethod
    def _names(condition: str) -> str:
        """(name, in lower case) of models; those of the dataset first, spelled as there, newest stack first."""
        tables = ("r", "own", "rankings")
        every = " UNION ALL ".join(
            f"SELECT model_id, lower_id, {place} AS place, rowid AS row FROM {table}"
            for place, table in enumerate(tables)
        )
        named = f"SELECT * FROM ({every}) WHERE {condition}"
        best = f"(SELECT * FROM ({named}) QUALIFY place = min(place) OVER (PARTITION BY lower_id))"
        return f"SELECT model_id, lower_id FROM (SELECT model_id, lower_id, min(place) AS place, min(row) AS row FROM {best} GROUP BY ALL) ORDER BY place, row"

    def choose(self, model: str, query: Query) -> int:
        """The identity of the row that a model's name means: on the stack asked for, else the default stack, else the
        newest stack that has one. Raises UsageError when the stack asked for has none."""
        rows = self.rows_of(model, ("model_id", "neuronx_cc", "library_version", "library"))
        pairs = self._pairs(rows)
        if query.neuronx_cc or query.library_version or query.library:
            _, stacks = self.database.resolve(query)
            every = not stacks and self.database.resolve(query)[0] is None
            pairs = [(s, i) for s, i in pairs if every or s in stacks]
            if not pairs:
                there = newest_first({s for s, _ in self._pairs(rows)})
                more = f" and {len(there) - 5} more" if len(there) > 5 else ""
                words = "; ".join(str(s) for s in there[:5])
                raise UsageError(
                    f"{one_line(model)}: no row on the stack asked for",
                    f"It has rows on {words}{more}\n{self.source.looked_in}",
                )
        default = next((i for s, i in pairs if s == self.default_stack), None)
        if default is not None:
            return default
        stable = next((i for s, i in pairs if not (is_dev(s.neuronx_cc) or is_dev(s.library_version))), None)
        return stable if stable is not None else pairs[0][1]

    @staticmethod
    def _pairs(rows: Table) -> list[tuple[Stack, int]]:
        return [
            (Stack(str(r[1] or ""), str(r[2] or ""), str(r[3] or "")), i)
            for r, i in zip(rows.rows, rows.ids, strict=True)
        ]

    def identity_of(self, model: str, query: Query) -> int:
        """As `choose`, for a model that may have no row: then its last own run, else its place in a ranking."""
        con = self.connection
        named = f"WHERE lower_id = {lowered('?')}"
        if con.execute(f"SELECT count(*) FROM r {named}", [model]).fetchall()[0][0]:
            return self.choose(model, query)
        own = con.execute(f"SELECT min(line) FROM own {named}", [model]).fetchall()[0][0]
        if own is not None:
            return OWN_BASE - int(own)
        return UNTESTED_BASE + int(con.execute(f"SELECT min(rowid) FROM rankings {named}", [model]).fetchall()[0][0])

    def detail(self, identity: int) -> Detail:
        """A row in full. Raises DataError when it is not there (any more)."""
        from trnui.catalog.engine.row_detail import detail

        found = detail(self.database, self.connection, identity)
        if found is None:
            raise DataError("This row is not there any more.")
        return found

    def _read_scripts(self) -> None:
        if not self._scripts_read:
            from trnui.catalog.engine.script_facts import fill_from_scripts

            fill_from_scripts(self.database)
            self.database.keep()
            self._scripts_read = True


def _row_key(values: Sequence[Any]) -> tuple[object, ...]:
    compiler, version, library, tested = values
    return stack_key(Stack(compiler or "", version or "", library or "")), tested.timestamp() if tested else -1.0


def open_catalog(
    options: DatasetOptions, *, dataset: str | None = None, own: bool = False, rankings: bool = False
) -> Catalog:
    """What is on disk of the dataset that the options name, loaded; with `own` also this host's runs, with `rankings` the
    Hub's lists. Never the network. Raises DataError when nothing of it can be read, UsageError for a wrong name."""
    settings = options.settings
    source = resolve(dataset or settings.dataset, options.offline)
    if source.provenance.sample and source.hub not in (None, DATASET):  # a name that somebody chose, or mistyped
        raise DataError(
            f"{one_line(source.hub)}: nothing of it is on disk, and no folder is called so",
            f"trnui --dataset {one_line(source.hub)} sync fetches it from the Hub; --dataset sample shows the bundled sample.",
        )
    catalog = Catalog(source, columns=settings.columns, host=host_stack(settings.python))
    if source.files and not catalog.database.mappings:
        first = catalog.problems[0]
        more = f" (and {len(catalog.problems) - 1} more)" if len(catalog.problems) > 1 else ""
        raise DataError(f"{first.file} {first.words}{more}", "No file of this dataset can be read.")
    catalog.database.keep()
    if own:
        from trnui.catalog.dataset.own_results import own_rows

        catalog.database.set_own(own_rows())
    if rankings:
        from trnui.catalog.dataset.rankings import lines, stored

        catalog.database.set_rankings(lines(stored()))
    return catalog
