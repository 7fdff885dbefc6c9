"""What stands before a run: what will run, what it loads, the checks and the ways out. Pure: values in, lines out."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from trnui.tui.run.lines.header import SCRIPTS
from trnui.tui.run.lines.verdict import device_word
from trnui.tui.widgets.styled_lines import Line
from trnui_runner.common.text import clean, clock, one_line, thousands
from trnui_runner.host import environments
from trnui_runner.preflight.consent import Question
from trnui_runner.preflight.report import Check, CheckStatus, Preflight
from trnui_runner.request.request import PreparedRun

STYLES = {CheckStatus.OK: "good", CheckStatus.WARNING: "warn", CheckStatus.ERROR: "bad"}
EXTRA_SIZE = f"{environments.SIZE}; several GB more with the default build, which brings CUDA"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
LABEL = 12


def headline(found: Preflight, agreed: bool, yes: str, start: str) -> Line:
    """The worst status as a word, and the key that goes on. `yes` and `start` are keys."""
    if found.status is CheckStatus.ERROR:
        return ((" CANNOT START ", "bad"), (one_line(found.of(CheckStatus.ERROR)[0].message, 300), "plain"))
    if found.status is CheckStatus.OK and agreed:
        return ((" READY ", "good"), (f"{start} starts", "accent"))
    what = "differs: read below" if agreed else "third-party code: read below"
    return ((" CONFIRM ", "warn"), (f"{what}, then {yes} starts", "accent"))


def what_lines(prepared: PreparedRun, width: int) -> list[Line]:
    """What will run, where, with which interpreter, against which row."""
    recipe = prepared.recipe
    where = device_word(recipe.device) + ("" if recipe.device == "neuron" else ", NOT TRAINIUM")
    cores = f"{recipe.cores} core{'s' * (recipe.cores != 1)}" + (
        f" {recipe.parallelism}" if recipe.parallelism != "none" else ""
    )
    lines: list[Line] = [
        (_label("run"), (one_line(recipe.model, 100), "strong")),
        (
            _label(""),
            (f"{SCRIPTS[recipe.script]} · ", "muted"),
            (where, "plain" if recipe.device == "neuron" else "warn"),
            (f" · {cores}", "muted"),
        ),
    ]
    row = recipe.row
    if row is not None:
        wall = row.get("wall_s")
        took = f", {clock(float(wall))} incl. compilation" if isinstance(wall, int | float) else ""
        lines.append((_label("reproduces"), (f"{one_line(row.get('result'), 40)}{took}", "plain")))
        lines += _prose("", _of(prepared), width, "muted") if _of(prepared) else []
    else:
        lines.append((_label("reproduces"), ("no row: no published result to compare with", "muted")))
    for n, part in enumerate(
        textwrap.wrap(one_line(prepared.interpreter.words, 400), max(20, width - LABEL - 1), break_on_hyphens=False)
    ):
        lines.append((_label("with" if n == 0 else ""), (part, "plain")))
    limit = f"ended after {clock(recipe.timeout_s)}" if recipe.timeout_s else "no time limit"
    lines.append((_label("limits"), (f"{recipe.max_new_tokens} new tokens, {limit}", "plain")))
    lines += [
        line
        for note in (
            *prepared.notes,
            *(f"not the protocol: {d}" for d in recipe.departures() if not d.startswith("on ")),
        )
        for line in _prose("note", note, width, "warn")
    ]
    return lines


def _of(prepared: PreparedRun) -> str:
    source = prepared.recipe.source
    if source is None:
        return ""
    return f"row {source.row} of {one_line(source.file, 80)}, {one_line(source.dataset, 80)}" if source.file else ""


def question_lines(question: Question, allowed: str | None, width: int) -> list[Line]:
    """Whose code it is. In full when the user has to be asked; else its digest and why it may run."""
    if allowed is not None:
        return [
            (_label("script"), (f"may run: {one_line(allowed, 200)}", "plain")),
            (_label("SHA-256"), (question.script_sha256, "muted")),
        ]
    lines: list[Line] = []
    for name, words in question.lines:
        style = "warn" if name in ("rights", "") else "plain"
        lines += _prose(name, words, width, style)
    return lines


def check_lines(checks: Sequence[Check], width: int) -> list[Line]:
    lines: list[Line] = []
    for check in checks:
        words = textwrap.wrap(clean(check.message), max(20, width - 22), break_on_hyphens=False) or [""]
        lines.append(
            (
                (f"{check.status.value.upper():8}", STYLES[check.status]),
                (f"{check.name:13}", "muted"),
                (words[0], "plain"),
            )
        )
        lines += [((" " * 21, "muted"), (part, "plain")) for part in words[1:]]
        if check.remedy:
            lines += [
                ((" " * 21, "muted"), (part, "accent"))
                for part in textwrap.wrap("→ " + clean(check.remedy), max(20, width - 22), break_on_hyphens=False)
            ]
        if check.status is not CheckStatus.OK:
            lines += [((" " * 21, "muted"), (one_line(detail, 200), "muted")) for detail in check.details[:6]]
    return lines


def script_lines(script: str) -> list[str]:
    return clean(script).split("\n")


def install_line(python: str) -> str:
    """One line that gives `python` what the bundled scripts run on, with the index of torch's CPU builds."""
    return environments.install_line(python, "--extra-index-url", CPU_INDEX)


def install_lines(python: str, width: int, key: str) -> list[Line]:
    """Shown where torch is missing."""
    lines: list[Line] = [(_label("install"), (f"one line, {key} copies it:", "plain"))]
    lines += [
        ((" " * (LABEL + 1), "muted"), (part, "strong"))
        for part in textwrap.wrap(
            install_line(python), max(20, width - LABEL - 1), break_on_hyphens=False, break_long_words=False
        )
    ]
    lines += _prose("", EXTRA_SIZE, width, "muted")
    return lines


def ways(found: Preflight, keys: dict[str, str]) -> list[Line]:
    """What can be done instead, when it cannot start."""
    lines: list[Line] = []
    if any(i.status is CheckStatus.ERROR and i.name == "device" for i in found.checks):
        lines.append(
            (
                (f"{keys['sample']:>3}  ", "accent"),
                ("run a row of the bundled sample here, on the CPU: half a minute", "plain"),
            )
        )
        lines.append(
            (
                (f"{keys['cpu']:>3}  ", "accent"),
                ("try this checkpoint on the CPU: says nothing about Trainium", "plain"),
            )
        )
    if found.status is CheckStatus.ERROR:
        lines.append(((f"{keys['look']:>3}  ", "accent"), ("look at this host again", "plain")))
    return lines


def script_size(script: bytes) -> str:
    return f"{thousands(len(script.splitlines()))} lines, {thousands(len(script))} bytes"


def _label(name: str) -> tuple[str, str]:
    return (f"{name:{LABEL}} ", "muted")


def _prose(name: str, words: str, width: int, style: str) -> list[Line]:
    parts = textwrap.wrap(clean(words), max(20, width - LABEL - 1), break_on_hyphens=False) or [""]
    return [(_label(name if n == 0 else ""), (part, style)) for n, part in enumerate(parts)]
