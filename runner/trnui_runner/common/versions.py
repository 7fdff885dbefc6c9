"""Whether two spellings name one version, decided here for the runner and the explorer alike.

Packages follow PEP 440 (`2.28.7631.0+0a1b2c3d`, `5.25.0.dev0`); drivers and commits need not.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache

from packaging.version import InvalidVersion, Version


class Gap(Enum):
    """How far two versions are from each other."""

    NONE = "none"  # the same: 5.24 and 5.24.0, 2.13.0 and 2.13.0+cpu
    BUILD = "build"  # the same numbers, another build or pre-release
    VERSION = "version"


def release(version: str) -> tuple[int, ...]:
    """The numbers that it begins with: `2.11.3.0.19138+4dee388.dev` → (2, 11, 3, 0, 19138); () when there are none."""
    found = re.match(r"\d+(?:\.\d+)*", version.strip().lstrip("v"))
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def gap(a: str, b: str) -> Gap:
    """A build that only one of them names is no difference; zeros at the end of the numbers are none."""
    if a == b:
        return Gap.NONE
    numbers = _trimmed(release(a))
    if not numbers or numbers != _trimmed(release(b)):
        return Gap.VERSION
    builds = {text.partition("+")[2] for text in (a, b)} - {""}
    return Gap.NONE if len(builds) < 2 and _public(a) == _public(b) else Gap.BUILD


def equal(a: str, b: str) -> bool:
    return gap(a, b) is Gap.NONE


def _trimmed(numbers: tuple[int, ...]) -> tuple[int, ...]:
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers = numbers[:-1]
    return numbers


@lru_cache(maxsize=4096)
def _public(text: str) -> Version | str:
    """The part before `+` as a version; as it stands where it is none."""
    part = text.partition("+")[0]
    try:
        return Version(part)
    except InvalidVersion:
        return part
