"""What a text looks like without a language model: loops, code, another language, broken characters, too few words.

It cannot see whether the words stand in an order that makes sense: that is what the likelihood is for. Standard library
only, Python 3.10 (the run's interpreter executes it).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, dataclass
from itertools import groupby, pairwise
from typing import Any, Literal

Kind = Literal["", "broken", "loop", "code", "foreign", "short", "sparse", "odd"]
MIN_WORDS = 6  # fewer cannot be judged
MIN_COMMON = 0.12  # of the words; technical English falls to 0.15
MAX_ODD = 0.1  # of the characters: neither letters, digits, space nor the punctuation of prose, Markdown and formulas
MIN_DISTINCT_WORDS, MIN_DISTINCT_TRIPLES, LONG = 0.45, 0.5, 12  # of a text of LONG words or more
MAX_RUN = 3  # times one word in a row: "oh, oh, oh" is a song
MAX_STUTTER = 0.15  # of the words equal the one before
MAX_CODE = 0.3  # of the characters stand in lines of code
MAX_SYMBOLS = 0.5  # of what stands between blanks are names and operators of a programming language
MAX_FOREIGN = 0.15  # of the words, or of the letters
SENTENCE = 0.25  # of a line's words are common ones where it is a sentence

COMMON = frozenset(
    """
    the be to of and a in that have i it for not on with he as you do at this but his by from they we say her she or an will
    my one all would there their what so up out if about who get which go me when make can like time no just him know take
    people into year your good some could them see other than then now look only come its over think also back after use two
    how our work first well way even new want because any these give day most us is are was were has had been more very
    i'm don't it's can't didn't doesn't i've you're isn't that's may must should each every both such same between under
    where while until before through where's why again here down off too own those did does being am more many much
    """.split()  # noqa: SIM905
)
# Words of other languages in Latin letters. Those that are English words too say nothing either way.
FOREIGN = frozenset(
    """
    der die das und ist nicht ein eine einen einem einer zu den dem des von mit sich auf für wie auch aus bei nach wird sind oder
    wenn nur noch aber kann ich er sie es wir ihr daß dass im zum zur über durch keine sein ihre in an so was war will hat man am
    le la les du une et est que qui dans pour pas sur avec ce cette il elle au aux sont vous nous votre ou mais comme me on
    el los las del por para con una no como más pero sus este esta está lo se al su y o un a
    di che non per della gli sono alla nel più anche questo questa e ma come i si da dei delle ha
    het een van ik je niet dat op te zijn voor met aan er ook maar deze dit wordt naar bij is of om uit geen wel we door
    och att det som är på av inte med till har ett jag vi de du kan den så fra og ikke til jeg at vil
    não uma os as com dos na ao seu sua você mais foi um do em
    nie się jest że jak tak ale przez w z nebo jsem byl ve pro
    bir ve bu için ile olarak ja ei että hän se on ovat mutta egy az és hogy van nem yang dan ini itu untuk dengan
    """.split()  # noqa: SIM905
)
_BOTH = FOREIGN & COMMON
_PROSE = frozenset(" \t\n.,'’‘\"“”!?;:-–—()[]{}*_`#/&%+=<>|~$@^\\…•°£€×→")
_WORDS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
# Lines that are code whatever else is in them, and lines that are unless they read like a sentence.
_CODE_START = re.compile(
    r"""\s*(?:
        (?:async\s+)?def\s+\w+\s*\( | class\s+\w+\s*[(:{<] | (?:from\s+[\w.]+\s+)?import\s+[\w.*,{} ]+(?:\s+as\s+\w+)?;?\s*$
      | \#\s*(?:include|define|if|ifdef|ifndef|endif|else|pragma)\b | (?:const|let|var|auto)\s+\w+\s*= | template\s*<
      | (?:try|finally|else)\s*[:{]\s*$ | @\w[\w.]*(?:\(.*)?$ | (?:self|this)\.\w+ | // | /\* | \*/ | \"{3} | '{3} | >>>\s | \$\s
    )""",
    re.VERBOSE,
)
_CODE_LINE = re.compile(
    r"""\s*(?:
        return\b(?:\s*$|\s+[\w\[({"'-].{0,60}$) | (?:el)?if\s.*:\s*$ | else\s*\{.* | for\s+[\w, ()]+\s+in\s.*:\s*$ | for\s*\(.*;.*
      | while\s.*:\s*$ | (?:if|while|switch|catch)\s*\(.*\)?\s*\{?\s*$ | except\b.*:\s*$ | with\s.*:\s*$ | raise\s+\w+.*
      | assert\s.* | yield\s.* | print\s*\(.* | [\w.\[\]"']+(?:\s*:\s*[\w.\[\], |]+)?\s*(?:[-+*/|&]?=)\s*\S.*
      | (?:static|struct|enum|typedef|namespace|using|extern|inline|public|private|protected|void|int|char|bool|double|float
         |unsigned|function|fn|func|impl|package)\b.*[({;=<].*
      | .*[{};]\s*$ | [)\]}]+[;,:]?\s*$ | .*\"{3}\s*$ | <\/?\w+[^>]*>.* | (?:SELECT|INSERT|UPDATE|CREATE)\s.* | [\w.]+\([^)]*\)\s*;?\s*$
    )""",
    re.VERBOSE,
)
_SYMBOL = re.compile(r"[A-Za-z]_\w|::|->|[=;{}<>]|\w[(\[]|[)\]][,:;)]|^[(){}\[\]]+$|\w\.\w+\(|^&$")
_CODE_PROMPT = re.compile(
    r"\s*(?:(?:async\s+)?def\s+\w+\s*\(|class\s+\w+.*:\s*$|template\s*<|struct\s+\w+|\#include|/\*|//|\"{3})"
)


@dataclass(frozen=True)
class Surface:
    """`kind`: what is the matter, the gravest first; empty when nothing is. `wrong`: in words."""

    kind: Kind
    wrong: tuple[str, ...]
    words: int
    common: float  # share of the words
    distinct: float  # different words / words
    odd: float  # share of the characters
    code: float  # share of the characters
    foreign: float  # share of the words, or of the letters that are no Latin ones

    @property
    def ok(self) -> bool:
        return not self.kind

    def to_json(self) -> dict[str, Any]:
        return {"ok": self.ok, **asdict(self), "wrong": list(self.wrong)}


def surface(text: str, prompt: str = "") -> Surface:
    """`prompt`: what the text continues; code there makes code of what follows."""
    text = text.strip("\ufffd")  # a character that the prompt began, or that the last token did not complete
    words = [w.lower().replace("’", "'") for w in _WORDS.findall(text)]
    count = max(1, len(words))
    common = sum(w in COMMON for w in words) / count
    distinct = len(set(words)) / count
    odd = sum(not (c.isalnum() or c in _PROSE) for c in text) / max(1, len(text))
    code, foreign = code_share(text, prompt), max(foreign_words(words), foreign_letters(text))
    found: list[tuple[Kind, str]] = []
    if "\ufffd" in text or any(c < " " and c not in "\t\n\r\f\x1b" for c in text):
        found.append(("broken", "broken characters"))
    loop = loop_in(text, words)
    if loop:
        found.append(("loop", loop))
    if foreign > MAX_FOREIGN:
        found.append(("foreign", f"{foreign:.0%} of it is not English"))
    if code > MAX_CODE:
        found.append(("code", f"{code:.0%} of it is code"))
    if len(words) < MIN_WORDS:
        found.append(("short", f"{len(words)} words"))
    elif common < MIN_COMMON:
        found.append(("sparse", f"only {common:.0%} common words"))
    if odd > MAX_ODD:
        found.append(("odd", f"{odd:.0%} odd characters"))
    kind = found[0][0] if found else ""
    return Surface(kind, tuple(words_for for _, words_for in found), len(words),
                   *(round(share, 2) for share in (common, distinct, odd, code, foreign)))  # fmt: skip


def loop_in(text: str, words: list[str]) -> str:
    """Which loop the text is caught in, in words; empty for none."""
    unit = tail_loop(text)
    if unit:
        return f"it ends with {unit[:30]!r} again and again"
    word, run = max(((w, len(list(same))) for w, same in groupby(words)), key=lambda one: one[1], default=("", 0))
    if run > MAX_RUN:
        return f"{word!r} {run} times in a row"
    if len(words) < LONG:
        return ""
    triples = list(zip(words, words[1:], words[2:]))  # noqa: B905  same length is not wanted; Python 3.10
    stutter = sum(a == b for a, b in pairwise(words)) / len(words)
    few = len(set(words)) / len(words) < MIN_DISTINCT_WORDS or len(set(triples)) / len(triples) <= MIN_DISTINCT_TRIPLES
    return "the same words again and again" if few or stutter > MAX_STUTTER else ""


def tail_loop(text: str) -> str:
    """The unit that the text ends with four times or more (a long one three times); empty for none.

    A last, incomplete repetition does not hide it. Blanks count from 12 on, line ends from 6: an indentation is no loop.
    """
    for period in range(1, min(80, len(text) // 3) + 1):
        same = 0
        while same + period < len(text) and text[-1 - same] == text[-1 - same - period]:
            same += 1
        length, unit = same + period, text[-period:]
        if length < period * (4 if period < 20 else 3) or length < 6:
            continue
        if unit.isspace() and length < 12 and text[-length:].count("\n") < 6:
            continue
        return unit
    return ""


def code_share(text: str, prompt: str = "") -> float:
    """Share of the characters in lines that look like code, or that stand in a fence, a docstring or a block comment."""
    lines = [line for line in text.splitlines() if line.strip()]
    total = sum(len(line.strip()) for line in lines)
    if not total:
        return 0.0
    inside, found = opens_code(prompt), 0
    for line in lines:
        fence = line.lstrip().startswith("```")
        if fence:
            inside = not inside
        if line.lstrip().startswith("/*"):
            inside = True
        if not fence and (inside or is_code(line)):
            found += len(line.strip())
        if line.count('"""') % 2:
            inside = not inside
        if "*/" in line:
            inside = False
    pieces = [piece for piece in text.split() if not piece.startswith(("`", "http", "[", ":"))]
    symbols = sum(_SYMBOL.search(piece) is not None for piece in pieces) / max(1, len(pieces))
    return max(found / total, symbols if symbols > MAX_SYMBOLS and len(pieces) > 2 else 0.0)


def is_code(line: str) -> bool:
    if _CODE_START.match(line):
        return True
    words = _WORDS.findall(line.lower())
    sentence = len(words) >= LONG and sum(w in COMMON for w in words) >= SENTENCE * len(words)
    return not sentence and _CODE_LINE.match(line) is not None


def opens_code(prompt: str) -> bool:
    """Whether the last lines of a prompt are code, so that what follows is its continuation."""
    return any(_CODE_PROMPT.match(line) for line in [line for line in prompt.splitlines() if line.strip()][-3:])


def foreign_words(words: list[str]) -> float:
    """Share of words of other languages in Latin letters, where they outnumber the English ones."""
    counts = Counter(
        "" if w in _BOTH else "foreign" if w in FOREIGN or not w.isascii() else "common" if w in COMMON else ""
        for w in words
    )
    return counts["foreign"] / max(1, len(words)) if counts["foreign"] >= counts["common"] else 0.0


def foreign_letters(text: str) -> float:
    """Share of letters beyond Latin: Greek, Cyrillic, Han, …"""
    letters = [c for c in text if c.isalpha()]
    return sum(c > "\u024f" for c in letters) / max(1, len(letters))
