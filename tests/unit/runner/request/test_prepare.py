"""From what is asked for to what is run: device, script, cores and judge, or the reason why not."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trnui.sample.models import folder_of
from trnui_runner.common.errors import DeviceError, UsageError, UserError
from trnui_runner.host.core_blocks import CoreRequest
from trnui_runner.host.core_owners import Owner
from trnui_runner.host.devices import Core, Devices
from trnui_runner.host.host_view import HostView
from trnui_runner.host.interpreter import Interpreter
from trnui_runner.payload import sharding
from trnui_runner.payload.judge import WORD_ORDER
from trnui_runner.request import placement, render_script
from trnui_runner.request import prepare as ordering
from trnui_runner.request.prepare import prepare
from trnui_runner.request.request import PreparedRun, RunRequest
from trnui_runner.request.script_scan import loads_of
from trnui_runner.request.steps import SupervisionOptions
from trnui_runner.run_folder.recipe import PROMPT, Recipe, RowSource

STACK: dict[str, Any] = {
    "python": "3.12.3",
    "torch": "2.14.0",
    "transformers": "5.24.0",
    "native": None,
    "stand_in": False,
}
TRN: dict[str, Any] = {**STACK, "native": True, "torch_neuronx": "2.14.3.0", "neuronx_cc": "2.28.1"}
CORES = tuple(Core(n, 0, 24 << 30) for n in range(4))
TRN2 = Devices(count=1, cores=CORES, kind="trn2")
FOREIGN = "print('someone else wrote this')\n"
OURS = render_script.render(Recipe("x", "trnui-sample/recites")).decode()


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`host(stack, devices)`: what `prepare` finds here."""

    def make(stack: dict[str, Any] = STACK, devices: Devices | None = None) -> None:
        found = Interpreter(sys.executable, "set by a test", stack)  # type: ignore[arg-type]
        monkeypatch.setattr(ordering, "look", lambda python: HostView(devices or Devices(), found))

    make()
    return make


@pytest.fixture
def recites() -> Path:
    folder = folder_of("trnui-sample/recites")
    assert folder is not None
    return folder


def row(**values: Any) -> dict[str, Any]:
    return {"model_id": "owner/name", "result": "PASS", "runner": "hf", "tp": 1, "run_py": FOREIGN, **values}


def test_folder_runs_on_the_cpu_of_a_host_without_neuron_and_says_so(host: Any, recites: Path) -> None:
    made = prepare(RunRequest(str(recites)))
    assert (made.recipe.device, made.recipe.cores, made.recipe.script) == ("cpu", 1, "bundled")
    assert made.notes == ("no Neuron device on this host: runs on the CPU, which says nothing about Trainium",)
    assert render_script.is_ours(made.script)
    assert made.recipe.script_sha256 == render_script.digest(made.script)
    assert made.steps[0].env["TORCH_DEVICE_BACKEND_AUTOLOAD"] == "0"
    assert made.steps[1].stage == "checking"


def test_trainium_row_never_falls_back_to_the_cpu(host: Any) -> None:
    with pytest.raises(DeviceError) as caught:
        prepare(RunRequest("owner/name", row=row()))
    assert "this host has none" in caught.value.message
    assert "trnui-sample/recites" in caught.value.remedy


def test_row_brings_its_own_script_byte_for_byte(host: Any) -> None:
    host(TRN, TRN2)
    made = prepare(RunRequest("owner/name", row=row(run_py="# é\r\nprint(1)"), source=RowSource("d", "c", "f", 3)))
    assert made.script == "# é\r\nprint(1)".encode()
    assert (made.recipe.script, made.recipe.device) == ("published", "neuron")
    assert made.recipe.options["row_script_sha256"] == made.recipe.script_sha256
    assert made.recipe.row is not None
    assert "run_py" not in made.recipe.row


def test_published_script_is_not_changed_by_options(host: Any) -> None:
    host(TRN, TRN2)
    with pytest.raises(UsageError) as caught:
        prepare(RunRequest("owner/name", row=row(), prompt="Once", dtype="float32"))
    assert "--prompt, --dtype" in caught.value.message
    assert "bundled" in caught.value.remedy


