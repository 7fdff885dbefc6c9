"""Why a model was left out or failed, in one line: the same rule in SQL, for lists, and in Python, for one text."""

from __future__ import annotations

from typing import Final

LENGTH: Final = 300  # characters of a reason; a longer one ends in …
_TRACEBACK: Final = "Traceback (most recent call last)"


def reason_line(error: str) -> str:
    """Of a traceback its last line, the exception; of anything else the first line that is not blank."""
    lines = [line for line in error.strip().splitlines() if line.strip()]
    if not lines:
        return ""
    return (lines[-1] if _TRACEBACK in error else lines[0]).strip()


def reason_sql(text: str) -> str:
    """The same over a column; NULL where it says nothing."""
    bare = f"trim({text}, {_BLANKS})"
    end = rf"regexp_extract({bare}, '[^\r\n]*$')"
    first = rf"regexp_extract({bare}, '^[^\r\n]*')"
    line = f"trim(CASE WHEN contains({text}, '{_TRACEBACK}') THEN {end} ELSE {first} END, {_BLANKS})"
    return f"nullif(CASE WHEN length({line}) > {LENGTH} THEN left({line}, {LENGTH - 1}) || '…' ELSE {line} END, '')"


_BLANKS: Final = "chr(32) || chr(9) || chr(10) || chr(11) || chr(12) || chr(13) || chr(160)"
