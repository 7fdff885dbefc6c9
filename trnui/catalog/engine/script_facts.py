"""What only a row's run.py can tell: its task, by the class it loads, and whether it shards by tensors or by experts.

Scripts are read only for rows that say neither themselves, after everything is on screen: they are the bulk of the data.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from trnui.catalog.dataset.loader import READ_NUMBERED, glob_safe
from trnui.catalog.dataset.normalize_sql import TASK_OF_CLASS

if TYPE_CHECKING:
    from trnui.catalog.engine.database import Database

CLASSES: Final = r"\b(" + "|".join(TASK_OF_CLASS) + r")\b"
EXPERTS: Final = r"enable_expert_parallel\s*=\s*True|expert_parallel(?:_size)?\s*=\s*(?:True|[2-9]|\d\d)"
TENSORS: Final = r"""tp_plan\s*=\s*["']auto|tp_size\s*=|tensor_parallel(?:_size)?\s*="""


def task_in(script: str) -> str | None:
    """The task of the first model class that a script names."""
    match = re.search(CLASSES, script)
    return TASK_OF_CLASS[match[1]] if match else None


def parallelism_in(script: str) -> str | None:
    """How a script says that it shards: "ep" or "tp"; None when it does not say."""
    return "ep" if re.search(EXPERTS, script) else "tp" if re.search(TENSORS, script) else None


def fill_from_scripts(database: Database, stop: Callable[[], bool] = lambda: False) -> bool:
    """Adds the task, and the parallelism, to rows without a task where their script tells; whether anything was added.

    A file whose scripts cannot be read is left as it is: its rows are there, and opening one says what is wrong.
    """
    import duckdb

    if database.scripts_read:
        return False
    con = database.connection
    lacking = "r.task IS NULL AND r.status <> 'EXCLUDED'"
    numbers = [row[0] for row in con.execute(f"SELECT DISTINCT file FROM r WHERE {lacking} ORDER BY file").fetchall()]
    if numbers:
        database.make_writable()
    changed = 0
    tasks = " ".join(f"WHEN '{name}' THEN '{task}'" for name, task in TASK_OF_CLASS.items())
    for number in numbers:
        mapping = database.mappings[number]
        if stop():
            return changed > 0
        if mapping.of("run_py") is None:
            continue
        script = mapping.sql("run_py")
        found = (
            f"SELECT file_row_number AS line, CASE regexp_extract(x, '{CLASSES}', 1) {tasks} END AS task, "
            f"CASE WHEN regexp_matches(x, '{EXPERTS}') THEN 'ep' WHEN regexp_matches(x, '{TENSORS.replace(chr(39), chr(39) * 2)}') THEN 'tp' END "
            f"AS parallelism FROM (SELECT {script} AS x, file_row_number FROM {READ_NUMBERED})"
        )
        try:
            con.execute(
                f"UPDATE r SET task = coalesce(r.task, try_cast(f.task AS task)), parallelism = CASE WHEN r.tp > 1 THEN "
                f"coalesce(r.parallelism, try_cast(f.parallelism AS parallelism)) ELSE r.parallelism END FROM ({found}) f "
                f"WHERE r.file = {number} AND r.line = f.line AND {lacking} "
                "AND (f.task IS NOT NULL OR f.parallelism IS NOT NULL)",
                [glob_safe(database.files[number])],
            )
            changed += int(con.fetchall()[0][0])
        except duckdb.InterruptException:
            raise
        except duckdb.Error:
            continue
    database.scripts_read = True
    return changed > 0
