"""A batch as one HTML page that needs nothing else: no script, no picture, nothing fetched. All foreign text is escaped."""

from __future__ import annotations

import html
import time
from collections.abc import Iterable
from typing import Final

from trnui_runner.batch.batch_file import BatchRow
from trnui_runner.batch.folder import BatchFolder
from trnui_runner.batch.lines import (
    against_words,
    batch_state,
    change_of,
    counts_words,
    outcome_word,
    row_words,
    time_words,
)
from trnui_runner.batch.status import NEWLY_FAILING, NEWLY_PASSING, BatchStatus, RowStatus
from trnui_runner.common.text import ABSENT, one_line, seconds

_STYLE: Final = """
body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem; color: #1b1f24; background: #fff; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.05rem; margin-top: 2rem; }
table { border-collapse: collapse; } th, td { text-align: left; padding: .15rem .8rem .15rem 0; vertical-align: top; }
th { border-bottom: 1px solid #ccd1d6; } td.n { text-align: right; white-space: nowrap; }
.fail { color: #a40e26; font-weight: 600; } .pass { color: #116329; } .weak, .note { color: #6b5900; } .muted { color: #57606a; }
@media (prefers-color-scheme: dark) { body { background: #14171a; color: #e4e8ec; } .fail { color: #ff7b72; } .pass { color: #56d364; }
.weak, .note { color: #e3b341; } .muted { color: #8b949e; } th { border-color: #444c56; } }
"""
_LIMITS: Final = (
    "PASS says that this checkpoint ran with this stack and that its output was checked: on one core token by token against a CPU, "
    "sharded (marked English) only for fluency. It says nothing about speed, price or other settings. Runs shared their host: "
    "their times are not comparable with those of a run alone."
)


def report_html(folder: BatchFolder, status: BatchStatus, now: float) -> str:
    batch = status.batch
    made = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(batch.created))
    marked = {row.device for row in batch.rows} - {"neuron"}
    facts = [
        ("state", f"{batch_state(status, folder.kept())}; {counts_words(status)}"),
        ("against the published rows", against_words(status) or ABSENT),
        ("rows", f"{batch.source} of {batch.dataset}" + (f" at {batch.commit}" if batch.commit else "")),
        (
            "stack",
            ", ".join(
                f"{k} {v}"
                for k, v in batch.stack.items()
                if k in ("neuronx_cc", "torch_neuronx", "torch", "transformers", "python")
            ),
        ),
        ("made", made),
        ("time", time_words(status, now)),
    ]
    facts += [("price", f"${batch.price.per_hour:g} an hour ({batch.price.source})")] if batch.price else []
    facts += [("stopped", status.stopped)] if status.stopped else []
    facts += (
        [("NOT ON TRAINIUM", f"rows ran on {', '.join(sorted(marked))}: they say nothing about Trainium")]
        if marked
        else []
    )
    parts = [
        _head(folder.id),
        f"<h1>Batch {_text(folder.id)}</h1>",
        _facts(facts),
        f"<p class=muted>{_text(_LIMITS)}</p>",
    ]
    changed = {NEWLY_FAILING: "Newly failing", NEWLY_PASSING: "Newly passing"}
    for change, title in changed.items():
        found = [(row, at) for row, at in status.pairs() if change_of(row, at) == change]
        if found:
            parts += [f"<h2>{title} ({len(found)})</h2>", _table(found)]
    parts += [f"<h2>All rows ({len(status.rows)})</h2>", _table(status.pairs()), "</body></html>\n"]
    return "\n".join(parts)


def _head(title: str) -> str:
    policy = "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    return f"<!doctype html><html lang=en><head><meta charset=utf-8>{policy}<title>{_text(title)}</title><style>{_STYLE}</style></head><body>"


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    return (
        "<table>"
        + "".join(f"<tr><th>{_text(name)}</th><td>{_text(words)}</td></tr>" for name, words in facts)
        + "</table>"
    )


def _table(rows: Iterable[tuple[BatchRow, RowStatus]]) -> str:
    heads = ("result", "model", "cores", "published", "checked by", "time", "what", "run")
    lines = ["<table><tr>" + "".join(f"<th>{h}</th>" for h in heads) + "</tr>"]
    lines += [_row(row, at) for row, at in rows]
    return "\n".join([*lines, "</table>"])


def _row(row: BatchRow, at: RowStatus) -> str:
    kind = {"cpu-match": "tokens", "english": "English"}.get(at.kind, "")
    cells = (
        f"<td class={_tone(row, at)}>{_text(outcome_word(row, at))}</td>",
        f"<td>{_text(row.model)}</td>",
        f"<td class=n>{row.cores}</td>",
        f"<td>{_text(row.published or ABSENT)}</td>",
        f"<td>{_text(kind)}</td>",
        f"<td class=n>{_text(seconds(at.wall_s))}</td>",
        f"<td>{_text(row_words(row, at))}</td>",
        f"<td class=muted>{_text(at.run)}</td>",
    )
    return "<tr>" + "".join(cells) + "</tr>"


def _tone(row: BatchRow, at: RowStatus) -> str:
    """A sharded PASS, and one that was not on a Trainium, look weaker than a one-core PASS."""
    if at.outcome == "PASS":
        return "weak" if at.kind == "english" or row.device != "neuron" else "pass"
    return "fail" if at.outcome == "FAIL" else "muted"


def _text(value: object) -> str:
    return html.escape(one_line(value, 600), quote=True)
