"""How long at least one of several things was going on: the union of intervals that begin and end one by one."""

from __future__ import annotations

from collections.abc import Hashable


class Union:
    """`begin` and `end` by key, at times that never go back."""

    def __init__(self) -> None:
        self._open: set[Hashable] = set()
        self._opened = self._closed = self._sum = 0.0
        self._any = False

    @property
    def open(self) -> bool:
        return bool(self._open)

    def begin(self, key: Hashable, at: float) -> None:
        if not self._open:
            self._opened = at
        self._open.add(key)
        self._any = True

    def end(self, key: Hashable, at: float, seconds: float | None = None) -> None:
        """`seconds`: how long it says it took, for one whose beginning was not told; what lies after the last interval counts."""
        if key in self._open:
            self._open.discard(key)
            if not self._open:
                self._sum += max(0.0, at - self._opened)
                self._closed = at
        elif seconds and not self._open:
            self._sum += max(0.0, min(seconds, at - self._closed))
            self._closed = at
            self._any = True

    def end_all(self, at: float, pid: int | None = None) -> None:
        """All of them, or those whose key is (pid, …)."""
        for key in [k for k in self._open if pid is None or (isinstance(k, tuple) and k[0] == pid)]:
            self.end(key, at)

    def seconds(self, now: float) -> float | None:
        """None when there never was any."""
        if not self._any:
            return None
        return round(self._sum + (max(0.0, now - self._opened) if self._open else 0.0), 3)
