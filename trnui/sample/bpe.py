"""The sample's tokenizer: byte-level BPE by hand, so that it depends on the sample's text and on nothing else."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from typing import Any, Final

SPECIAL: Final = ("<|pad|>", "<|bos|>", "<|eos|>", "<image>")
VOCAB: Final = 1024


def byte_letters() -> list[str]:
    """GPT-2's printable letter for each byte value."""
    keep = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, spare = [], 256
    for b in range(256):
        letters.append(chr(b) if b in keep else chr(spare))
        spare += b not in keep
    return letters


def merges(text: str, count: int) -> list[tuple[str, str]]:
    """Byte-level BPE by hand; ties go to the pair that sorts first, so the result depends on the text only."""
    letters = byte_letters()
    words = Counter(re.findall(r" ?[A-Za-z]+| ?[^\sA-Za-z]+|\s+", text))
    split = {w: [letters[b] for b in w.encode()] for w in words}
    found: list[tuple[str, str]] = []
    while len(found) < count:
        pairs: Counter[tuple[str, str]] = Counter()
        for w, parts in split.items():
            for pair in itertools.pairwise(parts):
                pairs[pair] += words[w]
        if not pairs:
            break
        best = min(pairs, key=lambda p: (-pairs[p], p))
        found.append(best)
        for parts in split.values():
            i = 0
            while i < len(parts) - 1:
                if (parts[i], parts[i + 1]) == best:
                    parts[i : i + 2] = ["".join(best)]
                i += 1
    return found


def tokenizer_json(text: str) -> dict[str, Any]:
    pairs = merges(text, VOCAB - 256 - len(SPECIAL))
    vocab = [*SPECIAL, *sorted(byte_letters()), *("".join(p) for p in pairs)]
    if len(set(vocab)) != len(vocab):
        raise ValueError("two merges make the same token")
    special = [
        {
            "id": i,
            "content": s,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for i, s in enumerate(SPECIAL)
    ]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special,
        "normalizer": None,
        "pre_tokenizer": level,
        "post_processor": None,
        "decoder": level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {t: i for i, t in enumerate(vocab)},
            "merges": [list(p) for p in pairs],
        },
    }