def test_cpu_row_runs_on_the_cpu_and_its_own_words_are_the_prompt(host: Any, recites: Path) -> None:
    source = OURS.replace("'The compiler turns every graph into'", "'You can look for a name,'")
    made = prepare(
        RunRequest(
            "trnui-sample/recites",
            row=row(runner="trnui/cpu", result="PASS (CPU)", run_py=source),
            source=RowSource("sample"),
            checkpoint=recites,
        )
    )
    assert (made.recipe.device, made.recipe.prompt) == ("cpu", "You can look for a name,")
    assert made.recipe.judge == WORD_ORDER
    assert made.steps[0].env["TRNUI_CHECKPOINT"] == made.steps[1].env["TRNUI_CHECKPOINT"] == str(recites)


def test_word_order_does_not_judge_a_trainium_run(host: Any, recites: Path) -> None:
    host(TRN, TRN2)
    made = prepare(RunRequest("trnui-sample/recites", device="neuron", source=RowSource("sample"), checkpoint=recites))
    assert (made.recipe.device, made.recipe.judge) == ("neuron", None)


def test_stand_in_host_is_called_one(host: Any, recites: Path) -> None:
    host({**TRN, "stand_in": True}, TRN2)
    assert prepare(RunRequest(str(recites), device="neuron")).recipe.device == "stand-in"


def test_interpreter_without_torch_is_refused_with_what_to_install(host: Any, recites: Path) -> None:
    host({"python": "3.12.3", "transformers": "5.24.0"})
    with pytest.raises(UserError, match="has no torch") as caught:
        prepare(RunRequest(str(recites)))
    assert "-m pip install 'torch>=" in caught.value.remedy


def test_neuron_needs_an_environment_with_the_native_backend(host: Any, recites: Path) -> None:
    host(STACK, TRN2)
    with pytest.raises(DeviceError, match="no torch-neuronx"):
        prepare(RunRequest(str(recites), device="neuron"))


def held(core: Core) -> Core:
    return Core(core.id, core.device, core.hbm, owners=(Owner(4242, "python", (core.id,)),))


def test_one_core_takes_a_free_one_and_is_shown_only_that(host: Any, recites: Path) -> None:
    host(TRN, Devices(count=1, cores=(held(CORES[0]), *CORES[1:]), kind="trn2"))
    supervision = prepare(RunRequest(str(recites), device="neuron")).supervision
    assert supervision.cores == CoreRequest(1, (0, 1, 2, 3), held=(0,))
    assert supervision.cores.candidates()[0] == (1,)
    assert supervision.neuronx_cc == "2.28.1"


def sharded(**values: Any) -> PreparedRun:
    return prepare(RunRequest("owner/name", row=row(tp=2, run_py="tp_plan='auto'", **values)))


def wanted(made: PreparedRun) -> CoreRequest:
    assert made.supervision.cores is not None
    return made.supervision.cores


def test_published_sharded_script_is_moved_to_whichever_block_is_free(host: Any) -> None:
    host(TRN, Devices(count=1, cores=(held(CORES[0]), *CORES[1:]), kind="trn2"))
    made = sharded()
    assert wanted(made) == CoreRequest(2, (0, 1, 2, 3), held=(0,), visible="rank")
    assert wanted(made).candidates() == [(2, 3)]
    assert (made.recipe.cores, made.recipe.parallelism, made.notes) == (2, "tp", ())


@pytest.mark.parametrize(
    ("script", "move"),
    [
        ("tp_plan='auto'", False),
        ("os.environ['NEURON_RT_VISIBLE_CORES'] = str(rank)\ntp_plan='auto'", True),
        ("os.environ['NEURON_RT_NUM_CORES'] = '2'", True),
    ],
)
def test_a_script_that_places_itself_or_is_not_to_be_moved_takes_the_first_cores(
    host: Any, script: str, move: bool
) -> None:
    options = SupervisionOptions(move_sharded=move)
    asked = RunRequest("owner/name", row=row(tp=2, run_py=script), supervision=options)
    host(TRN, TRN2)
    made = prepare(asked)
    assert wanted(made).visible == "none"
    assert wanted(made).candidates() == [(0, 1)]
    assert wanted(made).candidates(leased=(1,)) == []
    assert any("places its ranks itself" in note for note in made.notes) is move
    host(TRN, Devices(count=1, cores=(held(CORES[0]), *CORES[1:]), kind="trn2"))
    with pytest.raises(DeviceError, match=r"Cores 0 to 1 needed.*core 0: pid 4242"):
        prepare(asked)


