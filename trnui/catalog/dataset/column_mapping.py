"""How one file's columns become the dataset's 24: a plan as a value, made from the file's own description.

The real names first, the user's `[columns]` before them, then aliases, then the insides of stack columns (struct, map, JSON
text), then the file's path for the pair it stands for. Where a type must be changed, the plan carries the SQL that
counts what the change loses, so nothing is dropped in silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal

from trnui.catalog.dataset.column_aliases import (
    ABSENT_WORDS,
    ALIASES,
    GIGABYTES,
    KEPT_AS_WRITTEN,
    NESTED,
    NOT_EXCLUDED,
    SECONDS,
    SHARED,
)
from trnui_runner.common.dataset_schema import COLUMNS, STACK

CANONICAL: Final[dict[str, str]] = {**COLUMNS, "task": "VARCHAR", "parallelism": "VARCHAR"}
EXTRA: Final = ("task", "parallelism")
PAIR: Final = ("neuronx_cc", "library", "library_version")
LIBRARIES: Final = ("sentence-transformers", "transformers", "diffusers", "accelerate", "peft", "trl")
_VERSION = re.compile(r"\d+(?:\.\d+)+(?:[.+-][0-9A-Za-z.]+)?")
_ESCAPED = re.compile(r"%([2-7][0-9A-Fa-f])")  # as in URLs; urllib.parse costs 4 ms to import
_TYPED = re.compile(r"TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|UTINYINT|USMALLINT|UINTEGER|UBIGINT|UHUGEINT")
_REAL = re.compile(r"FLOAT|DOUBLE|DECIMAL.*")

How = Literal["setting", "name", "alias", "inside", "path"]


@dataclass(frozen=True)
class FileColumn:
    """A column as the file describes it. `form` says whether and how it can be looked into, `keys` what is inside."""

    name: str
    type: str
    form: Literal["flat", "struct", "map", "json"] = "flat"
    keys: tuple[tuple[str, str], ...] = ()  # name and type


@dataclass(frozen=True)
class Mapped:
    """One canonical column's source. `sql` yields the value, `lost` is true for a row whose value could not be taken over."""

    canonical: str
    source: str
    how: How
    type: str
    sql: str
    lost: str | None = None


@dataclass(frozen=True)
class FileMapping:
    """How a file is read; `unknown` are its columns that stay as they are and are shown with a row's details."""

    file: str
    mapped: tuple[Mapped, ...]
    absent: tuple[str, ...]
    unknown: tuple[tuple[str, str], ...]
    unused: tuple[str, ...] = ()  # overrides in the settings that name a column the file lacks

    def of(self, canonical: str) -> Mapped | None:
        return next((m for m in self.mapped if m.canonical == canonical), None)

    def sql(self, canonical: str) -> str:
        """The SQL of a canonical column, NULL of its type when the file lacks it."""
        found = self.of(canonical)
        return found.sql if found else f"CAST(NULL AS {CANONICAL[canonical]})"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def plain(name: str) -> str:
    """A column's name as it is compared: lower case, with `_` for blank, `-` and `.`."""
    return re.sub(r"[-.\s]", "_", name.strip().lower())


def may_be_inside(name: str) -> bool:
    return plain(name) in NESTED


def map_columns(file: str, columns: Sequence[FileColumn], overrides: Mapping[str, str] | None = None) -> FileMapping:
    """The plan for a file called `file` (its path in the dataset) with these columns; `overrides` as in the settings."""
    plan = _plan(tuple(columns), tuple((overrides or {}).items()))
    found = {m.canonical: m for m in plan.mapped}
    said = {
        canonical: Mapped(canonical, f"path ({value})", "path", "VARCHAR", literal(value))
        for canonical, value in pair_in(file).items()
        if canonical not in found
    }
    found |= said
    mapped = tuple(found[c] for c in CANONICAL if c in found)
    return replace(plan, file=file, mapped=mapped, absent=tuple(c for c in plan.absent if c not in said))


