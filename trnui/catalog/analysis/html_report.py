"""What people share, each as one HTML file: a run, a comparison, failures by cause, a summary by release, any list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from trnui.catalog.analysis.comparison.releases import RULE, percent
from trnui.catalog.analysis.export import cell
from trnui.catalog.engine.result_set import Table
from trnui_runner.common.dataset_schema import Kind
from trnui_runner.common.html_page import Html, element, facts, joined, page, table, text
from trnui_runner.common.text import thousands
from trnui_runner.result.redact import Redactor

if TYPE_CHECKING:
    from trnui.catalog.analysis.comparison.compare import Comparison
    from trnui.catalog.analysis.comparison.releases import Release
    from trnui.catalog.analysis.failures import Cause
    from trnui.catalog.messages import Provenance
    from trnui_runner.run_folder.folder import RunFolder

MODELS: Final = 200  # named in full under one cause
MEANING: Final = (
    "PASS: 32 tokens were generated and checked, on one core token by token against a CPU run, sharded only for fluent English "
    "(the weaker check, in another colour). Times include compilation. Nothing is said of speed, other settings or other checkpoints. "
    "EXCLUDED and NOT TESTED are not failures."
)


def table_page(title: str, found: Table, provenance: Provenance, words: Iterable[str] = ()) -> str:
    """Any list, with where its rows are from."""
    return page(title, [_source(provenance), *(element("p", w) for w in words if w), _table(found), _meaning()])


def comparison_page(c: Comparison, packages: Table, provenance: Provenance) -> str:
    """Counts, the packages that differ, then every change."""
    from trnui.catalog.analysis.comparison.tables import changes, counts

    body = [
        _source(provenance),
        facts([("A", c.a), ("B", c.b), ("changes", c.words)]),
        element("h2", "Counts"),
        _table(counts(c)),
    ]
    if packages.rows:
        body += [element("h2", "Packages that differ"), _table(packages)]
    found = changes(c, short_arrow="→")
    body += [element("h2", c.shown), _table(found, tone=_change_tone), _meaning(c.rule)]
    return page(f"{c.a.short} → {c.b.short}", body)


def releases_page(found: Sequence[Release], provenance: Provenance) -> str:
    """One line a stack, with bars."""
    rows = [
        (
            r.stack.neuronx_cc.partition("+")[0] or None, f"{r.stack.library} {r.stack.library_version}", _rate(r), r.tested, r.passed, r.failed, r.excluded,
            f"{percent(r.common_rate)} of {thousands(r.common)}" if r.common else None, r.median_wall_s,
        )
        for r in found
    ]  # fmt: skip
    columns = (
        "neuronx-cc",
        "library",
        "pass rate",
        "tested",
        "PASS",
        "FAIL",
        "EXCLUDED",
        "of models on all",
        "median wall time, s",
    )
    lines = table(columns, rows, shown=cell)
    return page("Results by release", [_source(provenance), lines, _meaning(RULE)])


def _rate(release: Release) -> Html:
    if release.rate is None:
        return text(None)
    return joined((text(percent(release.rate)), element("span", release.bar(), cls="bar")))


def failures_page(causes: Sequence[Cause], provenance: Provenance, words: str) -> str:
    """A section a cause: what it means, what to do, where it happens, which models."""
    overview = Table(
        ("cause", "rows", "models", "meaning"), tuple((c.label, c.rows, len(c.models), c.summary) for c in causes)
    )
    body = [_source(provenance), element("p", words), _table(overview)]
    for cause in causes:
        named = ", ".join(cause.models[:MODELS])
        more = f" and {thousands(len(cause.models) - MODELS)} more" if len(cause.models) > MODELS else ""
        stacks = ", ".join(f"{stack.short}: {count}" for stack, count in cause.stacks)
        pairs = [
            ("rows", thousands(cause.rows)),
            ("meaning", cause.summary),
            ("what to do", cause.hint),
            ("stacks", stacks),
            ("models", named + more),
        ]
        body += [element("h2", cause.label), facts((n, v) for n, v in pairs if v), element("pre", cause.error)]
    return page("Failures by cause", [*body, _meaning()])


def run_page(run: RunFolder, report: Callable[[RunFolder], str]) -> str:
    """The bug report of a run, which `report` gives as Markdown, redacted."""
    from markdown_it import MarkdownIt

    # Nothing in it may become a link, a picture or markup of its own; the report's own tables, lists and code are all there is.
    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["link", "image", "autolink", "html_inline", "html_block", "reference"])  # fmt: skip
    markdown = report(run)
    first, _, rest = markdown.partition("\n")
    title = first.removeprefix("# ")
    plain = "".join(t.content for token in reader.parseInline(title) for t in token.children or ())
    body = reader.render(rest).replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
    return page(plain or run.id, [Html(body)])


def _source(provenance: Provenance) -> Html:
    """Where the rows are from, without this host's names; a sample says so first."""
    words = Redactor.of_this_host().clean(provenance.words)
    if provenance.sample:
        return element("p", f"SAMPLE, CPU: no Trainium results. {words}", cls="warn")
    return element("p", words, cls="muted")


def _meaning(*more: str) -> Html:
    return joined([element("p", words, cls="muted") for words in (*more, MEANING)])


def _table(found: Table, tone: Callable[[str, Sequence[object]], str] | None = None) -> Html:
    at = {name: n for n, name in enumerate(found.columns)}

    def usual(column: str, row: Sequence[object]) -> str:
        """A sharded PASS, and one that was not on a Trainium, look weaker than a one-core PASS."""
        if column not in ("status", "result", "best"):
            return ""
        word = str(row[at[column]] or "")
        kind = row[at["kind"]] if "kind" in at else None
        device = row[at["device"]] if "device" in at else None
        if word.startswith("PASS"):
            return "weak" if kind == Kind.ENGLISH or device not in (None, "neuron") or word != "PASS" else "pass"
        return "fail" if word == "FAIL" else "muted" if word in ("EXCLUDED", "UNTESTED") else ""

    return table(found.columns, found.rows, shown=cell, tone=tone or usual)


def _change_tone(column: str, row: Sequence[object]) -> str:
    if column != "change":
        return ""
    return {"newly failing": "fail", "newly passing": "pass"}.get(str(row[0]), "")
