"""What came out of a run, against the published row: the verdict card's lines. Pure: values in, lines out.

Times and memory stand side by side and are not judged; a run that was not on a Trainium says so in its first line.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from trnui.tui.run.lines.memory import peaks_words
from trnui.tui.run.lines.stages import cache_words
from trnui.tui.widgets.styled_lines import Line, Span
from trnui_runner.common.dataset_schema import NOT_SAID, Kind
from trnui_runner.common.text import ABSENT, clean, fit, one_line, seconds
from trnui_runner.run_folder.folder import Result
from trnui_runner.run_folder.recipe import Recipe

DEVICES = {"cpu": "CPU", "stand-in": "STAND-IN", "neuron": "Trainium"}
STYLES = {"PASS": "good", "FAIL": "bad", "UNCHECKED": "warn", "CANCELLED": "muted", "TIMEOUT": "bad", "LOST": "bad"}
KINDS = {
    "cpu-match": "the tokens against a CPU run of the same checkpoint",
    "english": "fluent English only, by a judge: the weaker kind",
}
VERDICTS = {"REPRODUCED": "good", "DIFFERS": "bad", "NOT COMPARABLE": "warn"}
PROSE = 100  # cells of a line to be read


def device_word(device: str) -> str:
    return DEVICES.get(device, one_line(device, 20) or ABSENT)


def outcome_style(outcome: str, device: str, kind: str | None = None) -> str:
    """Green is for a PASS on a Trainium alone, and strong only for one by tokens."""
    if outcome == "PASS":
        return "accent" if device != "neuron" else "good" if kind == Kind.CPU_MATCH else "weak"
    return STYLES.get(outcome, "plain")


def verdict_style(verdict: str | None, device: str) -> str:
    """Nothing is green that did not run on a Trainium."""
    style = VERDICTS.get(str(verdict), "plain")
    return "accent" if style == "good" and device != "neuron" else style


def outcome_line(result: Result) -> tuple[Span, ...]:
    """`PASS on CPU, not on Trainium · tokens against a CPU run of the same checkpoint`."""
    parts: list[Span] = [(result.outcome, outcome_style(result.outcome, result.device, result.kind))]
    if result.device:
        where = f" on {device_word(result.device)}"
        parts.append(
            (
                where + ("" if result.device == "neuron" else ", not on Trainium"),
                "warn" if result.device != "neuron" else "plain",
            )
        )
    if result.kind:
        parts.append((f" · {KINDS.get(result.kind, one_line(result.kind, 40))}", "plain"))
    return tuple(parts)


def verdict_lines(result: Result, recipe: Recipe, width: int) -> list[Line]:
    """The whole card; outcome, device and verdict word stand above it (run_head.state_line)."""
    prose = min(width - 2, PROSE)
    meaning = _diagnosis(result.diagnosis, prose)
    reason = _prose(result.reason, prose, "strong")
    lines = [*meaning, *reason[:4]] if meaning else reason  # of a failure the meaning first; its words may be long
    if result.kind and result.outcome in ("PASS", "FAIL"):
        lines.append((("checked: ", "muted"), (KINDS.get(result.kind, one_line(result.kind, 40)), "plain")))
    if result.verdict:
        lines.append(
            ((result.verdict, verdict_style(result.verdict, result.device)), (f"  {_against(recipe)}", "muted"))
        )
        for difference in result.differences:
            lines += _prose(f"· {difference}", prose, "plain")
    elif recipe.row is None:
        lines.append((("no published row to compare with", "muted"),))
    departures = [d for d in recipe.departures() if not d.startswith("on ")]  # the device stands above, loud
    if departures:
        lines += _prose("not the protocol: " + "; ".join(departures), prose, "warn")
    if result.outcome == "PASS":
        kind = next((k for k in Kind if k.value == result.kind), None)
        lines += _prose(NOT_SAID[kind], prose, "muted")
    lines += _section(_tokens(result.tokens, prose))
    lines += _section(_judge(result.judge))
    lines += _section(comparison(result, recipe, width))
    lines += _section(
        [
            line
            for note in result.notes
            if not note.startswith("not the protocol")
            for line in _prose(f"note: {note}", prose, "warn")
        ]
    )
    return lines


def _against(recipe: Recipe) -> str:
    source = recipe.source
    if source is None:
        return "against the row it was started from"
    words = f"against the row of {one_line(source.dataset, 60)}"
    return words + (f" at {source.revision[:12]}" if source.revision else "")


def _prose(text: object, width: int, style: str) -> list[Line]:
    found: list[Line] = []
    for part in clean(text).splitlines():
        found += [((line, style),) for line in textwrap.wrap(part, max(20, width), break_on_hyphens=False)[:12]]
    return found


def _section(lines: Sequence[Line]) -> list[Line]:
    return ["", *lines] if lines else []


def _diagnosis(diagnosis: Mapping[str, Any] | None, width: int) -> list[Line]:
    """Summary, what to do, and the lines that say so."""
    if not diagnosis or diagnosis.get("class") in (None, "ok"):
        return []
    lines = _prose(f"{one_line(diagnosis.get('summary'), 400)} ({one_line(diagnosis.get('class'), 40)})", width, "bad")
    lines += _prose(diagnosis.get("hint"), width, "accent")
    evidence = diagnosis.get("evidence")
    if isinstance(evidence, list | tuple):
        lines += [((f"  | {one_line(e, width - 4)}", "muted"),) for e in evidence[:3]]
    return [*lines, ""]


def _tokens(tokens: Mapping[str, Any] | None, width: int) -> list[Line]:
    """The texts of both sides, and where they part."""
    if not tokens:
        return []
    new, reference = tokens.get("new_ids"), tokens.get("reference_ids")
    lines: list[Line] = []
    first = tokens.get("first_difference")
    if isinstance(new, list | tuple) and isinstance(reference, list | tuple):
        if first is None and list(new) == list(reference):
            lines.append((("tokens     ", "muted"), (f"all {len(new)} equal to the reference", "plain")))
        elif isinstance(first, int):
            here = new[first] if first < len(new) else ABSENT
            there = reference[first] if first < len(reference) else ABSENT
            words = f"the first {first} equal; then {here} here, {there} in the reference"
            lines.append((("tokens     ", "muted"), (words, "warn")))
            words = preference_words(tokens)
            if words:
                lines += [
                    (("           ", "muted"), (part, "plain")) for part in textwrap.wrap(words, max(20, width - 11))
                ]
    elif isinstance(new, list | tuple):
        lines.append((("tokens     ", "muted"), (f"{len(new)} new", "plain")))
    room = max(20, width - 11)
    texts = [
        (label, one_line(tokens.get(name), 2000))
        for label, name in (("this run", "text"), ("reference", "reference_text"))
    ]
    if texts[0][1] and texts[0][1] == texts[1][1]:
        texts = [("both", texts[0][1])]
    for label, text in texts:
        if text:
            rows = textwrap.wrap(text, room, break_on_hyphens=False) or [text]
            for n, row in enumerate(rows[:4]):
                lines.append(((f"{label if n == 0 else '':11}", "muted"), (row, "plain")))
    return lines


def preference_words(tokens: Mapping[str, Any]) -> str:
    """By how much the reference prefers its own token to the run's where they part, which decides whether it is a near tie."""
    gap, limit, margin = (_figure(tokens.get(name)) for name in ("gap", "tie_limit", "margin"))
    if gap is None or limit is None:  # of a run that has not told them
        return f"the reference prefers its token to its next best by {margin:.2g}" if margin is not None else ""
    words = f"the reference prefers its own by {gap:.2g}: "
    if gap <= limit:
        return words + f"a near tie (up to {limit:.2g}), which may fall either way"
    return words + f"no near tie (that ends at {limit:.2g})"


