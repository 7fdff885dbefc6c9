"""From a preflight to a start on the command line: what stops it, what has to be confirmed, and what a yes is remembered for."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from trnui.sample.models import folder_of
from trnui_runner.cli import start
from trnui_runner.cli.start import confirmed, show_preflight
from trnui_runner.common.errors import DeviceError, Exit, UsageError, UserError
from trnui_runner.preflight import consent
from trnui_runner.preflight.gather import preflight
from trnui_runner.preflight.report import Check, CheckStatus, Preflight
from trnui_runner.request.prepare import prepare
from trnui_runner.request.request import PreparedRun, RunRequest

OK = Check("disk", CheckStatus.OK, "room")
WARNING = Check("stack", CheckStatus.WARNING, "another torch", "Install it.", ("torch 2.13",))
ERROR = Check("HBM", CheckStatus.ERROR, "too large", "Use more cores.")
OURS = "it ships with trnui"


@pytest.fixture
def prepared() -> PreparedRun:
    return prepare(RunRequest(str(folder_of("trnui-sample/recites")), device="cpu", max_new_tokens=8))


@pytest.fixture
def foreign() -> Preflight:
    row = {"model_id": "acme/tiny", "tp": 1, "result": "PASS (CPU)", "runner": "trnui/cpu", "run_py": "print('theirs')"}
    return preflight(RunRequest("acme/tiny", row=row, checkpoint=folder_of("trnui-sample/recites")), ask=None)


def test_all_well_starts_without_a_question_and_says_what_departs(prepared: PreparedRun) -> None:
    said: list[str] = []
    assert confirmed(Preflight((OK,), prepared, approval=OURS), False, said.append) is prepared
    assert "not the protocol: 8 new tokens instead of 32" in said
    assert "not the protocol: on the CPU, not on Trainium" in said
    assert not any("room" in line for line in said)


def test_a_warning_is_said_and_confirmed(prepared: PreparedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    found = Preflight((OK, WARNING), prepared, approval=OURS)
    with pytest.raises(UsageError, match="Not started") as caught:
        confirmed(found, False, said.append)
    assert "--yes" in caught.value.remedy
    assert any("another torch" in line for line in said)
    assert not any("torch 2.13" in line for line in said)  # details are for --dry-run
    assert confirmed(found, True, said.append) is prepared


@pytest.mark.parametrize(("answer", "starts"), [("y", True), ("n", False), ("", False)])
def test_at_a_terminal_the_user_is_asked(
    prepared: PreparedRun, monkeypatch: pytest.MonkeyPatch, answer: str, starts: bool
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal(f"{answer}\n"))
    asked: list[str] = []

    def confirm(text: str, default: bool, err: bool) -> bool:
        asked.append(text)
        assert (default, err) == (False, True)
        return answer == "y"

    monkeypatch.setattr(start.click, "confirm", confirm)
    found = Preflight((WARNING,), prepared, approval=OURS)
    if starts:
        assert confirmed(found, False, lambda _: None) is prepared
    else:
        with pytest.raises(UsageError):
            confirmed(found, False, lambda _: None)
    assert asked == ["Start it anyway?"]
    assert confirmed(Preflight((WARNING,), prepared, approval=OURS), True, lambda _: None) is prepared
    assert len(asked) == 1  # --yes is the answer


def test_an_error_never_starts(prepared: PreparedRun) -> None:
    with pytest.raises(UserError) as caught:
        confirmed(
            Preflight((ERROR, OK, Check("x", CheckStatus.ERROR, "y")), prepared, approval=OURS), True, lambda _: None
        )
    assert caught.value.message == "cannot start: too large; y"
    assert caught.value.remedy == "Use more cores."
    assert caught.value.code == Exit.FAILED


def test_what_it_was_refused_for_keeps_its_exit_code() -> None:
    refusal = DeviceError("no Trainium", "Use the sample.")
    with pytest.raises(DeviceError) as caught:
        confirmed(Preflight((ERROR,), refusal=refusal), True, lambda _: None)
    assert caught.value is refusal
    with pytest.raises(UserError, match="cannot start: too large"):
        confirmed(Preflight((ERROR,)), True, lambda _: None)


def test_third_party_code_is_shown_and_a_yes_is_remembered_once(foreign: Preflight, home: Path) -> None:
    said: list[str] = []
    assert foreign.prepared is not None
    with pytest.raises(UsageError):
        confirmed(foreign, False, said.append)
    assert foreign.question is not None
    assert foreign.question.text in said
    assert consent.allowed(foreign.prepared.recipe, foreign.prepared.script) is None
    confirmed(foreign, True, said.append)
    assert consent.allowed(foreign.prepared.recipe, foreign.prepared.script)


def test_what_ships_with_trnui_is_not_remembered(prepared: PreparedRun, home: Path) -> None:
    confirmed(Preflight((OK,), prepared, approval=OURS), True, lambda _: None)
    assert not (home / "state" / "consent.json").exists()


def test_a_dry_run_shows_plan_and_checks(prepared: PreparedRun, capsys: pytest.CaptureFixture[str]) -> None:
    assert show_preflight(Preflight((OK, WARNING), prepared), "text") == Exit.OK
    text = capsys.readouterr().out
    assert text.startswith("model ")
    assert "\n\nok       disk         room\n" in text
    assert "torch 2.13" in text
    assert show_preflight(Preflight((ERROR,)), "text") == Exit.FAILED
    assert capsys.readouterr().out == "error    HBM          too large\n                      → Use more cores.\n"


@pytest.mark.parametrize("planned", [True, False])
def test_a_dry_run_as_json(prepared: PreparedRun, capsys: pytest.CaptureFixture[str], planned: bool) -> None:
    found = Preflight((OK,) if planned else (ERROR,), prepared if planned else None)
    assert show_preflight(found, "jsonl") == (Exit.OK if planned else Exit.FAILED)
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert told["preflight"]["status"] == ("ok" if planned else "error")
    assert (told["plan"] is not None) is planned
    if planned:
        assert told["plan"]["recipe"]["max_new_tokens"] == 8
