"""What a run's output means while it runs, as events: loaded and asked only once something in the output looks like trouble.

A hundred rules cost a tenth of a second to load and 4 µs a line, so a run that prints nothing suspicious pays for neither, and
one that prints without end is read in its newest part.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from runner.recipe import Recipe

if TYPE_CHECKING:
    from runner.diagnosis import Stream

PIECE = 32 << 10  # at most so much of the output from one look to the next
PERIOD = 2.0
SUSPECT = re.compile(
    rb"rror|Traceback|[Ll]ock|NRT|nrt_|[Ww]arn|WARN|ailed|killed|Killed|[Tt]imed? ?out|retry|Retry|gated|offline"
)
PLAIN = frozenset({"ok", "in_progress", "unknown", "empty"})


class LiveDiagnosis:
    """`heard` every piece of output; `look` gives a `diagnosis` event when the meaning has changed."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._fresh = bytearray()
        self._suspicious = False
        self._stream: Stream | None = None
        self._told: tuple[str, str] | None = None
        self._next = 0.0

    def heard(self, data: bytes) -> None:
        newest = data[-PIECE:]
        self._suspicious = self._suspicious or SUSPECT.search(newest) is not None
        self._fresh += newest
        if len(self._fresh) > PIECE:
            del self._fresh[:-PIECE]

    def look(self, now: float) -> list[dict[str, Any]]:
        """`now`: the run's own seconds."""
        if now < self._next or not self._fresh or not self._suspicious:
            return []
        self._next = now + PERIOD
        from runner.diagnosis import Facts, Stream

        if self._stream is None:
            self._stream = Stream(Facts(model=self._recipe.model, cores_asked=self._recipe.cores))
        self._stream.feed(bytes(self._fresh), now)
        self._fresh.clear()
        answer = self._stream.answer(now)
        found = answer.diagnosis
        new = (found.cls, found.summary)
        if new == self._told or (found.cls in PLAIN and self._told is None):
            return []
        self._told = new
        return [{"event": "diagnosis", **found.to_json(), "phase": answer.phase}]
