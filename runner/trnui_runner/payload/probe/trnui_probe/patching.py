"""Observing a function without changing its call: same arguments, result, exceptions, and the same traceback."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from .emit import safe

Before = Callable[[Any, Any], Any]  # (args, kwargs) → note
After = Callable[[Any, Any, Any], None]  # (note, result, error)


def observed(fn: Callable[..., Any], before: Before, after: After, traceable: bool = True) -> Callable[..., Any]:
    """While Dynamo traces the call it sees the original alone, unless not `traceable`: is_compiling() also holds in the
    place where a backend is called, which is no traced code."""
    compiling = getattr(getattr(sys.modules.get("torch"), "compiler", None), "is_compiling", None)

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if traceable and compiling is not None and compiling():
            return fn(*args, **kwargs)
        note = safe(before, args, kwargs)
        try:
            result = fn(*args, **kwargs)
        except BaseException as error:
            safe(after, note, None, error)
            error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next  # without our frame
            raise
        safe(after, note, result, None)
        return result

    return call


def replace(owner: Any, name: str, before: Before, after: After, traceable: bool = True) -> None:
    """Puts the observed function in the place of `owner.name`. Raises KeyError if there is none (another version)."""
    old = vars(owner)[name]
    new = observed(getattr(old, "__func__", old), before, after, traceable)
    setattr(owner, name, classmethod(new) if isinstance(old, classmethod) else new)
