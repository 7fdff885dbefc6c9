"""Reports as one HTML file: nothing in them is fetched or run, whatever the rows, the runs and the logs hold."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, fields, replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.called import called
from tests.datasets import NEW, OLD, folder, row
from tests.recorded import FAIL, REAL_FAIL, REAL_PASS, recorded
from trnui.catalog.analysis.html_report import run_page
from trnui_runner.common.html_page import Html, element, page, table, text
from trnui_runner.result.bug_report import report
from trnui_runner.run_folder.folder import RunFolder

EVIL = (
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", '"><svg onload=alert(1)>', "' onmouseover='x", "javascript:alert(1)",
    "[a](http://evil/)", "![x](http://evil/p.png)", "<http://evil/>", "http://evil.example/x", "</style><b>", "<!--", "]]>", "&lt;script&gt;",
    "\x1b[31mred\x1b[0m", "\u202eabc", "\x00nul", "`</code><script>x</script>`", "| a | b |", "</pre><iframe src=x>", "<base href=x>",
)  # fmt: skip
TAGS = {
    "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "h4", "p", "div", "table", "thead", "tbody", "tr", "th", "td",
    "span", "pre", "code", "ul", "ol", "li", "strong", "em", "hr", "br", "blockquote",
}  # fmt: skip
ATTRIBUTES = {"class", "lang", "charset", "http-equiv", "content", "name", "style", "start", "data-column"}
VOID = {"meta", "br", "hr"}


class Reader(HTMLParser):
    """What a browser would see: every tag must be one of ours and closed in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text = ""
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.wrong += [tag] if tag not in TAGS else []
        self.wrong += [f"{tag} {name}={value}" for name, value in attrs if name not in ATTRIBUTES]
        if tag == "td" or tag == "th":
            self.wrong += [f"style {v}" for n, v in attrs if n == "style" and not (v or "").startswith("text-align:")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID and (not self.open or self.open.pop() != tag):
            self.wrong.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.wrong.append(f"comment {data}")


def read(document: str) -> str:
    """The text of a page, after a look at everything else of it."""
    assert document.startswith("<!doctype html>\n<html")
    reader = Reader()
    reader.feed(document)
    reader.close()
    assert reader.wrong == []
    assert reader.open == []
    head = document[: document.index("</head>")]
    assert "default-src &#x27;none&#x27;" in head
    assert "width=device-width" in head
    assert "prefers-color-scheme: dark" in head
    assert not [c for c in document if c in "\x00\x1b\x9b\u202e"]
    return reader.text


def test_a_plain_string_is_text_and_only_our_markup_is_markup() -> None:
    assert element("p", "<b>", Html("<i>x</i>")) == "<p>&lt;b&gt;<i>x</i></p>"
    assert element("span", "a", cls='x" onclick="y') == '<span class="x&quot; onclick=&quot;y">a</span>'
    assert text(None) == text("") == "–"
    for name in ("p onclick=x", "P", "1"):
        with pytest.raises(ValueError, match=re.escape(name)):
            element(name)
    with pytest.raises(ValueError, match="on load"):
        element("p", **{"on load": "x"})


@pytest.mark.parametrize("evil", EVIL)
def test_whatever_a_text_holds_stays_text(evil: str) -> None:
    shown = read(
        page(evil, [element("p", evil), table((evil, "n"), [(evil, 1), (None, 2.5)]), element("pre", evil)], evil)
    )
    for part in ("alert(1)", "evil", "onmouseover"):
        assert (part in shown) == (part in evil)


def test_figures_stand_at_the_right_and_absent_ones_are_a_dash() -> None:
    found = table(("model", "s"), [("a", 1), ("b", None)])
    assert '<th class="n">s</th>' in found
    assert '<td class="n" data-column="s"><span>–</span></td>' in found
    assert "<th>model</th>" in found
    assert (
        table(("a",), []) == '<div class="wide"><table><thead><tr><th>a</th></tr></thead><tbody></tbody></table></div>'
    )


def test_on_a_narrow_screen_a_wide_table_becomes_cards_that_name_each_value() -> None:
    assert "cards" not in table(("model", "s"), [("a", 1)])
    found = table(("model", "status", "tp", "s"), [("a", "PASS", 1, 2.5)])
    assert '<table class="cards">' in found
    for name in ("model", "status", "tp", "s"):
        assert f'data-column="{name}"' in found


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every column that takes text holds every hostile text once."""
    path = tmp_path_factory.mktemp("hostile")
    rows = []
    for n, evil in enumerate(EVIL):
        texts = {"notes": evil, "english": evil, "runner": evil, "torch": evil, "nki": evil, "python": evil}
        rows += [
            row(f"o/{evil}{n}", "PASS", OLD, **texts), row(f"o/{evil}{n}", "FAIL", NEW, error=evil, **texts),
            row(f"x/{n}", evil, NEW, exclusion=evil if n % 2 else None),
        ]  # fmt: skip
    folder(path, *rows)
    return path


@pytest.mark.parametrize(
    "args",
    [
        ("list", "--columns", "all"), ("list",), ("list", "--view", "failures"), ("compare", "2.28", "2.29"), ("compare", "--summary"),
        ("sql", "SELECT * FROM results"), ("list", "--from", "-"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_every_command_writes_a_page_that_holds_no_markup_of_its_rows(
    hostile: Path, args: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "x.html"
    done = called("--dataset", hostile, *args, "-o", file, stdin="x/1\n")
    assert done.code == 0, done.err
    read(file.read_text())


def test_a_comparison_says_what_the_command_says(tmp_path: Path) -> None:
    path = tmp_path / "data"
    folder(path, row("o/broken", "PASS", OLD), row("o/broken", "FAIL", NEW, error="[NCC_EVRF001] no"))
    shown = read(called("--dataset", path, "compare", "2.28", "2.29", "--format", "html").out)
    for words in ("newly failing", "o/broken", "PASS → FAIL", "since neuronx-cc 2.29.5.0", "NCC_EVRF001", "1 change"):
        assert words in shown
    summary = read(called("--dataset", path, "compare", "--summary", "--format", "html").out)
    assert "100.0 %" in summary
    assert "█" in summary
    sample = read(called("--dataset", "sample", "list", "--format", "html").out)
    assert "SAMPLE, CPU: no Trainium results" in sample


@pytest.mark.parametrize("name", [FAIL, REAL_PASS, REAL_FAIL])
def test_a_run_as_a_page_says_what_its_markdown_says(name: str, tmp_path: Path) -> None:
    run = recorded(name, tmp_path)
    shown = read(run_page(run, report))
    assert ("PASS" if name == REAL_PASS else "FAIL") in shown
    for part in ("Stack", "Commands", "Log"):
        assert part in shown
    file = tmp_path / "r.html"
    recorded(name)
    assert called("report", name, "-o", file).code == 0
    assert read(file.read_text()) == shown
    assert called("report", name).out.startswith("# ")


@pytest.mark.parametrize("evil", EVIL)
def test_whatever_a_run_left_stays_text(evil: str, tmp_path: Path) -> None:
    run = recorded(FAIL, tmp_path)
    result = run.result()
    assert result is not None
    texts = {f.name: evil for f in fields(result) if f.name in ("reason", "verdict", "kind")}
    (run.path / "output.log").write_text(f"{evil}\n```\n{evil}\n# {evil}\n")
    changed = replace(result, notes=(evil, f"| {evil} |"), differences=(evil,), **texts)
    (run.path / "result.json").write_text(json.dumps(asdict(changed), default=str))
    read(run_page(RunFolder(run.path), report))


def test_secrets_are_redacted_before_markup_could_hide_them(tmp_path: Path) -> None:
    run = recorded(FAIL, tmp_path)
    token = "hf_" + "aB3" * 11
    (run.path / "output.log").write_text(f"token {token}\n")
    assert token not in run_page(run, report)
