"""The texts of a model page's tabs as lines in styles. Pure: a row in full, this host's stack and a diagnosis in, lines out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from trnui.catalog.messages import Detail
from trnui.tui.explore.row_lines import LABELS
from trnui.tui.widgets.styled_lines import Line
from trnui_runner.common.dataset_schema import COLUMNS, LONG
from trnui_runner.common.text import ABSENT, clean, one_line, shown
from trnui_runner.host.stack import IN_ORDER

WIDTH = 16


def _field(name: str, value: str, style: str = "plain") -> Line:
    return ((f" {name:{WIDTH}} ", "muted"), (value, style))


def row_lines(detail: Detail) -> list[Line]:
    """Every column under the dataset's own name, then the file's unknown ones, then what we read from them."""
    lines: list[Line] = []
    for name, value in detail.values.items():
        if name in LONG:
            size = len(str(value or ""))
            lines.append(
                _field(name, f"{size:,} characters: see its tab" if size else ABSENT, "muted" if size else "plain")
            )
        else:
            text = clean(value).split("\n") if value is not None else [ABSENT]
            lines.append(_field(name if name in COLUMNS else f"{name} *", text[0] or ABSENT))
            lines += [_field("", t) for t in text[1:]]
    if any(name not in COLUMNS for name in detail.values):
        lines += ["", ((" * a column that is none of the dataset's 24", "muted"),)]
    lines += ["", ((" read from the row", "strong"),)]
    lines += [_field(name, shown(value)) for name, value in detail.derived.items() if name not in ("path",)]
    return lines


def stack_lines(
    values: Mapping[str, object], differences: Sequence[object], words: str, problems: Iterable[str]
) -> list[Line]:
    """The row's stack beside this host's; what differs is marked by a word and a colour."""
    from trnui_runner.host.stack import Difference

    found = [d for d in differences if isinstance(d, Difference)]
    row, here = (
        max([len(title), *(len(one_line(getattr(d, which)) or ABSENT) for d in found)]) + 1
        for which, title in (("row", "the row"), ("here", "this host"))
    )
    lines: list[Line] = [((f" {'':{WIDTH}} {'the row':{row}} {'this host':{here}}", "muted"),)]
    for d in found:
        mark = {"same": "", "differs": "differs", "missing": "missing here", "not in the row": "not in the row"}[
            d.state
        ]
        style = {"differs": "warn", "missing": "bad"}.get(d.state, "muted")
        name = LABELS.get(d.package, d.package)
        lines.append(
            (
                (f" {name:{WIDTH}} ", "muted"),
                (f"{one_line(d.row) or ABSENT:{row}} ", "plain"),
                (f"{one_line(d.here) or ABSENT:{here}} ", "plain" if d.state == "same" else style),
                (f"{mark}{f' ({d.note})' if d.note else ''}", style),
            )
        )
    library = values.get("library")
    lines += ["", _field("library", f"{shown(library)} {shown(values.get('library_version'))}")]
    lines += ["", ((f" this host: {one_line(words)}", "muted"),)]
    lines += [((f" {one_line(p)}", "warn"),) for p in problems]
    return lines


def waiting_stack_lines(values: Mapping[str, object]) -> list[Line]:
    """Until the host has answered."""
    return [
        ((f" {'':{WIDTH}} {'the row':28} asking this host…", "muted"),),
        *(_field(LABELS.get(n, n), shown(values.get(n))) for n in IN_ORDER),
    ]


def package_lines(packages: Iterable[tuple[str, str, bool]], install: str, none: str) -> list[Line]:
    """Requirement, origin, whether beyond the stack; then one command for all of them."""
    found = list(packages)
    lines: list[Line] = [((" beside the stack", "strong"),)]
    extras = [(r, o) for r, o, extra in found if extra]
    lines += [((f" {one_line(r):40} ", "plain"), (one_line(o), "muted")) for r, o in extras] or [
        ((f" {none}", "muted"),)
    ]
    lines += ["", ((" the stack", "strong"),)]
    lines += [((f" {one_line(r):40} ", "plain"), (one_line(o), "muted")) for r, o, extra in found if not extra]
    if install:
        lines += ["", ((" all of it, as one command (y p copies it)", "strong"),), f" {one_line(install, 4000)}"]
    return lines


def error_lines(error: str, diagnosis: object | None) -> list[Line]:
    """What it means first, then the text as it stands, safe and whole."""
    from trnui_runner.diagnosis import Diagnosis

    lines: list[Line] = []
    if isinstance(diagnosis, Diagnosis):
        lines.append(((f" {one_line(diagnosis.summary)}", "strong"),))
        lines.append(((f" {diagnosis.cls} · {diagnosis.severity}", "muted"),))
        if diagnosis.hint:
            lines += [((f" {line}", "accent"),) for line in clean(diagnosis.hint).split("\n")]
        lines += [((f" > {one_line(e, 300)}", "muted"),) for e in diagnosis.evidence[:3]]
        lines.append("")
    lines += [f" {line}" for line in clean(error).split("\n")]
    return lines