def _figure(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _judge(judge: Mapping[str, Any] | None) -> list[Line]:
    if not judge:
        return []
    parts = [one_line(judge.get("name"), 60) or "judge"]
    if isinstance(judge.get("nll"), int | float):
        parts.append(f"{judge['nll']:.2f} nats a token")
    if isinstance(judge.get("worst"), int | float):
        parts.append(f"{judge['worst']:.2f} in the worst 8")
    if isinstance(judge.get("surface"), Mapping):
        parts.append(_surface(judge["surface"]))
    return [(("judge      ", "muted"), (", ".join(parts), "plain"))]


def _surface(surface: Mapping[str, Any]) -> str:
    """What the text looks like, in words."""
    wrong = surface.get("wrong")
    if isinstance(wrong, list) and wrong:
        return ", ".join(one_line(words, 80) for words in wrong[:3])
    return "surface fine" if surface.get("ok") else "surface not told"


def comparison(result: Result, recipe: Recipe, width: int) -> list[Line]:
    """This run beside the published row: result, device, cores, times, memory. Not judged."""
    row = recipe.row
    here, there = min(46, max(20, (width - 16) // 2)), 30
    lines: list[Line] = [((f"{'':15}{fit('this run', here)}{'the row' if row else ''}", "muted"),)]

    def add(label: str, mine: str, theirs: str = "") -> None:
        lines.append(
            (
                (f"{label:15}", "muted"),
                (fit(mine, here) if row else mine, "plain"),
                (fit(theirs, there).rstrip() if row else "", "plain"),
            )
        )

    def of(name: str) -> Any:
        return row.get(name) if row else None

    add("result", f"{result.outcome} ({device_word(result.device)})", one_line(of("result"), 40) or ABSENT)
    cores = of("tp")
    add(
        "cores",
        str(recipe.cores) + (f" {recipe.parallelism}" if recipe.parallelism != "none" else ""),
        ABSENT if cores is None else str(cores),
    )
    wall = of("wall_s")
    add(
        "wall time",
        seconds(result.wall_s),
        seconds(float(wall)) + ", incl. compilation" if isinstance(wall, int | float) else ABSENT,
    )
    add("  compiling", _compiling(result))
    for name in ("downloading", "loading", "generating", "checking"):
        if name in result.stages:
            add(f"  {name}", seconds(result.stages[name]))
    peak = of("hbm_peak_gb")
    add(
        "peak memory",
        peaks_words(result.memory),
        f"{peak:,.1f} GB on device" if isinstance(peak, int | float) else ABSENT,
    )
    for label, name in (
        ("neuronx-cc", "neuronx_cc"),
        ("torch-neuronx", "torch_neuronx"),
        ("transformers", "transformers"),
        ("torch", "torch"),
    ):
        mine, theirs = one_line(result.stack.get(name), 40), one_line(of(name), 40)
        if mine or theirs:
            add(label, mine or ABSENT, theirs or ABSENT)
    return lines


def _compiling(result: Result) -> str:
    if result.compile_s is None:
        return ABSENT
    words: str = seconds(result.compile_s)
    if result.graphs is not None:
        words += f", {result.graphs} graph{'s' * (result.graphs != 1)}"
    if result.neff:
        words += f", cache {cache_words(result.neff)}"
    return words
