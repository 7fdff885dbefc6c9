"""The registry of actions: one meaning a key and place, remapping with its problems, and what `trnui keys` prints."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from click.testing import CliRunner

from trnui.actions import ACTIONS, MOVING, PLACES, at, key_name, key_word, remapped
from trnui.cli.main import cli


def test_a_key_has_one_meaning_in_a_place() -> None:
    for place in PLACES:
        keys = Counter(k for a in at(place) for k in a.keys)
        assert [k for k, n in keys.items() if n > 1] == [], place


def test_no_key_of_a_screen_is_taken_by_the_widget_that_has_the_focus() -> None:
    for place, mover in (*MOVING.items(), ("model", "text"), ("model", "table")):
        taken = {k for a in at(mover) for k in a.keys}
        dead = [a.id for a in at(place) if a.keys and set(a.keys) <= taken]
        assert dead == [], f"{place} under {mover}"


def test_ids_are_unique_and_places_known() -> None:
    assert len({a.id for a in ACTIONS}) == len(ACTIONS)
    assert {a.where for a in ACTIONS} <= set(PLACES)
    assert all(a.help and a.label for a in ACTIONS)


def test_no_key_that_tmux_and_terminals_take_for_themselves() -> None:
    taken = {"ctrl+b", "ctrl+a", "ctrl+s", "ctrl+j", "ctrl+q"}
    assert [a.id for a in ACTIONS if taken & set(a.keys)] == []


def test_remapping_takes_a_key_from_its_old_action_and_says_so() -> None:
    actions, problems = remapped({"list.all": "r, f9"})
    by_id = {a.id: a for a in actions}
    assert by_id["list.all"].keys == ("r", "f9")
    assert "r" not in by_id["list.run"].keys
    assert any("list.run" in p for p in problems)


def test_an_unknown_action_names_the_nearest() -> None:
    _, problems = remapped({"list.filtr": "f"})
    assert problems == ("[keys]: unknown action 'list.filtr'; did you mean 'list.filter'?",)


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("F5", "f5"), ("^t", "ctrl+t"), ("Space", "space"), ("Ctrl+Y", "ctrl+y"), ("PgDn", "pagedown"), ("Esc", "escape"),
        ("↓", "down"), ("Shift+Tab", "shift+tab"), ("G", "G"), ("?", "?"), ("ctrl+alt+x", "alt+ctrl+x"),
        ("ctrl+nonsense+q", None), ("F99", None), ("spacebar", None), ("", None), ("ctrl+ctrl+x", None), ("\x1b", None),
    ],
)  # fmt: skip
def test_keys_are_taken_as_they_are_shown_and_nothing_else_is(written: str, key: str | None) -> None:
    assert key_name(written) == key


def test_every_key_of_the_registry_is_a_key_as_shown_and_as_named() -> None:
    for action in ACTIONS:
        for key in action.keys:
            assert key_name(key) == key, key
            assert key_name(key_word(key)) == key, key


def test_a_word_that_is_no_key_names_its_line_and_leaves_the_keys() -> None:
    actions, problems = remapped({"list.run": "ctrl+nonsense+q"}, lines={"list.run": "config.toml:7"})
    assert next(a for a in actions if a.id == "list.run").keys == ("r",)
    assert problems == (
        "config.toml:7: list.run: 'ctrl+nonsense+q' is not a key; keys are written as j, F5, ctrl+t, space, PgDn",
    )


def test_a_letter_that_moves_the_cursor_is_said_to_move_first() -> None:
    _, problems = remapped({"list.all": "j"})
    assert any("'j' of list.all also moves (table.down)" in p for p in problems)


def test_an_empty_key_removes() -> None:
    actions, problems = remapped({"list.pane": ""})
    assert next(a for a in actions if a.id == "list.pane").keys == ()
    assert problems == ()


def test_keys_are_worded_for_people() -> None:
    assert [key_word(k) for k in ("ctrl+d", "pagedown", "f2", "question_mark", "j")] == ["^d", "PgDn", "F2", "?", "j"]


def test_trnui_keys_prints_every_action_in_every_format() -> None:
    runner = CliRunner()
    text = runner.invoke(cli, ["keys"]).stdout
    markdown = runner.invoke(cli, ["keys", "--format", "markdown"]).stdout
    rows = json.loads(runner.invoke(cli, ["keys", "--format", "json"]).stdout)
    assert {r["id"] for r in rows} == {a.id for a in ACTIONS}
    for action in ACTIONS:
        assert action.id in text
        assert f"`{action.id}`" in markdown
