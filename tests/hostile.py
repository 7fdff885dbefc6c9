"""Strings that try to be more than text: over a hundred, by kind, and what must not be found in anything that is shown."""

from __future__ import annotations

import unicodedata

PWNED = "PWNED"  # the file that an injected command would make; `:>` needs no program
ESCAPES = [
    "\x1b[31m", "\x1b[2J", "\x1b[H", "\x1b[?1049h", "\x1b[6n", "\x1b[>c", "\x1b]0;title\x07", "\x1b]52;c;cHduZWQ=\x07", "\x1b]52;c;cHduZWQ=\x1b\\",
    "\x1b]8;;http://evil\x1b\\x\x1b]8;;\x1b\\", "\x1bP1$r0m\x1b\\", "\x1b^pm\x1b\\", "\x1b_apc\x1b\\", "\x1bX sos\x1b\\", "\x1b(0", "\x1bc", "\x1b#8", "\x1b",
    "\x9b31m", "\x9d0;t\x9c", "\x90q\x9c", "\x85", "\x00", "\x07", "\x08\x08", "\x0b", "\x0c", "\x0e", "\x0f", "\x7f", "\x1b[\x00 31m", "\x1b\x1b[31m", "\x18\x1b[1m",
]  # fmt: skip
LINES = [
    "\r",
    "\rfake: PASS",
    "\n",
    "\r\n",
    "\n\n# done",
    "\x1e",
    "\x1c",
    "\u2028",
    "\u2029",
    "\t",
    "a\tb\tc",
    "\n\x1b[1A",
]
UNSEEN = [
    "\u202e", "\u202a", "\u2066", "\u2069", "\u200e", "\u061c", "\u200b", "\u2060", "\ufeff", "\u00ad", "\u034f", "\u115f", "\u1160", "\u3164", "\uffa0", "\u206a",
    "\u206f", "\u180e", "\u17b4", "\u2800", "\ufff9", "\ufffe", "\U000e0001", "\U000e0041", "\U0001d173", "\U000e0100",
]  # fmt: skip
MARKS = [
    "o" + "\u0301" * 40,
    "o" + "\u0489" * 30,
    "o" + "\u20dd\u200d" * 30,
    "e" + "\ufe0f" * 20,
    "\u0e33" * 30,
    "x\u1ab0" + "\u1dc0" * 20,
]
MARKUP = [
    "[red]x[/red]",
    "[/]",
    "[bold",
    "[link=http://evil]x",
    "<script>alert(1)</script>",
    "</pre><b>",
    "&lt;",
    "|x|y|",
    "`x`",
    "![x](http://evil)",
    "@someone",
    "*" * 9,
]
SHELL = [
    f"$(:>{PWNED})", f"`:>{PWNED}`", f";:>{PWNED};", f"&&:>{PWNED}", f"'; :>{PWNED}; '", f'"; :>{PWNED}; "', f"\n:>{PWNED}\n", f"\r:>{PWNED}\r", f"|:>{PWNED}", f"&:>{PWNED}&",
    f"a\x1b[';:>{PWNED};'", f"\x1b]';:>{PWNED};'\x07", f"\t'\n:>{PWNED}\n'", f"\t\\';:>{PWNED};'", f"$'\\n:>{PWNED}\\n'", f">{PWNED}", f"<(:>{PWNED})", f"${{x:=$(:>{PWNED})}}",
    f"#\n:>{PWNED}", "--help", "-o/etc/passwd", "*", "~root", "!!", "%s%n", "\\",
]  # fmt: skip
OTHER = [
    "../../../../etc/passwd",
    "C:\\x",
    "'; DROP TABLE r; --",
    "\ud800",
    "x" * 3000,
    "\U0001f9d1\u200d\U0001f680",
    "=1+1",
    "NaN",
    "",
    " ",
    "\u00e9\u4e2d\u6587",
]
HOSTILE = (*ESCAPES, *LINES, *UNSEEN, *MARKS, *MARKUP, *SHELL, *OTHER)
_INVISIBLE = frozenset("".join(UNSEEN))


def found_in(data: bytes, *, tabs: bool = True) -> list[str]:
    """What of this output a terminal would obey or hide, each with what stands before it."""
    text = data.decode("utf-8")
    allowed = "\n\t" if tabs else "\n"
    bad = [
        n
        for n, c in enumerate(text)
        if c in _INVISIBLE or (c not in allowed and unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp"))
    ]
    stacked, run = [], 0
    for n, c in enumerate(text):
        run = run + 1 if unicodedata.category(c) in ("Mn", "Me") else run if unicodedata.category(c) == "Cf" else 0
        if run == 5:
            stacked.append(n)
    return [f"U+{ord(text[n]):04X} after {text[max(0, n - 40) : n]!r}" for n in (*bad, *stacked)]


def packed(prefix: str, number: int, each: int = 10) -> str:
    """`each` of the strings in one value."""
    return prefix + "".join(
        f"{chr(97 + k)}{text}" for k, text in enumerate(HOSTILE[number * each : (number + 1) * each])
    )


PACKS = -(-len(HOSTILE) // 10)