def test_a_run_of_ours_is_waited_for_a_foreign_process_is_not(host: Any) -> None:
    mine = Owner(7, "python", (0,), run="20260101-000000-x-ab12")
    leased = Core(0, 0, 24 << 30, (mine,), "20260101-000000-x-ab12")
    host(TRN, Devices(count=1, cores=(leased, *CORES[1:]), kind="trn2"))
    made = prepare(RunRequest("owner/name", row=row(tp=4, run_py="tp_plan='auto'")))
    assert wanted(made).held == ()
    assert made.notes == ("waits for cores that other runs hold",)
    left = replace(leased, owners=(replace(mine, leftover=True),), lease=None)
    host(TRN, Devices(count=1, cores=(left, *CORES[1:]), kind="trn2"))
    with pytest.raises(DeviceError, match="aligned block of 4 cores needed"):
        prepare(RunRequest("owner/name", row=row(tp=4, run_py="tp_plan='auto'")))


def test_cores_of_a_device_are_counted_by_device(host: Any) -> None:
    lnc1 = tuple(Core(n, n // 8, 12 << 30) for n in range(16))
    host(TRN, Devices(count=2, cores=lnc1, kind="trn2"))
    assert wanted(sharded()).per_device == 8


def planned(monkeypatch: pytest.MonkeyPatch, made: sharding.ShardingPlan) -> list[Any]:
    asked: list[Any] = []

    def ask_plan(*given: Any) -> sharding.ShardingPlan:
        asked.append(given)
        return made

    monkeypatch.setattr(placement, "_ask_plan", ask_plan)
    return asked


def test_weights_that_fit_one_core_need_no_plan(host: Any, recites: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host(TRN, TRN2)
    asked = planned(monkeypatch, sharding.ShardingPlan(4, "tp"))
    assert prepare(RunRequest(str(recites), device="neuron")).recipe.cores == 1
    assert not asked


def test_bundled_script_takes_cores_from_the_row_and_asks_how_to_split(
    host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    host(TRN, TRN2)
    asked = planned(monkeypatch, sharding.ShardingPlan(4, "ep"))
    made = prepare(RunRequest("owner/name", row=row(tp=4), script="bundled"))
    assert (made.recipe.cores, made.recipe.parallelism) == (4, "ep")
    assert asked[0][1] == 4
    assert wanted(made).visible == "all"
    assert wanted(made).candidates() == [(0, 1, 2, 3)]


def test_what_cannot_work_is_refused_before_loading(host: Any, recites: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned(monkeypatch, sharding.ShardingPlan(4, "tp", refused="4 cores do not divide 6 attention heads"))
    with pytest.raises(UserError, match="4 cores do not divide 6 attention heads"):
        prepare(RunRequest(str(recites), cores=4))
    assert prepare(RunRequest(str(recites), cores=4, force=True)).recipe.cores == 4


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (RunRequest("/no/such/folder"), "Folder not found"),
        (RunRequest("owner/name", script="/no/such/script.py"), "Script not found"),
        (RunRequest("owner/name", script="published"), "has no run.py"),
        (RunRequest("owner/name", device="gpu"), "Unknown device: gpu"),
        (RunRequest("owner/name", dtype="bf16"), "Unknown dtype: bf16"),
        (RunRequest("owner/name", image="nowhere.png"), "Picture not found: nowhere.png"),
    ],
)
def test_contradictions_are_usage_errors(host: Any, order: RunRequest, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        prepare(order)


def test_picture_is_a_file_of_the_user_or_of_the_checkpoint(
    host: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of("trnui-sample/recites-picture")
    assert folder is not None
    (tmp_path / "mine.png").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    assert prepare(RunRequest(str(folder), image="mine.png")).recipe.image == str(tmp_path / "mine.png")
    made = prepare(RunRequest(str(folder), image="red-square.png")).recipe
    assert (made.image, made.task, made.prompt) == (
        "red-square.png",
        "image-text-to-text",
        "What does the picture show?",
    )


def test_script_that_trusts_remote_code_is_checked_the_same_way(host: Any) -> None:
    host(TRN, TRN2)
    made = prepare(RunRequest("owner/name", row=row(run_py="x.from_pretrained(m, trust_remote_code = True)")))
    assert made.recipe.options["trust_remote_code"] is True


def test_departures_are_named(host: Any, recites: Path) -> None:
    made = prepare(RunRequest(str(recites), max_new_tokens=8, prompt="Once"))
    assert "8 new tokens instead of 32" in made.recipe.departures()


@pytest.mark.parametrize(
    ("words", "trusted"),
    [
        ("trust_remote_code=True", True),
        ("trust_remote_code = TRUST", True),
        ("**{'trust_remote_code': True}", True),
        ("trust_remote_code=False", False),
        ("  # trust_remote_code=True is not needed", False),
        ("note='trust_remote_code=True'", False),
    ],
)
def test_check_runs_a_checkpoints_code_only_where_the_script_does(host: Any, words: str, trusted: bool) -> None:
    """The consent names what the script's syntax tree says; the check must not run code that the consent left out."""
    host(TRN, TRN2)
    made = prepare(RunRequest("owner/name", row=row(run_py=f"TRUST = True\nx.from_pretrained(m,\n{words}\n)")))
    assert made.recipe.options.get("trust_remote_code", False) is trusted
    assert loads_of(made.script.decode()).remote_code is trusted


def test_prompt_that_is_given_is_the_prompt_also_when_it_is_empty(host: Any, recites: Path) -> None:
    assert prepare(RunRequest(str(recites), prompt="")).recipe.prompt == ""
    assert prepare(RunRequest(str(recites))).recipe.prompt == PROMPT


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"prompt": "Once"}, "a prompt of one's own"),
        ({"dtype": "float16"}, "dtype float16 by option"),
        ({"max_new_tokens": 4}, "4 new tokens instead of 32"),
    ],
)
def test_what_departs_from_the_protocol_says_so_and_nothing_else_does(
    host: Any, recites: Path, options: dict[str, Any], words: str
) -> None:
    usual = prepare(RunRequest(str(recites))).recipe.departures()
    made = prepare(RunRequest(str(recites), **options))
    assert set(made.recipe.departures()) - set(usual) == {words}
    assert f"# Not the protocol: {words}" in made.script.decode()


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"cores": 3}, "--cores"),
        ({"cores": 2, "parallelism": "ep"}, "--parallelism"),
        ({"cores": 2, "parallelism": "tp"}, "--cores 1"),
    ],
)
def test_refusal_names_the_option_that_would_help(
    host: Any, recites: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], remedy: str
) -> None:
    tensor = options.get("parallelism") != "tp"
    facts = sharding.ModelFacts("Qwen3ForCausalLM", 4, 2, None, tp=tensor, ep=False)
    made = sharding.decide(facts, cores=options["cores"], parallelism=options.get("parallelism"))
    monkeypatch.setattr(placement, "_ask_plan", lambda *_: made)
    with pytest.raises(UserError) as refused:
        prepare(RunRequest(str(recites), **options))
    assert remedy in refused.value.remedy


