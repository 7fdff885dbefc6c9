"""A row in full as lines of text in styles: for the pane beside the list and the model's page. Pure: values in, lines out."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from trnui.catalog.column_formats import checked, day, number, result_word
from trnui.catalog.messages import Detail, Record
from trnui.tui.widgets.columns import result_style
from trnui.tui.widgets.styled_lines import Line, Span
from trnui_runner.common.dataset_schema import NOT_SAID, STACK, Device, Kind, Status
from trnui_runner.common.text import ABSENT, clean, one_line, shown

LABEL = 13  # cells of a label
LABELS = {
    "neuronx_cc": "neuronx-cc", "library_version": "library", "transformers": "transformers", "accelerate": "accelerate",
    "torch_neuronx": "torch-neuronx", "torch": "torch", "nki": "nki", "python": "python", "neuron_driver": "neuron driver",
}  # fmt: skip


def field(label: str, value: str, style: str = "plain") -> Line:
    return ((f"{label:{LABEL}} ", "muted"), (value, style))


def wrapped(text: str, width: int, style: str = "plain", most: int = 12) -> list[Line]:
    """Lines of at most `width` cells; what is beyond `most` lines is named, not dropped silently."""
    found: list[str] = []
    for line in clean(text[: width * most * 4]).splitlines() or [""]:
        found += textwrap.wrap(line, width, break_on_hyphens=False) or [""]
        if len(found) > most:
            break
    lines: list[Line] = [((line, style),) for line in found[:most]]
    if len(found) > most or len(text) > width * most * 4:
        lines.append((("… more on the model's page", "muted"),))
    return lines


def not_said(record: Record) -> str | None:
    """What a PASS of this kind does not say; None for what is no PASS."""
    if record.get("status") != Status.PASS:
        return None
    kind = str(record.get("kind") or "")
    words = NOT_SAID[Kind(kind) if kind in Kind._value2member_map_ else None]
    if record.get("device") not in (None, "", Device.NEURON):
        words = f"On {'a CPU' if record.get('device') == Device.CPU else 'a stand-in'}, not on Trainium. {words}"
    return words


def verdict(record: Record) -> tuple[tuple[Span, Span]]:
    """Result with kind and device; cores, time and memory on the second line, named for what they are."""
    how = {"tokens": "tokens equal a CPU run's", "English": "fluent English, no more"}.get(checked(record), "")
    cores = record.get("tp")
    where = f"{number('tp')(record)} core{'s' * (cores != 1)}" if cores is not None else ""
    parts = " · ".join(p for p in (how, where) if p)
    return (((result_word(record), result_style(record)), (f"  {parts}" if parts else "", "plain")),)


def record_lines(record: Record) -> list[Line]:
    """What the list knows of a row, until the whole of it is fetched. The verdict takes two lines, for a narrow pane."""
    word, (rest, style) = verdict(record)[0]
    return [((shown(record.get("model_id")), "strong"),), "", (word,), *([((rest.strip(), style),)] if rest else [])]


def figures(record: Record) -> list[Line]:
    capacity = record.get("hbm_capacity_gb")
    of = f" of {capacity:,.1f} GB" if isinstance(capacity, int | float) else ""
    return [
        field("wall time", f"{number('wall_s', ' s')(record)} incl. compilation"),
        field("peak memory", f"{number('hbm_peak_gb', ' GB', 1)(record)}{of} on device"),
        *([field("other stacks", shown(record["elsewhere"]))] if record.get("elsewhere") else []),
        field("task", shown(record.get("task"))),
        field("tested", day("tested_at")(record)),
    ]


def page_head(record: Record, width: int) -> tuple[list[Line], list[str]]:
    """The head of a model's page: verdict and figures, then what a PASS does not say or why there is none, three lines at most."""
    words = [
        f"{number('wall_s', ' s')(record)} incl. compilation",
        f"peak {number('hbm_peak_gb', ' GB', 1)(record)} on device",
        f"tested {day('tested_at')(record)}",
    ]
    if width >= 110:
        words += [
            f"neuronx-cc {shown(record.get('neuronx_cc')).partition('+')[0]}",
            f"{shown(record.get('library'))} {shown(record.get('library_version'))}",
        ]
    reason = record.get("reason")
    said = not_said(record) or (f"Why: {shown(reason)}" if reason else "")
    head: list[Line] = [((" ", "plain"), *verdict(record)[0]), ((" " + " · ".join(words), "plain"),)]
    return head, [f" {line}" for line in textwrap.wrap(said, max(40, width - 2))[:3]]


def detail_lines(detail: Detail, width: int) -> list[Line]:
    """The pane: result, what it does not say, figures, why, stack, packages."""
    record: Mapping[str, object] = {**detail.values, **detail.derived}
    lines = record_lines(record)
    said = not_said(record)
    if said:
        lines += ["", *wrapped(said, width, "muted", 6)]
    lines += ["", *figures(record)]
    for name, style in (("exclusion", "warn"), ("error", "bad"), ("notes", "plain")):
        value = detail.values.get(name)
        if value:
            lines += ["", ((name, "muted"),), *wrapped(str(value), width, style, 8 if name == "error" else 4)]
    lines += ["", (("stack", "strong"),)]
    lines += [field(LABELS[n], stack_value(detail.values, n)) for n in STACK]
    lines += ["", (("install beside the stack", "strong"),)]
    extras = [p for p, origin in detail.packages if not origin.startswith("column")]
    lines += [((one_line(p), "plain"),) for p in extras[:8]] or [(("the dataset names none", "muted"),)]
    return lines


def stack_value(values: Mapping[str, object], name: str) -> str:
    if name == "library_version":
        return f"{shown(values.get('library'))} {shown(values.get(name))}"
    return shown(values.get(name)) or ABSENT
