"""The rows of a dataset as they were loaded, kept in a private folder, so that the next start reads none of its files.

One DuckDB file for each state of a dataset: its name stands for the files (path, size, times, inode), the settings that decide
how they are read, and the code that reads them. It is attached read-only, so any number of processes share it, and the table
`r` becomes a view of it. It is made under another name and moved into place whole. What does not fit is not used; all of it
may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trnui import __version__
from trnui.catalog.dataset.column_mapping import FileMapping, Mapped
from trnui.catalog.messages import Problem
from trnui_runner.common.files import cache_dir, private_dir

if TYPE_CHECKING:
    import duckdb

WORTH_ROWS: Final = 2_000  # rows, or files, from which keeping them saves time
WORTH_FILES: Final = 20
MOST: Final = 8  # states that are kept; the ones not used for longest go
VERIFIED: Final = (
    100_000  # rows up to which every block is read, and so its checksum compared, before any of it is used
)
AT_ONCE: Final = 100_000  # rows that are written together
_FORMAT: Final = "1"


@dataclass(frozen=True)
class KeptState:
    """What a loaded Database knows beside the rows. `combinations`: of versions, by their ids in `s`; `used`: those ids that
    rows have; `counts`: how many rows each has; `scripts`: whether tasks were taken from the scripts."""

    rows: int
    mappings: Mapping[int, FileMapping]
    problems: tuple[Problem, ...]
    combinations: tuple[tuple[str | None, ...], ...]
    used: frozenset[int]
    counts: Mapping[int, int]
    scripts: bool

    def to_json(self) -> str:
        different: dict[FileMapping, int] = {}
        of_file = {
            number: [mapping.file, different.setdefault(dataclasses.replace(mapping, file=""), len(different))]
            for number, mapping in self.mappings.items()
        }
        return json.dumps(
            {
                "rows": self.rows,
                "mappings": [dataclasses.asdict(mapping) for mapping in different],
                "files": of_file,
                "problems": [[p.file, p.words] for p in self.problems],
                "combinations": self.combinations,
                "used": sorted(self.used),
                "counts": list(self.counts.items()),
                "scripts": self.scripts,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> KeptState:
        """Raises ValueError, TypeError, KeyError, IndexError for what `to_json` has not written."""
        found = json.loads(text)
        different = [_mapping(m) for m in found["mappings"]]
        return cls(
            found["rows"],
            {
                int(number): dataclasses.replace(different[at], file=file)
                for number, (file, at) in found["files"].items()
            },
            tuple(Problem(*p) for p in found["problems"]),
            tuple(tuple(c) for c in found["combinations"]),
            frozenset(found["used"]),
            dict(found["counts"]),
            found["scripts"],
        )


def key_of(files: Sequence[Path], names: Sequence[str], columns: Mapping[str, str], *, own_words: bool) -> str | None:
    """What decides the rows, as one word; None where a file is not there."""
    try:
        seen = [(os.path.realpath(path), *_identity(path)) for path in files]
    except OSError:
        return None
    parts = (_FORMAT, _code(), seen, list(names), sorted(columns.items()), own_words)
    return hashlib.sha256(json.dumps(parts).encode(errors="surrogateescape")).hexdigest()[:32]


def attach(con: duckdb.DuckDBPyConnection, key: str) -> KeptState | None:
    """Puts the kept rows in the place of the (empty) table `r` and returns what else was known; None where there are none,
    or where they cannot be trusted: then `r` is as it was."""
    import duckdb

    path = _folder() / f"{key}.db"
    if not _ours(path):
        return None
    try:
        con.execute(f"ATTACH {_literal(path)} AS kept (READ_ONLY)")
    except duckdb.Error:
        path.unlink(missing_ok=True)
        return None
    try:
        (text,) = con.execute("SELECT state FROM kept.state").fetchall()[0]
        state = KeptState.from_json(text)
        check = "count(*), bit_xor(hash(r))" if state.rows <= VERIFIED else "count(*), 0"
        if con.execute(f"SELECT {check} FROM kept.r").fetchall()[0][0] != state.rows:
            raise ValueError("another number of rows")
        if sum(state.counts.values()) != state.rows:
            raise ValueError("counts that do not add up")
        columns = "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'r' AND database_name = ?"
        have, want = (con.execute(columns, [name]).fetchall() for name in ("kept", "memory"))
        if have != want:
            raise ValueError("other columns")
        con.execute("DROP TABLE r")
        con.execute("CREATE VIEW r AS SELECT rowid AS rowid, * FROM kept.r")
    except (duckdb.Error, ValueError, TypeError, KeyError, IndexError):
        con.execute("DETACH kept")
        path.unlink(missing_ok=True)
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # used now
    return state


def make_writable(con: duckdb.DuckDBPyConnection) -> None:
    """The table `r` in memory in place of the view: the same rows under the same ids."""
    con.execute("BEGIN")
    con.execute("DROP VIEW r")
    con.execute("CREATE TABLE r AS FROM kept.r ORDER BY rowid")
    con.execute("COMMIT")  # not detached: other threads may be reading


def keep(con: duckdb.DuckDBPyConnection, key: str, state: KeptState) -> bool:
    """Writes the rows down; whether that was possible. Raises duckdb.InterruptException."""
    import duckdb

    try:
        folder = private_dir(_folder())
    except OSError:
        return False
    making = folder / f"{key}.{os.getpid()}.making"
    attached = False
    try:
        os.close(os.open(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
        making.unlink()  # DuckDB wants to make it itself; the folder is ours alone
        con.execute(f"ATTACH {_literal(making)} AS making")
        attached = True
        con.execute("CREATE TABLE making.state (state VARCHAR)")
        con.execute("INSERT INTO making.state VALUES (?)", [state.to_json()])
        con.execute("CREATE TABLE making.r AS FROM r LIMIT 0")
        for first in range(0, state.rows, AT_ONCE):
            part = f"rowid BETWEEN {first} AND {first + AT_ONCE - 1}"
            con.execute(f"INSERT INTO making.r SELECT * FROM r WHERE {part} ORDER BY rowid")
            con.execute("CHECKPOINT making")  # what is on disk is no longer held in memory
        con.execute("DETACH making")
        attached = False
        making.chmod(0o600)
        making.replace(folder / f"{key}.db")
    except duckdb.InterruptException:
        raise
    except (duckdb.Error, OSError):  # a full disk, a folder that may not be written: then they are loaded again
        return False
    finally:
        if attached:
            with contextlib.suppress(duckdb.Error):
                con.execute("DETACH making")
        for left in (making, making.with_name(f"{making.name}.wal")):
            left.unlink(missing_ok=True)
    _forget_old(folder)
    return True


def _folder() -> Path:
    return cache_dir() / "rows"


def _ours(path: Path) -> bool:
    """Whether it is a file, no link, that this user alone may write, in a folder of which the same is true."""
    try:
        folder, file = path.parent.lstat(), path.lstat()
    except OSError:
        return False
    mine = all(info.st_uid == os.getuid() and not info.st_mode & 0o022 for info in (folder, file))
    return mine and stat.S_ISDIR(folder.st_mode) and stat.S_ISREG(file.st_mode)


def _identity(path: Path) -> tuple[int, ...]:
    info = path.stat()
    return info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino, info.st_dev


@lru_cache(maxsize=1)
def _code() -> str:
    """The versions of trnui and DuckDB, and a digest of the modules that turn files into rows."""
    import duckdb

    digest = hashlib.sha256(f"{__version__} {duckdb.__version__}".encode())
    catalog = Path(__file__).resolve().parent.parent
    for module in (*sorted((catalog / "dataset").glob("*.py")), catalog / "engine" / "database.py", Path(__file__)):
        with contextlib.suppress(OSError):
            digest.update(module.read_bytes())
    return digest.hexdigest()


def _forget_old(folder: Path) -> None:
    found = []
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            found.append((path.lstat().st_mtime, path))
    for _, path in sorted(found, reverse=True)[MOST:]:
        with contextlib.suppress(OSError):
            path.unlink()


def _literal(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _mapping(found: dict[str, Any]) -> FileMapping:
    return FileMapping(
        found["file"],
        tuple(Mapped(**m) for m in found["mapped"]),
        tuple(found["absent"]),
        tuple((name, kind) for name, kind in found["unknown"]),
        tuple(found["unused"]),
    )