@lru_cache(maxsize=64)
def _plan(columns: tuple[FileColumn, ...], overrides: tuple[tuple[str, str], ...]) -> FileMapping:
    """What columns alone tell, whatever their file is called: most files of a dataset have the same."""
    found: dict[str, Mapped] = {}
    claimed: dict[str, set[str]] = {}  # column of the file → canonical columns that read it
    unused: list[str] = []

    def take(canonical: str, column: FileColumn, how: How, key: tuple[str, str] | None = None) -> None:
        found[canonical] = _mapped(canonical, column, how, key)
        claimed.setdefault(column.name, set()).add(canonical)

    for canonical, name in overrides:
        place = _named(name, columns)
        if canonical in CANONICAL and place:
            take(canonical, place[0], "setting", place[1])
        else:
            unused.append(f"{canonical} = {name}")
    for column in columns:
        canonical = plain(column.name)
        if canonical in COLUMNS and canonical not in found:
            take(canonical, column, "name")
    for canonical, names in ALIASES.items():
        for name in names if canonical not in found else ():
            match = next(
                (c for c in columns if _fits(canonical, name, c.name) and _free(canonical, claimed.get(c.name))), None
            )
            if match and not (match.form != "flat" and may_be_inside(match.name)):
                take(canonical, match, "name" if canonical in EXTRA and name == canonical else "alias")
                break
    for column in columns:
        if column.keys and may_be_inside(column.name) and not (claimed.get(column.name, set()) - SHARED):
            for canonical in COLUMNS:
                key = _inside(canonical, column) if canonical not in found else None
                if key:
                    take(canonical, column, "inside", key)
    return FileMapping(
        "",
        tuple(found[c] for c in CANONICAL if c in found),
        tuple(c for c in COLUMNS if c not in found),
        tuple((c.name, c.type) for c in columns if c.name not in claimed or (c.keys and found_inside_only(c, found))),
        tuple(unused),
    )


def found_inside_only(column: FileColumn, found: Mapping[str, Mapped]) -> bool:
    """Whether a stack column is read by its keys alone: then it is shown whole too, since it may hold more."""
    return all(m.how in ("inside", "setting") for m in found.values() if m.source.partition(" → ")[0] == column.name)


def pair_in(path: str) -> dict[str, str]:
    """neuronx_cc, library and library_version as a path names them: `neuronx_cc=2.1/…` folders, else the first and the last version."""
    text = _ESCAPED.sub(lambda m: chr(int(m[1], 16)), path.removesuffix(".parquet"))
    pair = {k: v for k, v in re.findall(r"(\w+)=([^/]+)", text) if k in PAIR}
    versions = _VERSION.findall(text)
    if versions:
        pair.setdefault("neuronx_cc", versions[0])
    if len(versions) > 1:
        pair.setdefault("library_version", versions[-1])
        library = next((name for name in LIBRARIES if name in text.lower()), None)
        if library:
            pair.setdefault("library", library)
    return pair


def _named(name: str, columns: Iterable[FileColumn]) -> tuple[FileColumn, tuple[str, str] | None] | None:
    """A column by its name, or a key inside one by `column.key`."""
    columns = tuple(columns)
    exact = next((c for c in columns if c.name == name), None) or next(
        (c for c in columns if plain(c.name) == plain(name)), None
    )
    if exact:
        return exact, None
    for column in columns:
        for key in column.keys:
            if name == f"{column.name}.{key[0]}":
                return column, key
    return None


def _free(canonical: str, readers: set[str] | None) -> bool:
    return not readers or (canonical in SHARED and readers <= SHARED)


def _units(canonical: str) -> Mapping[str, float]:
    return SECONDS if canonical == "wall_s" else GIGABYTES if canonical in ("hbm_peak_gb", "hbm_capacity_gb") else {}


def _fits(canonical: str, alias: str, name: str) -> bool:
    name = plain(name)
    return name == alias or any(name == alias + unit for unit in _units(canonical))


def _inside(canonical: str, column: FileColumn) -> tuple[str, str] | None:
    for name in (canonical, *ALIASES[canonical]):
        for key in column.keys:
            if plain(key[0]) == name and name not in ("name", "version", "type", "time", "run", "ok"):
                return key
    return None


def _mapped(canonical: str, column: FileColumn, how: How, key: tuple[str, str] | None) -> Mapped:
    value, kind, source = quoted(column.name), column.type, column.name
    if key:
        source, kind = f"{column.name} → {key[0]}", key[1]
        if column.form == "struct":
            value = f"{value}.{quoted(key[0])}"
        elif column.form == "map":
            value = f"{value}[{literal(key[0])}]"
        else:
            path = '$."' + key[0].replace("\\", "\\\\").replace('"', '\\"') + '"'
            value = f"TRY(json_extract_string({value}, {literal(path)}))"
    exact = how == "name" or plain(key[0] if key else column.name) == canonical
    sql, lost = _converted(canonical, value, kind, column if not key else None, exact)
    return Mapped(canonical, source, how, kind, sql, lost)


