"""The tokens of a run as they come, as lines of text. Pure: values in, lines out."""

from __future__ import annotations

from trnui.tui.run.run_snapshot import RunSnapshot
from trnui.tui.widgets.styled_lines import Line
from trnui.tui.widgets.wrapping import pieces
from trnui_runner.common.text import clean, one_line, seconds


def token_lines(snapshot: RunSnapshot, width: int, most: int = 2) -> list[Line]:
    """How many of how many, and the newest text; of a published script, which streams nothing, its forward passes."""
    wanted = snapshot.recipe.max_new_tokens
    label = "tokens   "
    room = max(10, width - len(label))
    last = snapshot.generates[-1] if snapshot.generates else None
    text = snapshot.text or next((g.text for g in reversed(snapshot.generates) if g.text), "") or ""
    count = snapshot.tokens or next((len(g.new_ids) for g in reversed(snapshot.generates) if g.new_ids is not None), 0)
    if not count and not snapshot.forwards and not text:
        return [((label, "muted"), ("none" if not snapshot.going else "none yet", "muted"))]
    if count:
        head = f"{count} of {wanted}" if snapshot.recipe.script != "published" else f"{count}"
    else:
        head = f"{snapshot.forwards} forward passes; this script shows its text at the end"
    times = []
    if last is not None and last.first_s is not None:
        times.append(f"first after {seconds(last.first_s)}")
    if last is not None and last.median_s:
        times.append(f"then {last.median_s * 1000:.0f} ms each" if last.median_s >= 0.001 else "then under 1 ms each")
    lines: list[Line] = [((label, "muted"), (head, "plain"), (f" · {', '.join(times)}" if times else "", "muted"))]
    shown = one_line(clean(text), 4000)
    rows = [shown[a:b] for a, b in pieces(shown, room)] if shown else []
    for row in rows[-most:]:  # the newest
        lines.append(((" " * len(label), "muted"), (row, "strong")))
    return lines
