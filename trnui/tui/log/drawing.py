"""What the rows of a log view and its last line look like. Pure: a row, or where the view stands, in; spans out."""

from __future__ import annotations

from dataclasses import dataclass

from trnui.tui.log.search import ERROR, WARNING, Search
from trnui.tui.log.window import Row
from trnui.tui.widgets.styled_lines import Span
from trnui_runner.common.text import cells, fit, size, thousands


@dataclass(frozen=True)
class Standing:
    """Where a log view stands. `line`: number of the last visible line, None where it is not known or the end is in sight;
    `fresh`: lines that came since following ended; `counted` of `bytes` have been looked at; `typing`: a search being typed."""

    lines: int
    bytes: int
    counted: int
    ends: bool  # is a log that grows or grew, not any text
    following: bool
    complete: bool
    at_end: bool
    line: int | None
    fresh: int
    needle: str = ""
    hits: str = ""
    typing: str | None = None
    selected: int | None = None  # lines; 0 where their number is not known yet
    only_matching: bool = False
    wrap: bool = False
    side: int = 0
    problem: str = ""


def status_line(s: Standing) -> tuple[Span, ...]:
    if s.typing is not None:
        return ((f"/{s.typing}▏", "strong"), (f"  {s.hits}   Enter keeps, Esc drops", "muted"))
    if s.selected is not None:
        words = f"{thousands(s.selected or None)} line{'s' * (s.selected != 1)} selected"
        return ((words, "strong"), ("   j k move, y copies, Esc ends", "muted"))
    if s.problem:
        return ((s.problem, "bad"),)
    parts: list[Span] = [*_following(s)]

    def add(words: str, style: str = "muted") -> None:
        parts.append((f" · {words}" if parts else words, style))

    total = thousands(s.lines)
    add(f"{total} lines" if s.at_end else f"line {thousands(s.line)} of {total}")
    if s.counted < s.bytes:
        add(f"counting, {size(s.counted)} of {size(s.bytes)}")
    if s.needle:
        add(f"/{s.needle} {s.hits}", "accent")
    if s.only_matching and s.needle:
        add("only matching lines, & shows all", "warn")
    if s.wrap:
        add("wrapped")
    elif s.side:
        add(f"from column {s.side + 1}")
    return tuple(parts)


def _following(s: Standing) -> tuple[Span, ...]:
    if not s.ends or (s.complete and not s.following):
        return ()  # nothing will come: where one is says all
    if s.following:
        return (("end of the log", "muted") if s.complete else ("following", "accent"),)
    fresh = f"{thousands(s.fresh)} new line{'s' * (s.fresh != 1)} · " if s.fresh else ""
    return ((f"not following · {fresh}f follows", "warn"),)


def hits_words(search: Search | None, hit: int | None) -> str:
    """`3 of 17 lines`; how far it has searched while it goes on. `hit`: where the one lies that the view is at."""
    if search is None:
        return ""
    words = f"{thousands(search.total)} line{'s' * (search.total != 1)}"
    if hit is not None and search.total:
        words = f"{thousands(search.number_of(hit) + 1)} of {words}"
    return words if search.share >= 1 else f"{words}, {search.share:.0%} searched"


def row_spans(row: Row, width: int, *, wrap: bool, side: int, selected: bool, sought: str) -> tuple[Span, ...]:
    """Errors and warnings in their colour, what is searched for standing out, what is cut with an ellipsis."""
    text = row.text
    if not wrap:
        text = text[side:] if side else text
        more = row.cut or cells(text) > width
        text = fit(text, width) if more else text
        if row.cut and cells(text.rstrip()) < width:
            text = text.rstrip() + "…"
    if selected:
        return ((text or " ", "cursor"),)
    raw = row.text.encode("utf-8", "replace")
    style = "bad" if ERROR.search(raw) else "warn" if WARNING.search(raw) else "plain"
    return marked(text, style, sought)


def marked(text: str, style: str, sought: str) -> tuple[Span, ...]:
    """The text with what is searched for standing out; a capital letter in it makes case count."""
    if not sought:
        return ((text or " ", style),)
    hay = text if sought != sought.lower() else text.lower()
    if len(hay) != len(text):  # lower-casing changed the length: places would not fit
        return ((text or " ", style),)
    spans: list[Span] = []
    done, at = 0, hay.find(sought)
    while at >= 0:
        if at > done:
            spans.append((text[done:at], style))
        spans.append((text[at : at + len(sought)], "hit"))
        done = at + len(sought)
        at = hay.find(sought, done)
    if done < len(text) or not spans:
        spans.append((text[done:] or " ", style))
    return tuple(spans)


def width_of(spans: tuple[Span, ...]) -> int:
    return sum(cells(text) for text, _ in spans)
