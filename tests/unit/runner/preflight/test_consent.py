"""Consent: what is shown, what it holds for, and that nothing but the very bytes agreed to may run."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from trnui_runner.common.errors import UsageError
from trnui_runner.host.neff_cache import Bucket
from trnui_runner.preflight.consent import allowed, forget, question, remember
from trnui_runner.request.script_scan import loads_of
from trnui_runner.run_folder.recipe import Recipe, RowSource

COMMIT = "1a2b3c4d" * 5
SCRIPT = b"""
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
MODEL: str = "acme/tiny"
tokenizer = AutoTokenizer.from_pretrained(MODEL)
model = AutoModelForCausalLM.from_pretrained("acme/tiny", revision="abc", trust_remote_code=True)
"""
RECIPE = Recipe("20260101-000000-tiny-ab12", "acme/tiny", script="published",
                source=RowSource("acme/results", COMMIT, "data/a.parquet", 7))  # fmt: skip


def words(recipe: Recipe = RECIPE, script: bytes = SCRIPT, **more: object) -> str:
    return question(recipe, script, **more).text  # type: ignore[arg-type]


def test_question_names_script_source_commit_hash_rights_and_what_is_loaded() -> None:
    shown = words(replace(RECIPE, cores=2, judge="acme/judge"), bucket=Bucket("acme/neff", "the dataset's card"))
    for part in (
        "run.py of acme/tiny, 6 lines",
        f"acme/results at {COMMIT}, data/a.parquet row 7",
        "with your rights",
        "acme/tiny at main, whichever commit that is at that time",
        "acme/tiny at abc",
        "trust_remote_code",
        "acme/judge, fetched from the Hub",
        "hf://buckets/acme/neff, named by the dataset's card: compiled graphs from there are programs",
    ):
        assert part in shown, part

    assert hashlib.sha256(SCRIPT).hexdigest() in shown


def test_main_is_which_commit_on_disk_and_on_the_hub(home: Path) -> None:
    repository = home / "hf" / "hub" / "models--acme--tiny"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    (repository / "snapshots" / COMMIT).mkdir(parents=True)
    assert f"acme/tiny at main, with commit {COMMIT} on disk" in words()
    assert f"acme/tiny at main, now commit {'f' * 40}" in words(commits={"acme/tiny": "f" * 40})


def test_no_commit_of_the_dataset_leaves_the_script_alone_to_agree_to() -> None:
    recipe = replace(RECIPE, source=RowSource("a folder"))
    asked = question(recipe, SCRIPT)
    assert asked.scopes == ("script",)
    assert "a folder at an unknown commit" in asked.text
    with pytest.raises(UsageError):
        remember(recipe, SCRIPT, "dataset")


def test_foreign_names_reach_the_question_clean() -> None:
    evil = replace(RECIPE, model="acme/\x1b]0;owned\x07tiny\u202e", source=RowSource("x\x1b[2Jy", "main\n"))
    shown = words(evil, b'from_pretrained("a/\x1b[31mb")')
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_a_yes_holds_for_these_bytes_only() -> None:
    assert allowed(RECIPE, SCRIPT) is None
    remember(RECIPE, SCRIPT)
    assert "you approved this script on" in (allowed(RECIPE, SCRIPT) or "")
    assert allowed(RECIPE, SCRIPT + b"\n") is None
    assert allowed(replace(RECIPE, script_sha256="the same as before"), b"import os") is None
    assert forget() == 1
    assert allowed(RECIPE, SCRIPT) is None


def test_a_yes_for_a_dataset_holds_for_that_commit_only() -> None:
    remember(RECIPE, SCRIPT, "dataset")
    other = b"import torch  # another row's script"
    assert "acme/results at 1a2b3c4d" in (allowed(RECIPE, other) or "")
    assert allowed(replace(RECIPE, source=RowSource("acme/results", "f" * 40)), other) is None
    assert allowed(replace(RECIPE, source=RowSource("other/results", COMMIT)), other) is None
    assert allowed(replace(RECIPE, source=None), other) is None


def test_ours_and_a_file_of_ones_own_need_none() -> None:
    from trnui_runner.request.render_script import render

    bundled = Recipe("20260101-000000-tiny-ab12", "acme/tiny")
    assert allowed(bundled, render(bundled, {})) == "it ships with trnui"
    assert allowed(bundled, SCRIPT) is None
    assert allowed(replace(RECIPE, script="file"), SCRIPT) == "it is a file that you named"


def test_damaged_memory_of_consents_means_asking_again(home: Path) -> None:
    remember(RECIPE, SCRIPT)
    file = home / "state" / "consent.json"
    assert file.stat().st_mode & 0o777 == 0o600
    for text in ("", "[]", '{"scripts": 7}', '{"scripts": {"x": []}}', "\x00"):
        file.write_text(text)
        assert allowed(RECIPE, SCRIPT) is None
    remember(RECIPE, SCRIPT)
    assert allowed(RECIPE, SCRIPT)


@pytest.mark.parametrize(
    ("script", "names", "remote"),
    [
        ("M = 'a/b'\nx.from_pretrained(M)", ["a/b"], False),
        ("pipeline('text-generation', 'a/b')\npipeline(task='t', model='c/d')", ["a/b", "c/d"], False),
        ("from_pretrained(sys.argv[1])", [None], False),
        ("snapshot_download(repo_id='a/b', revision='r')", ["a/b"], False),
        ("torch.hub.load('a/b', 'x')\njson.load(f)", ["a/b"], False),
        ("f(trust_remote_code=False)", [], False),
        ("T = True\nf(trust_remote_code=T)", [], True),
        ("f(trust_remote_code=args.trust)", [], True),
        ("kw = {'trust_remote_code': True}", [], True),
        ("def (", [], False),
    ],
)
def test_what_a_script_loads(script: str, names: list[str | None], remote: bool) -> None:
    found = loads_of(script)
    assert [one.name for one in found.repositories] == names
    assert found.remote_code is remote


def test_unreadable_scripts_say_so() -> None:
    assert "cannot be read as Python" in loads_of("def (").problem
    assert loads_of("x = 1\0").problem
    assert loads_of("(" * 10000).problem


# -- the whole of the question, and of what is remembered


def test_the_question_line_by_line() -> None:
    asked = question(replace(RECIPE, cores=2, judge="/a/judge"), b"x = 1\n", commits={})
    assert asked.lines == (
        ("script", "run.py of acme/tiny, 1 line"),
        ("SHA-256", hashlib.sha256(b"x = 1\n").hexdigest()),
        ("source", f"acme/results at {COMMIT}, data/a.parquet row 7"),
        ("rights", "It runs with your rights: it can read and write your files and use your network."),
        ("loads", "nothing that its text names; it should be acme/tiny"),
        ("judge", "/a/judge, at hand"),
    )
    assert (asked.model, asked.script_sha256, asked.dataset, asked.commit) == (
        "acme/tiny", hashlib.sha256(b"x = 1\n").hexdigest(), "acme/results", COMMIT,
    )  # fmt: skip
    assert asked.text.splitlines()[0] == "script   run.py of acme/tiny, 1 line"
    assert asked.text.splitlines()[2].startswith("source   acme/results")
    assert asked.to_json()["lines"][0] == ["script", "run.py of acme/tiny, 1 line"]
    assert asked.to_json()["commit"] == COMMIT


@pytest.mark.parametrize(
    ("source", "words", "scopes"),
    [
        (None, "unknown", ("script",)),
        (RowSource("a"), "a at an unknown commit", ("script",)),
        (RowSource("a", "main"), "a at main", ("script",)),
        (RowSource("a", COMMIT), f"a at {COMMIT}", ("script", "dataset")),
        (RowSource("a", COMMIT + "0"), f"a at {COMMIT}0", ("script",)),
        (RowSource("", COMMIT), f" at {COMMIT}", ("script",)),
        (RowSource("a", COMMIT, "f", 0), f"a at {COMMIT}, f row 0", ("script", "dataset")),
    ],
)
def test_where_a_script_is_from(source: RowSource | None, words: str, scopes: tuple[str, ...]) -> None:
    asked = question(replace(RECIPE, source=source), SCRIPT)
    assert dict(asked.lines)["source"] == words
    assert asked.scopes == scopes


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("from_pretrained('a/b', revision='" + COMMIT + "')", f"a/b at commit {COMMIT}"),
        ("from_pretrained('a/b', revision=sys.argv[1])", "a/b at a revision computed at run time"),
        ("from_pretrained('a/b', revision=None)", "a/b at main, whichever commit that is at that time"),
        ("R = 'v3'\nfrom_pretrained('a/b', revision=R)", "a/b at v3, whichever commit that is at that time"),
        ("from_pretrained('/data/x')", "/data/x (a local folder)"),
        ("from_pretrained('a/b', revision='v2')", "a/b at v2, whichever commit that is at that time"),
        ("from_pretrained('a/b')\nfrom_pretrained(x)\nfrom_pretrained(y)", "and what it computes at run time (line 2)"),
        ("def (", "it cannot be read as Python (SyntaxError)"),
    ],
)
def test_what_is_loaded_in_words(script: str, words: str) -> None:
    loaded = [told for name, told in question(RECIPE, script.encode()).lines if name == "loads"]
    assert words in loaded


def test_what_the_hub_says_of_main_is_no_other_branch() -> None:
    script = b"from_pretrained('a/b', revision='v2')\nfrom_pretrained('a/b')"
    loaded = [told for name, told in question(RECIPE, script, commits={"a/b": "f" * 40}).lines if name == "loads"]
    assert loaded == ["a/b at v2, whichever commit that is at that time", f"a/b at main, now commit {'f' * 40}"]


def test_remote_code_is_said_of_a_scan_that_is_handed_on() -> None:
    told = question(RECIPE, b"x = 1", loads=loads_of("f('a/b', trust_remote_code=True)")).text
    assert "trust_remote_code" in told
    assert "trust_remote_code" not in question(RECIPE, b"x = 1").text


def test_what_was_approved_is_dated_and_forgotten_as_a_whole(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    assert forget() == 0  # nothing there: no error
    monkeypatch.setattr("time.time", lambda: 1_764_547_200.0)
    remember(RECIPE, SCRIPT)
    remember(RECIPE, SCRIPT, "dataset")
    assert (allowed(RECIPE, SCRIPT) or "").startswith("you approved this script on 2025-")
    assert (allowed(RECIPE, b"other") or "").startswith(f"you approved acme/results at {COMMIT[:8]} on 2025-")
    kept = json.loads((home / "state" / "consent.json").read_text())
    assert kept["v"] == 1
    assert kept["scripts"][hashlib.sha256(SCRIPT).hexdigest()]["dataset"] == "acme/results"
    assert kept["datasets"] == {
        f"acme/results@{COMMIT}": {"t": 1_764_547_200, "model": "acme/tiny", "dataset": "acme/results"}
    }
    assert forget() == 2
    assert allowed(RECIPE, SCRIPT) is None
    assert allowed(RECIPE, b"other") is None


def test_an_approval_without_a_date_is_one_all_the_same(home: Path) -> None:
    remember(replace(RECIPE, source=None), SCRIPT)
    file = home / "state" / "consent.json"
    kept = json.loads(file.read_text())
    for entry in kept["scripts"].values():
        assert entry["dataset"] is None
        entry["t"] = "long ago"
    file.write_text(json.dumps(kept))
    assert allowed(RECIPE, SCRIPT) == "you approved this script before"


@pytest.mark.parametrize("source", [None, RowSource("a"), RowSource("a", "main")])
def test_no_dataset_is_approved_without_its_commit(source: RowSource | None) -> None:
    with pytest.raises(UsageError, match="no commit"):
        remember(replace(RECIPE, source=source), SCRIPT, "dataset")
    assert allowed(replace(RECIPE, source=source), SCRIPT) is None
