"""Source code and Markdown as spans in styles, line by line when it is drawn: a 250 kB script opens at once."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trnui.tui.widgets.styled_lines import Line, Span
from trnui.tui.widgets.text_view import Paint

_TOKENS = (
    ("Comment", "muted"), ("Literal.String.Doc", "muted"), ("Literal.String", "good-plain"), ("Literal.Number", "warn"),
    ("Keyword", "accent"), ("Name.Builtin", "accent"), ("Name.Decorator", "warn"), ("Name.Function", "strong"), ("Name.Class", "strong"),
)  # fmt: skip
MOST = 400_000  # characters that are highlighted; beyond it code is plain


def python_paint(text: str) -> Paint:
    """Highlights Python. Pygments is imported, and the text read, when the first line is drawn; cells stay as they are."""
    found: list[tuple[Span, ...]] = []

    def paint(number: int, line: str) -> tuple[Span, ...]:
        if not found and len(text) <= MOST:
            found.extend(_python(text))
        spans = found[number] if number < len(found) else ()
        return spans if "".join(t for t, _ in spans) == line else ((line, "plain"),)

    return paint


def _python(text: str) -> list[tuple[Span, ...]]:
    from pygments.lexers.python import PythonLexer

    lines: list[list[Span]] = [[]]
    for token, value in PythonLexer(stripnl=False, ensurenl=False).get_tokens(text):
        style = _style(str(token))
        for n, piece in enumerate(value.split("\n")):
            if n:
                lines.append([])
            if piece:
                lines[-1].append((piece, style))
    return [tuple(line) or (("", "plain"),) for line in lines]


def _style(token: str) -> str:
    name = token.removeprefix("Token.")
    for prefix, style in _TOKENS:
        if name.startswith(prefix):
            return {"good-plain": "weak"}.get(style, style)
    return "plain"


_INLINE = re.compile(r"(`[^`]+`|\*\*[^*]+\*\*)")


def markdown_lines(text: str) -> list[Line]:
    """A card as it is written, with headings, code and emphasis in styles; no markup is hidden or followed."""
    lines: list[Line] = []
    fenced = front = False
    for n, line in enumerate(text.split("\n")):
        if n == 0 and line.strip() == "---":
            front = True
        elif front and line.strip() == "---":
            front = False
            lines.append(((line, "muted"),))
            continue
        if line.lstrip().startswith("```"):
            fenced = not fenced
            lines.append(((line, "muted"),))
        elif front:
            lines.append(((line, "muted"),))
        elif fenced:
            lines.append(((line, "weak"),))
        elif line.startswith("#"):
            lines.append(((line, "strong"),))
        else:
            lines.append(_inline(line))
    return lines


def _inline(line: str) -> Line:
    pieces: Sequence[str] = _INLINE.split(line)
    if len(pieces) == 1:
        return line
    found = [(p, "accent" if p.startswith("`") else "strong" if p.startswith("**") else "plain") for p in pieces if p]
    return tuple(found)
