"""One self-contained HTML page: no script, nothing fetched, no link. Every text goes through `text`, so none of it is markup.

Markup is of the type Html; a plain str handed to `element` is foreign text and is cleaned and escaped.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from trnui_runner.common.text import ABSENT, clean

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
FEW: Final = 3  # columns that stay a table on a narrow screen
LONGEST: Final = 20_000  # characters of one text; an error may have 200,000
_NAME: Final = re.compile(r"[a-z][a-z0-9-]*")
_VOID: Final = ("meta", "br", "hr")
_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --muted: #57606a; --line: #d0d7de; --pass: #116329; --weak: #6b5900;
 --fail: #a40e26; --code: #f6f8fa; --bar: #4477aa; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --paper: #14171a; --muted: #8b949e; --line: #444c56; --pass: #56d364;
 --weak: #e3b341; --fail: #ff7b72; --code: #1f2428; --bar: #79b8ff; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 90rem; padding: 1rem; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.35rem; } h2 { font-size: 1.1rem; margin-top: 2rem; } h3 { font-size: 1rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .92em; }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; vertical-align: top; border-bottom: 1px solid var(--line); overflow-wrap: break-word; }
th { white-space: nowrap; } td.long { min-width: 11rem; overflow-wrap: anywhere; } td.name { min-width: 8rem; } .n { text-align: right; white-space: nowrap; }
pre { background: var(--code); padding: .7rem; font-size: .85em; white-space: pre-wrap; overflow-wrap: anywhere; }
li, p { overflow-wrap: anywhere; } code { background: var(--code); }
.pass { color: var(--pass); font-weight: 600; } .weak { color: var(--weak); font-weight: 600; } .fail { color: var(--fail); font-weight: 600; }
.muted { color: var(--muted); } .bar { color: var(--bar); white-space: pre; font-family: ui-monospace, monospace; }
.warn { border-left: .3rem solid var(--weak); padding-left: .7rem; }
@media (max-width: 45rem) { table.cards, table.cards tbody { display: block; } table.cards thead { display: none; }
 table.cards tr { display: block; border-bottom: 1px solid var(--line); padding: .5rem 0; }
 table.cards td { display: grid; grid-template-columns: 7.5rem minmax(0, 1fr); gap: .6rem; border: 0; padding: 0; text-align: left;
  white-space: normal; overflow-wrap: anywhere; } table.cards td::before { content: attr(data-column); color: var(--muted); } }
@media print { body { max-width: none; } }
"""


class Html(str):
    """Markup that this module made."""

    __slots__ = ()


def text(value: object) -> Html:
    """Foreign text as what it says: control and bidi characters left out, markup escaped; absent is a dash."""
    written = "" if value is None else clean(str(value)[:LONGEST])
    return Html(html.escape(written or ABSENT, quote=True))


def element(name: str, *children: str, cls: str = "", **attributes: str) -> Html:
    """Children that are no Html are text. Raises ValueError for a name that is none."""
    named = {
        **({"class": cls} if cls else {}),
        **{key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()},
    }
    for word in (name, *named):
        if not _NAME.fullmatch(word):
            raise ValueError(word)
    head = "".join(f' {key}="{text(value)}"' for key, value in named.items())
    if name in _VOID:
        return Html(f"<{name}{head}>")
    inside = "".join(c if isinstance(c, Html) else text(c) for c in children)
    return Html(f"<{name}{head}>{inside}</{name}>")


def joined(parts: Iterable[Html]) -> Html:
    return Html("\n".join(parts))


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    shown: Callable[[str, object], str] = lambda _, value: ABSENT if value is None else str(value),
    tone: Callable[[str, Sequence[object]], str] = lambda _column, _row: "",
) -> Html:
    """Rows under their column names; on a narrow screen each row of many columns is a card, a column's name before its value.

    `shown`: a value of a column as text. `tone`: the class of a column's cell in a row. Figures stand at the right.
    """
    body = []
    numeric: set[int] | None = None
    for row in rows:
        kinds = {n for n, value in enumerate(row) if isinstance(value, int | float) and not isinstance(value, bool)}
        absent = {n for n, value in enumerate(row) if value is None}
        numeric = kinds | absent if numeric is None else numeric & (kinds | absent)
        body.append(row)
    right = numeric or set()
    head = element("tr", *(element("th", name, cls="n" if n in right else "") for n, name in enumerate(columns)))
    lines = []
    for row in body:
        cells = []
        for n, (name, value) in enumerate(zip(columns, row, strict=True)):
            words = value if isinstance(value, Html) else shown(name, value)
            size = "n" if n in right else "long" if len(words) > 60 else "name" if len(words) > 20 else ""
            classes = " ".join(c for c in (size, tone(name, row)) if c)
            cells.append(element("td", element("span", words), cls=classes, data_column=name))
        lines.append(element("tr", *cells))
    whole = element(
        "table", element("thead", head), element("tbody", joined(lines)), cls="cards" if len(columns) > FEW else ""
    )
    return element("div", whole, cls="wide")


def facts(pairs: Iterable[tuple[str, object]]) -> Html:
    """Names and what they are, one a line."""
    rows = [element("tr", element("th", name), element("td", text(value))) for name, value in pairs]
    return element("div", element("table", joined(rows)), cls="wide")


def page(title: str, body: Iterable[Html], foot: str = "") -> str:
    """The whole file. `foot` is one line of text at its end."""
    head = joined(
        (
            element("meta", charset="utf-8"),
            element("meta", http_equiv="Content-Security-Policy", content=POLICY),
            element("meta", name_="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name_="referrer", content="no-referrer"),
            element("title", title),
            element("style", Html(_STYLE)),
        )
    )
    last = [element("p", foot, cls="muted")] if foot else []
    inside = element("body", joined([element("h1", title), *body, *last]))
    return f"<!doctype html>\n{element('html', element('head', head), inside, lang='en')}\n"
