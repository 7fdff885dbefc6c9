"""The judge without a model: are the words in an order that English uses? Standard library, Python 3.10."""

from __future__ import annotations

import gzip
import itertools
import json
import math
import os
import random
import re
from collections import Counter
from typing import Any

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "word_order.json.gz")
MIN_WORDS = 6


class WordOrder:
    """A bigram table scores the text and 200 shuffles of the same words.

    The table (tools/make_word_order.py) was counted from the Python standard library's help and docstrings. It tells
    English from noise, salad, loops and other languages, but passes one in eight outputs of a half-broken model: so it
    judges the bundled sample, which must need no download, and never a Trainium row.
    """

    SHUFFLES, DISCOUNT = 200, 0.75

    def __init__(self, table: dict[str, Any]) -> None:
        known = table["words"]
        self.known = frozenset(known)
        self.single = Counter(dict(zip(known, table["counts"])))  # noqa: B905  Python 3.10
        self.follow = Counter(dict(zip(known, table["follow"])))  # noqa: B905
        self.pairs = {(known[a], known[b]): n for a, b, n in table["pairs"]}
        self.total = sum(self.single.values())

    @classmethod
    def load(cls) -> WordOrder:
        with gzip.open(TABLE, "rt", encoding="utf-8") as file:
            return cls(json.load(file))

    def log_likelihood(self, words: list[str]) -> float:
        """Absolute discounting: what the known pairs give up goes to the words' own frequency."""
        total = 0.0
        for a, b in itertools.pairwise(words):
            n = self.single[a] or 1
            spared = self.DISCOUNT * max(self.follow[a], 1) * max(self.single[b], 1) / self.total
            total += math.log((max(self.pairs.get((a, b), 0) - self.DISCOUNT, 0) + spared) / n)
        return total

    def z(self, text: str) -> float:
        """Standard deviations above the text's own shuffles: 0 for a random order, about 5 for English; 0 too for fewer
        than MIN_WORDS words."""
        words = [w if w in self.known else "?" for w in split(text)]
        if len(words) < MIN_WORDS:
            return 0.0
        draw, scores = random.Random(0), []
        for _ in range(self.SHUFFLES):
            other = words[:]
            draw.shuffle(other)
            scores.append(self.log_likelihood(other))
        mean = sum(scores) / len(scores)
        spread = math.sqrt(sum((s - mean) ** 2 for s in scores) / len(scores)) or 1.0
        return (self.log_likelihood(words) - mean) / spread


def split(text: str) -> list[str]:
    return re.findall(r"[a-z']+|[.,;:!?]", text.lower())