def test_bundled_script_asks_what_the_rows_own_script_of_ours_asks(host: Any) -> None:
    own = Recipe(
        "x", "owner/name", task="image-text-to-text", prompt="Which colour?", image="red.png", max_new_tokens=8
    )
    of_row = row(run_py=render_script.render(own).decode())
    made = prepare(RunRequest("owner/name", row=of_row, script="bundled", device="cpu")).recipe
    assert (made.prompt, made.image, made.max_new_tokens) == ("Which colour?", "red.png", 8)
    made = prepare(
        RunRequest("owner/name", row=of_row, script="bundled", device="cpu", prompt="Why?", max_new_tokens=4)
    ).recipe
    assert (made.prompt, made.image, made.max_new_tokens) == ("Why?", "red.png", 4)
    made = prepare(RunRequest("owner/name", row=row(), script="bundled", device="cpu")).recipe
    assert (made.prompt, made.image, made.max_new_tokens) == (PROMPT, None, 32)


@pytest.mark.parametrize(
    "name",
    [
        "x" * 5000,
        "a/" + "b" * 300,
        "~no such user/x",
        "a\0b",
        "a/\ud800",
        "..",
        "/",
        "a//b",
        "./\x1b]0;t\x07",
        "\n",
        "-",
    ],
)
def test_name_of_a_model_may_be_anything(host: Any, name: str, home: Path) -> None:
    """Each becomes a run, or is refused in words that are safe to show; none is a fault of the program."""
    for script_ in ("bundled", "published"):
        try:
            made = prepare(RunRequest(name, row=row(model_id=name), script=script_, device="cpu"))
        except UserError as error:
            said = str(error)
        else:
            said = made.recipe.id
            assert re.fullmatch(r"\d{8}-\d{6}-[A-Za-z0-9._-]{1,80}-[0-9a-f]{4}", made.recipe.id)
        assert not set("\x1b\x07\0") & set(said)


