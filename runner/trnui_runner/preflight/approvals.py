"""What a user has agreed to run, kept in `<state>/consent.json`: by a script's SHA-256, or by a dataset at one commit.

It decides what runs with the user's rights, so it counts only when the file and its folder are the user's alone.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from trnui_runner.common.files import Unreadable, locked, not_ours, private_dir, read_bounded, state_dir, write_json
from trnui_runner.common.text import Safe, one_line, words

Scope = Literal["script", "dataset"]
KINDS: Final[dict[Scope, str]] = {"script": "scripts", "dataset": "datasets"}
MOST: Final = 16 << 20  # bytes
_KEYS: Final = {
    "script": re.compile(r"[0-9a-f]{64}"),
    "dataset": re.compile(r"[^\x00-\x20]{1,300}@[0-9a-f]{40}"),
}


@dataclass(frozen=True)
class Approval:
    """key: a script's SHA-256, or `dataset@commit`. when: UTC epoch seconds, None where it is not told."""

    scope: Scope
    key: Safe
    model: Safe
    dataset: Safe | None
    when: float | None

    @property
    def day(self) -> Safe:
        return Safe("before" if self.when is None else time.strftime("on %Y-%m-%d", time.localtime(self.when)))


class Approvals:
    """Read once; `problem` says why nothing of what is there counts."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or state_dir() / "consent.json"
        self.problem = Safe("")
        self._entries = self._read()

    def _read(self) -> dict[tuple[Scope, str], Approval]:
        try:
            data = read_bounded(self.path, MOST, private=True)
            if data is None:
                return {}
            ours = not_ours(self.path.parent.stat())
            if ours:
                raise Unreadable(f"{self.path.parent}: {ours}")
            value = json.loads(data)
        except (Unreadable, OSError, ValueError, RecursionError) as error:
            self.problem = words("{} does not count: {}", self.path, error)
            return {}
        found = {}
        for scope, kind in KINDS.items():
            entries = value.get(kind) if isinstance(value, dict) else None
            for key, entry in entries.items() if isinstance(entries, dict) else ():
                if isinstance(entry, dict) and _KEYS[scope].fullmatch(key):
                    found[scope, key] = _approval(scope, key, entry)
        return found

    def all(self) -> tuple[Approval, ...]:
        """The newest first."""
        return tuple(sorted(self._entries.values(), key=lambda a: -(a.when or 0.0)))

    def get(self, scope: Scope, key: str) -> Approval | None:
        return self._entries.get((scope, key))


def _approval(scope: Scope, key: str, entry: dict[str, Any]) -> Approval:
    when = entry.get("t")
    usable = isinstance(when, int | float) and not isinstance(when, bool) and 0 <= when < 1e11
    dataset = entry.get("dataset")
    return Approval(
        scope,
        one_line(key),
        one_line(entry.get("model"), 200),
        one_line(dataset, 200) if dataset else None,
        float(when) if usable and isinstance(when, int | float) else None,
    )


def remember(scope: Scope, key: str, model: str, dataset: str | None) -> None:
    """Raises OSError, in words when the folder is not the user's alone."""
    entry = {"t": round(time.time()), "model": model, "dataset": dataset}
    path = _writable()
    with locked(path.with_suffix(".lock")):
        _write(path, [*_raw(Approvals(path)), (scope, key, entry)])


def take_back(text: str) -> tuple[Approval, ...]:
    """What of it begins with `text` (a key, or a model or dataset by its whole name; "all") is agreed to no more. Raises OSError."""
    path = _writable()
    with locked(path.with_suffix(".lock")):
        kept = Approvals(path)
        gone = [a for a in kept.all() if text == "all" or text in (a.model, a.dataset) or a.key.startswith(text)]
        if gone or (text == "all" and path.exists()):
            _write(path, [(s, k, e) for s, k, e in _raw(kept) if kept.get(s, k) not in gone])
    return tuple(gone)


def _writable() -> Path:
    return private_dir(state_dir()) / "consent.json"


def _raw(approvals: Approvals) -> list[tuple[Scope, str, dict[str, Any]]]:
    return [(a.scope, a.key, {"t": a.when, "model": a.model, "dataset": a.dataset}) for a in reversed(approvals.all())]


def _write(path: Path, entries: list[tuple[Scope, str, dict[str, Any]]]) -> None:
    value: dict[str, Any] = {"v": 1, **{kind: {} for kind in KINDS.values()}}
    for scope, key, entry in entries:
        value[KINDS[scope]][key] = entry
    write_json(path, value)