def _converted(canonical: str, value: str, kind: str, column: FileColumn | None, exact: bool) -> tuple[str, str | None]:
    """SQL for the value in the canonical type, and SQL that is true where that loses something."""
    target = CANONICAL[canonical]
    if kind in ('"NULL"', "NULL"):
        return f"CAST(NULL AS {target})", None
    if target == "VARCHAR":
        return _as_text(canonical, value, kind, column)
    there = f"{value} IS NOT NULL"
    if kind == "VARCHAR":
        there = f"{value} IS NOT NULL AND trim(lower({value})) NOT IN ({', '.join(literal(w) for w in ABSENT_WORDS)})"
    if target.startswith("TIMESTAMP"):
        return _as_time(value, kind, there)
    numeric = bool(_TYPED.fullmatch(kind) or _REAL.fullmatch(kind))
    if not numeric and kind != "VARCHAR":
        return f"CAST(NULL AS {target})", there
    name = plain(column.name) if column else ""
    factor = None if exact else next((f for unit, f in _units(canonical).items() if name.endswith(unit)), None)
    if exact and kind == target:
        return (finite(value), None) if target == "DOUBLE" else (value, None)
    number = finite(f"try_cast({value} AS DOUBLE)")
    if kind != "VARCHAR" and _REAL.fullmatch(kind):
        there = f"{value} IS NOT NULL AND NOT isnan({value}::DOUBLE)"
    if factor is not None and factor != 1:
        number = f"({number} * {factor!r})"
    elif not exact and _units(canonical) is GIGABYTES and factor is None:
        number = f"(CASE WHEN {number} > 1e6 THEN {number} * 1e-9 WHEN {number} <= 2000 THEN {number} END)"
    if target == "INTEGER":
        rounded = f"try_cast(round({number}) AS INTEGER)"
        whole = factor not in (None, 1) or canonical == "wall_s"  # seconds are rounded, cores are not
        fraction = "" if whole else f" OR {number} <> round({number})"
        return rounded, f"({there}) AND ({rounded} IS NULL{fraction})"
    return number, f"({there}) AND {number} IS NULL"


def _as_text(canonical: str, value: str, kind: str, column: FileColumn | None) -> tuple[str, str | None]:
    if kind == "VARCHAR":
        if canonical == "model_id" and column and plain(column.name) in ("name", "model_name"):
            return f"CASE WHEN contains({value}, '/') THEN {value} END", f"{value} <> '' AND NOT contains({value}, '/')"
        return _stripped(value) if canonical == "model_id" else _said(canonical, value), None
    if kind == "BLOB":
        return f"TRY(decode({value}))", f"{value} IS NOT NULL AND TRY(decode({value})) IS NULL"
    if canonical == "error" and column and column.form == "struct" and any(k == "message" for k, _ in column.keys):
        kinds = [f"{value}.{quoted(k)}" for k in ("type",) if any(k == have for have, _ in column.keys)]
        return f"concat_ws(': ', {', '.join([*kinds, f'{value}.message'])})", None
    if kind.startswith(("STRUCT", "MAP")) or kind.endswith("]"):
        return f"CASE WHEN {value} IS NOT NULL THEN CAST(to_json({value}) AS VARCHAR) END", None
    return _said(canonical, f"CAST({value} AS VARCHAR)"), None


def finite(value: str) -> str:
    """SQL of a DOUBLE without NaN and infinity. `nullif(x, 'nan')` does not do: DuckDB drops it where a file's statistics,
    which leave NaN out, seem to say that it never holds."""
    return f"CASE WHEN isfinite({value}) THEN {value} END"


def _stripped(value: str) -> str:
    return f"trim({value}, chr(32) || chr(9) || chr(10) || chr(13))"


def _said(canonical: str, value: str) -> str:
    """SQL of a text, NULL where its only word says that nothing is there (`None`, `nan`, `-`)."""
    if canonical in KEPT_AS_WRITTEN:
        return value
    words = [word for word in (NOT_EXCLUDED if canonical == "exclusion" else ABSENT_WORDS) if word]
    longest = max(len(word.encode()) for word in words) + 4  # blanks around it
    if canonical in (*STACK, "library"):
        value = _stripped(value)
    absent = f"strlen({value}) <= {longest} AND lower({_stripped(value)}) IN ({', '.join(literal(w) for w in words)})"
    return f"CASE WHEN {absent} THEN NULL ELSE {value} END"


def _as_time(value: str, kind: str, there: str) -> tuple[str, str | None]:
    if kind == "TIMESTAMP WITH TIME ZONE":
        return value, None
    if kind.startswith("TIMESTAMP") or kind == "DATE":
        return f"CAST({value} AS TIMESTAMP WITH TIME ZONE)", None
    number = f"try_cast({value} AS DOUBLE)"
    epoch = (
        f"TRY(to_timestamp(CASE WHEN {number} > 1e17 THEN {number} / 1e9 WHEN {number} > 1e14 THEN {number} / 1e6 "
        f"WHEN {number} > 1e11 THEN {number} / 1e3 WHEN {number} > 1e8 THEN {number} END))"
    )
    if kind == "VARCHAR":
        epoch = f"coalesce(try_cast({value} AS TIMESTAMP WITH TIME ZONE), {epoch})"
    elif not (_TYPED.fullmatch(kind) or _REAL.fullmatch(kind)):
        return "CAST(NULL AS TIMESTAMP WITH TIME ZONE)", there
    return epoch, f"({there}) AND {epoch} IS NULL"