@pytest.mark.parametrize("field", ["script", "image", "python"])
@pytest.mark.parametrize("value", ["x" * 5000, "~no such user/x", "a\0b", "\x1b]0;t\x07"])
def test_path_that_is_none_is_said_to_be_none(recites: Path, field: str, value: str) -> None:
    with pytest.raises(UsageError, match=r"not found|No Python") as refused:
        prepare(RunRequest(str(recites), **{field: value}))
    assert not set("\x1b\x07\0") & set(str(refused.value))


@pytest.mark.parametrize(
    ("installed", "task", "gone"),
    [
        ({"accelerate": "1", "pillow": "11"}, "image-text-to-text", ()),
        ({"accelerate": "1"}, "image-text-to-text", ("pillow",)),
        ({"accelerate": "1"}, "text-generation", ()),
        ({"pillow": "11"}, "text-generation", ("accelerate",)),
        (None, "image-text-to-text", ()),  # not asked
    ],
)
def test_packages_that_a_bundled_script_needs_are_asked_for_before_it_runs(
    host: Any, installed: dict[str, str] | None, task: str, gone: tuple[str, ...]
) -> None:
    host({**STACK, "installed": installed} if installed is not None else STACK)
    folder = folder_of("trnui-sample/recites-picture" if task == "image-text-to-text" else "trnui-sample/recites")
    assert placement.lacking({**STACK, "installed": installed}, True, task) == gone
    assert placement.lacking({**STACK, "installed": installed}, False, task) == ()  # a published script knows best
    if not gone:
        assert prepare(RunRequest(str(folder))).recipe.task == task
        return
    with pytest.raises(UserError, match=f"has no {gone[0]}") as refused:
        prepare(RunRequest(str(folder)))
    assert "--python" in refused.value.remedy


def test_a_samples_script_on_the_device_is_refused_beforehand_with_the_way_that_works(host: Any, recites: Path) -> None:
    host(TRN, TRN2)
    made_on_cpu = row(runner="trnui/cpu", result="PASS (CPU)", run_py=OURS)
    with pytest.raises(UsageError, match="runs on the CPU alone") as caught:
        prepare(RunRequest("trnui-sample/recites", row=made_on_cpu, device="neuron", checkpoint=recites))
    assert "--script bundled" in caught.value.remedy
    again = RunRequest("trnui-sample/recites", row=made_on_cpu, device="neuron", script="bundled", checkpoint=recites)
    assert prepare(again).recipe.device == "neuron"
    assert prepare(RunRequest("trnui-sample/recites", row=made_on_cpu, checkpoint=recites)).recipe.device == "cpu"


def test_model_of_another_task_is_refused_beforehand(host: Any, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(
        '{"architectures": ["T5ForConditionalGeneration"], "is_encoder_decoder": true}'
    )
    with pytest.raises(
        UserError, match="not made for text-generation: T5ForConditionalGeneration is an encoder-decoder"
    ):
        prepare(RunRequest(str(tmp_path)))
    assert prepare(RunRequest(str(tmp_path), force=True)).recipe.task == "text-generation"


def test_quantized_weights_without_their_package_are_refused_with_the_way_to_it(host: Any, tmp_path: Path) -> None:
    host({**STACK, "installed": {"torch": "2.14.0", "accelerate": "1.0"}})
    (tmp_path / "config.json").write_text('{"quantization_config": {"quant_method": "compressed-tensors"}}')
    with pytest.raises(UserError, match="has no compressed-tensors") as caught:
        prepare(RunRequest(str(tmp_path)))
    assert caught.value.remedy.endswith("-m pip install compressed-tensors")


@pytest.mark.parametrize("cls", ["AutoModelForImageTextToText", "AutoModelForVision2Seq"])
def test_picture_models_are_known_by_the_class_that_their_script_loads(host: Any, cls: str) -> None:
    host(TRN, TRN2)
    made = prepare(RunRequest("owner/name", row=row(run_py=f"from transformers import {cls}\n")))
    assert made.recipe.task == "image-text-to-text"
