"""Is a text fluent English? Surface counts and a likelihood together, since each alone is fooled: a stuck model has a
good likelihood, shuffled words a good surface. Used by check.py, by file path: standard library, torch when a model judges.
"""

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

WORD_ORDER = "word order"  # the judge without a model; fit for the bundled sample only
DEFAULT = "HuggingFaceTB/SmolLM2-135M-Instruct"
TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "word_order.json.gz")

# Limits set on 51 texts of 20 to 40 tokens (18 fluent, 33 not) and checked on 24 outputs of damaged models: no error.
NLL_LIMIT = 5.0  # mean negative log-likelihood a token under SmolLM2-135M-Instruct
Z_LIMIT = 2.5  # standard deviations above the text's own shuffles
MIN_WORDS, MIN_LETTERS, MIN_COMMON, MIN_DISTINCT = 6, 0.9, 0.2, 0.5
ENOUGH = 16  # tokens; of fewer that were asked for, the words may be fewer than MIN_WORDS in good English too
COMMON = frozenset(
    """
    the be to of and a in that have i it for not on with he as you do at this but his by from they we say her she or an will
    my one all would there their what so up out if about who get which go me when make can like time no just him know take
    people into year your good some could them see other than then now look only come its over think also back after use two
    how our work first well way even new want because any these give day most us is are was were has had been more very
    """.split()  # noqa: SIM905
)


class NotAtHand(Exception):
    """The judge cannot be had here; the message says why."""


def surface(text: str) -> dict[str, Any]:
    """Counts, and `ok`. Strong on noise, loops, code and empty text; blind to the order of the words."""
    words = re.findall(r"[A-Za-z']+", text.lower())
    triples = list(zip(words, words[1:], words[2:]))  # noqa: B905  same length is not wanted; Python 3.10
    letters = sum(c.isalpha() or c in " .,'’\"!?;:-\n" for c in text) / max(1, len(text))
    common = sum(w in COMMON for w in words) / max(1, len(words))
    distinct = len(set(triples)) / max(1, len(triples))
    wrong = [
        words_for
        for words_for, bad in (
            (f"{len(words)} words", len(words) < MIN_WORDS),
            (f"only {letters:.0%} letters", letters <= MIN_LETTERS),
            (f"only {common:.0%} common words", common < MIN_COMMON),
            ("the same words again and again", distinct <= MIN_DISTINCT),
            ("broken characters", "\ufffd" in text),
        )
        if bad
    ]
    return {"ok": not wrong, "wrong": wrong, "words": len(words), "letters": round(letters, 2),
            "common": round(common, 2), "distinct3": round(distinct, 2)}  # fmt: skip


def judge(name: str, prompt: str, text: str, fetch: bool = False) -> dict[str, Any]:
    """`{name, surface, ok, …}` with the judge's own figure and limit. Raises NotAtHand.

    name: WORD_ORDER, a folder or a Hub id (taken from the cache, or with `fetch` from the Hub).
    """
    seen = surface(text)
    if name == WORD_ORDER:
        z = WordOrder.load().z(text)
        return {"name": name, "surface": seen, "z": round(z, 2), "limit": Z_LIMIT, "ok": seen["ok"] and z > Z_LIMIT}
    nll, version = likelihood(name, prompt, text, fetch)
    found = {
        "name": name,
        "surface": seen,
        "nll": round(nll, 3),
        "limit": NLL_LIMIT,
        "ok": seen["ok"] and nll < NLL_LIMIT,
    }
    return {**found, "commit": version} if version else found


def likelihood(name: str, prompt: str, text: str, fetch: bool) -> tuple[float, str | None]:
    """Mean negative log-likelihood a token of `text` after `prompt`, in float32 on the CPU, and the judge's commit."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    how = {"local_files_only": not fetch, "trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, **how)
        model = AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32, **how).eval()
    except (OSError, ValueError) as error:
        raise NotAtHand(str(error).splitlines()[0][:300]) from error
    before = tokenizer(prompt, return_tensors="pt").input_ids
    after = tokenizer(text, return_tensors="pt", add_special_tokens=False).input_ids
    if after.shape[1] == 0:
        return math.inf, None
    ids = torch.cat([before, after], 1)
    with torch.no_grad():
        scores = model(ids).logits[0, before.shape[1] - 1 : -1].log_softmax(-1)
    return -float(scores.gather(-1, after[0, :, None]).mean()), getattr(model.config, "_commit_hash", None)


class WordOrder:
    """Are the words in an order that English uses? A bigram table scores the text and 200 shuffles of the same words.

    The table (tools/make_word_order.py) was counted from the Python standard library's help and docstrings. It tells
    English from noise, salad, loops and other languages, but passes one in eight outputs of a half-broken model: so it
    judges the bundled sample, which must need no download, and never a Trainium row.
    """

    SHUFFLES, DISCOUNT = 200, 0.75

    def __init__(self, table: dict[str, Any]) -> None:
        known = table["words"]
        self.known = frozenset(known)
        self.single = Counter(dict(zip(known, table["counts"])))  # noqa: B905
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
        """0 for a random order, about 5 for English; 0 too for fewer than MIN_WORDS words."""
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
