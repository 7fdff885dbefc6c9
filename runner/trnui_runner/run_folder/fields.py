"""Values of a run folder's JSON files, each taken by the type it must have. Whatever lies in a run folder may come from the
run's own processes: it is bounded, its texts are cleaned, and what does not fit is `Damaged`, by file and field."""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final, TypeVar

from trnui_runner.common.files import Unreadable, read_bounded
from trnui_runner.common.text import Safe, clean, one_line

TEXT: Final = 1 << 20  # characters of one text
ENTRIES: Final = 20_000  # values inside one field, all levels together
DEPTH: Final = 8

Word = TypeVar("Word", bound=str)


class Damaged(ValueError):
    """A file that does not hold what it should; the message names it and says what is wrong."""


def load(path: Path, most: int) -> object | None:
    """The JSON of a file of at most `most` bytes; None if there is no file. Raises Damaged."""
    try:
        data = read_bounded(path, most)
    except Unreadable as error:
        raise Damaged(f"{path.name}: {error}") from error
    if data is None:
        return None
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{path.name} is no JSON ({one_line(error, 80)})") from error
    return value


class Fields:
    """One JSON object. Every method gives its default for a key that is absent or null, and raises Damaged for a wrong type."""

    def __init__(self, file: str, value: object) -> None:
        if not isinstance(value, dict):
            raise Damaged(f"{file} holds no object")
        self.file, self._values = file, value

    def _wrong(self, key: str, wanted: str) -> Damaged:
        return Damaged(f"{self.file}: {key} is {one_line(type(self._values[key]).__name__)}, not {wanted}")

    def has(self, key: str) -> bool:
        return self._values.get(key) is not None

    def raw(self, key: str) -> str | None:
        """A text as it stands, for what a run is started with again; never for a terminal."""
        value = self._values.get(key)
        if value is None:
            return None
        if not isinstance(value, str) or len(value) > TEXT:
            raise self._wrong(key, f"a text of at most {TEXT} characters")
        return value

    def maybe(self, key: str) -> Safe | None:
        value = self.raw(key)
        return None if value is None else clean(value)

    def text(self, key: str, default: str = "") -> Safe:
        return clean(default) if self._values.get(key) is None else clean(self.raw(key))

    def line(self, key: str, default: str = "") -> Safe:
        """A text on one line: names, words of a vocabulary."""
        return one_line(self.text(key, default), 4096)

    def word(self, key: str, known: Collection[Word]) -> Word | None:
        """One of a vocabulary's words."""
        value = self._values.get(key)
        if value is None:
            return None
        found = next((word for word in known if word == value), None)
        if found is None:
            raise Damaged(f"{self.file}: {key} is none of {', '.join(known)}")
        return found

    def whole(self, key: str) -> int | None:
        value = self.number(key)
        if value is not None and value != int(value):
            raise self._wrong(key, "a whole number")
        return None if value is None else int(value)

    def number(self, key: str) -> float | None:
        value = self._values.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._wrong(key, "a number")
        if not abs(value) < 1e18:  # NaN is not less
            raise Damaged(f"{self.file}: {key} is out of range")
        return value

    def items(self, key: str) -> list[Any]:
        value = self._values.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._wrong(key, "a list")
        return value

    def lines(self, key: str) -> tuple[Safe, ...]:
        found = self.items(key)
        if len(found) > ENTRIES or not all(isinstance(v, str) for v in found):
            raise self._wrong(key, "a list of texts")
        return tuple(clean(v[:TEXT]) for v in found)

    def numbers(self, key: str) -> tuple[int, ...]:
        found = self.items(key)
        if len(found) > ENTRIES or not all(isinstance(v, int) and 0 <= v < 1 << 62 for v in found):
            raise self._wrong(key, "a list of whole numbers")
        return tuple(found)

    def mapping(self, key: str) -> dict[str, Any] | None:
        """An object with its texts cleaned; None where there is none."""
        value = self._values.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self._wrong(key, "an object")
        found = cleaned(value)
        assert isinstance(found, dict)
        return found

    def figures(self, key: str) -> dict[str, float]:
        """Names with a number each."""
        value = self.mapping(key) or {}
        inner = Fields(f"{self.file}: {key}", value)
        return {name: inner.number(name) or 0.0 for name in value}

    def counts(self, key: str) -> dict[str, Any] | None:
        """Names with a whole number each."""
        found = self.mapping(key)
        inner = Fields(f"{self.file}: {key}", found or {})
        return None if found is None else {name: inner.whole(name) for name in found}

    def row(self, key: str) -> dict[str, Any] | None:
        """A row of a dataset: scalars, texts as they stand (they are data, not words for a terminal)."""
        value = self._values.get(key)
        if value is None:
            return None
        if not isinstance(value, dict) or len(value) > 200:
            raise self._wrong(key, "a row")
        for name, cell in value.items():
            if not (cell is None or isinstance(cell, str | int | float | bool)):
                raise Damaged(f"{self.file}: {key}.{one_line(name, 40)} is no value of a row")
        return {_unicode(name): _unicode(v) if isinstance(v, str) else v for name, v in value.items()}


def _unicode(text: str) -> str:
    """JSON may hold halves of characters, which no other format takes."""
    return text.encode("utf-8", "replace").decode()


def cleaned(value: Any, depth: int = DEPTH, left: list[int] | None = None) -> Any:
    """A JSON value with every text cleaned. Raises Damaged for one that is deeper or larger than anything of ours."""
    left = [ENTRIES] if left is None else left
    left[0] -= 1
    if depth < 0 or left[0] < 0:
        raise Damaged(f"more than {DEPTH} levels or {ENTRIES} values in one field")
    if isinstance(value, str):
        return clean(value[:TEXT])
    if isinstance(value, dict):
        return {one_line(k, 200): cleaned(v, depth - 1, left) for k, v in value.items()}
    if isinstance(value, list):
        return [cleaned(v, depth - 1, left) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and abs(value) >= 1 << 63:
        return None
    return value
