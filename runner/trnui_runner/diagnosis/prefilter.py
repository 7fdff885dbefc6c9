"""The prefilter: which lines can any rule know at all. Words first (one dictionary look-up each), then case-sensitive literals,
and only then a rule's regular expression, on a window if the line is long. About 1 µs for a line that no rule knows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trnui_runner.diagnosis.model import LineWeight, Rule
from trnui_runner.diagnosis.rules import RULES

_WORD = re.compile(r"[A-Za-z0-9]+")
# Lower case, everything but letters and digits a space, a carriage return an end of line: lengths stay, so lines stay aligned.
_TABLE = bytes(
    ord("\n") if b in b"\r\n" else b | 32 if 65 <= b <= 90 else b if chr(b).isalnum() and b < 128 else 32
    for b in range(256)
)
_RETURNS = bytes(ord("\n") if b == 13 else b for b in range(256))
_HEX = b"0123456789abcdef"
_LEARNED = 50_000  # words remembered; hashes and numbers are new for ever
_INSIDE = re.compile(r"[\w.-]+")
_NAME_BEFORE, _NAME_BEHIND = re.compile(r"[\w./-]+\Z"), re.compile(r"[\w./-]+")
LONG = 4096  # of a longer line only windows around the literals are searched
WINDOW = 1500


TALK = (
    "enerated", "ompletion:", "ompletion =", "esponse:", "esponse =", "utput:", "utput =", "utput text", "ontinuation:", "ecoded:", "ssistant:", "nswer:", "Text:", "text:", "text =", "ample:",
    "gen:", "-----", "=====", "udge", "okens ", "[INFO]", "prompt:", "Prompt:", "<<<", ">>>", '"""', "```", "exit code",
)  # fmt: skip


def _index() -> tuple[dict[str, list[int]], dict[bytes, list[int]], list[tuple[str, tuple[int, ...]]]]:
    """Stem → literals, sign (no letters in it) → literals, and every literal with its rules."""
    rules_of: dict[str, list[int]] = {}
    for number, rule in enumerate(RULES):
        for literal in rule.any:
            rules_of.setdefault(literal, []).append(number)
    for literal in TALK:  # no rule's: the ledger looks whether the model begins or ends to speak
        rules_of.setdefault(literal, [])
    literals = [(text, tuple(numbers)) for text, numbers in rules_of.items()]
    stems: dict[str, list[int]] = {}
    signs: dict[bytes, list[int]] = {}
    for number, (text, _) in enumerate(literals):
        words = _WORD.findall(text)
        if words:
            stems.setdefault(max(words, key=len).lower(), []).append(number)
        else:
            signs.setdefault(text.encode(), []).append(number)
    return stems, signs, literals


_STEMS, _SIGNS, LITERALS = _index()
# Whether the digits of a line decide what a literal's rules say of it (a code, a status): such lines are read one by one.
_DIGITS = re.compile(r"\(\?P<\w+>|\{[\d,]+\}|\[[^\]]*\]|\\\d")
_plain_rule = [not (r.table or r.key or r.asks or re.search(r"\d", _DIGITS.sub("", r.pattern))) for r in RULES]
PLAIN = frozenset(
    n for n, (text, rules) in enumerate(LITERALS) if all(_plain_rule[r] for r in rules) and not re.search(r"\d", text)
)
ZEROS = bytes(48 if 48 <= b <= 57 else b for b in range(256))
_BYTES = [text.encode() for text, _ in LITERALS]
_SHORT = {s.encode(): tuple(n) for s, n in _STEMS.items() if len(s) < 3}  # as whole words only
_HEADS: dict[bytes, list[tuple[bytes, tuple[int, ...]]]] = {}
for _stem, _numbers in _STEMS.items():
    if len(_stem) >= 3:
        _HEADS.setdefault(_stem[:3].encode(), []).append((_stem.encode(), tuple(_numbers)))
_known: dict[bytes, tuple[int, ...]] = {}


def _learn(word: bytes) -> tuple[int, ...]:
    """The literals whose stem is in a word, remembered for the next time; a number or a hash says nothing and is not."""
    found: tuple[int, ...] = _SHORT.get(word, ())
    if len(word) > 6 and not word.strip(_HEX) and any(c < 58 for c in word):
        return found
    for at in range(min(len(word), 256) - 2):
        heads = _HEADS.get(word[at : at + 3])
        if heads:
            for stem, numbers in heads:
                if word.startswith(stem, at):
                    found += numbers
    if len(_known) > _LEARNED:
        _known.clear()
    _known[word] = found
    return found


def split(block: bytes) -> list[bytes]:
    """The lines of a block; what a carriage return would have overwritten is a line of its own here."""
    return block.translate(_RETURNS).split(b"\n")


def candidates(block: bytes, raw: list[bytes]) -> Iterator[tuple[int, list[int]]]:
    """(number of the line in `raw`, literals that may be in it), for the lines that can matter."""
    known, learn = _known, _learn
    signs = [(sign, tuple(numbers)) for sign, numbers in _SIGNS.items() if sign in block]
    for number, low in enumerate(block.translate(_TABLE).split(b"\n")):
        found: set[int] | None = None
        for word in low.split():
            numbers = known.get(word)
            if numbers is None:
                numbers = learn(word)
            if numbers:
                if found is None:
                    found = set(numbers)
                else:
                    found.update(numbers)
        if signs:
            line = raw[number]
            for sign, numbers in signs:
                if sign in line:
                    found = {*(found or ()), *numbers}
        if found:
            line = raw[number]
            there = [literal for literal in found if _BYTES[literal] in line]
            if there:
                yield number, there


def in_a_name(text: str, match: re.Match[str]) -> bool:
    """Whether a find is only a part of a path or of a model's name: `example-org/MemoryError-7B` is no MemoryError."""
    found = match[0]
    if "/" in found or len(found) > 60 or not _INSIDE.fullmatch(found):
        return False
    start, end = match.span()
    before, behind = _NAME_BEFORE.search(text, max(0, start - 200), start), _NAME_BEHIND.match(text, end, end + 200)
    return "/" in ((before[0] if before else "") + (behind[0] if behind else ""))


def matches(text: str, found: list[int]) -> list[tuple[Rule, re.Match[str] | None, str]]:
    """The rules that know this line, with what they found and the text they looked at. A line of noise has none."""
    wanted: dict[int, int] = {}
    for number in found:
        literal, rules = LITERALS[number]
        at = text.find(literal)
        if at >= 0:
            for place in rules:
                wanted[place] = min(at, wanted.get(place, at))
    hits: list[tuple[Rule, re.Match[str] | None, str]] = []
    for number in sorted(wanted):
        rule = RULES[number]
        window = text
        if len(text) > LONG:
            at = wanted[number]
            window = text[max(0, at - WINDOW) : at + WINDOW]
        if rule.but and any(b in window for b in rule.but):
            continue
        match = rule.match.search(window) if rule.match else None
        if rule.pattern and not match:
            continue
        if rule.kind > LineWeight.RESULT and match and in_a_name(window, match):
            continue
        if rule.kind is LineWeight.NOISE:
            return [(rule, match, window)]
        hits.append((rule, match, window))
    return hits
