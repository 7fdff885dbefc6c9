"""Counts the table of the "word order" judge (runner/trnui_runner/payload/word_order.py) from the help and docstrings of this Python's library.

    python tools/make_word_order.py        writes runner/trnui_runner/payload/word_order.json.gz

The texts differ between Python versions, so one table is shipped: counted with 3.11.
"""

from __future__ import annotations

import ast
import gzip
import json
import pydoc_data.topics
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from trnui_runner.payload.word_order import TABLE, split  # noqa: E402

SIZE, LEAST = 2000, 1


def prose(text: str) -> Iterator[str]:
    """Paragraphs that look like sentences, not code or tables."""
    for block in text.replace("\r", "").split("\n\n"):
        flat = " ".join(block.split())
        if (
            len(flat.split()) >= 12
            and sum(c.isalpha() or c in " .,'" for c in flat) / len(flat) > 0.93
            and flat[-1] in ".:"
        ):
            yield flat


def library_prose() -> list[str]:
    found = {p for t in pydoc_data.topics.topics.values() for p in prose(t)}
    root = Path(pydoc_data.topics.__file__).parent.parent
    for file in [*root.glob("*.py"), *root.glob("*/*.py")]:
        if "test" in file.as_posix() or "site-packages" in file.as_posix():
            continue
        try:
            tree = ast.parse(file.read_text(encoding="utf-8", errors="replace"))
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                found.update(prose(ast.get_docstring(node) or ""))
    return sorted(found)


def table(paragraphs: list[str]) -> dict[str, object]:
    count = Counter(w for p in paragraphs for w in split(p))
    known = [*(w for w, _ in sorted(count.items(), key=lambda e: (-e[1], e[0]))[:SIZE]), "?"]
    place = {w: n for n, w in enumerate(known)}
    single: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for paragraph in paragraphs:
        words = [w if w in place else "?" for w in split(paragraph)]
        single.update(words)
        pairs.update(pairwise(words))
    follow = Counter(a for a, _ in pairs)
    kept = sorted((place[a], place[b], n) for (a, b), n in pairs.items() if n >= LEAST)
    return {"words": known, "counts": [single[w] for w in known], "follow": [follow[w] for w in known], "pairs": kept}


if __name__ == "__main__":
    data = json.dumps(table(library_prose()), separators=(",", ":")).encode()
    with open(TABLE, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as file:
        file.write(data)
    print(f"{TABLE}: {Path(TABLE).stat().st_size} bytes")
