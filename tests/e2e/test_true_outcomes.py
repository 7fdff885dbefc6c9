"""Scripts that once got the wrong outcome, each run for real on one CPU core. With --slow: about a quarter of a minute each."""

from __future__ import annotations

import json
import shutil
import textwrap
from pathlib import Path

import pytest
from safetensors import safe_open
from safetensors.torch import save_file

from tests.e2e.cells import quiet, wait
from trnui.sample.models import folder_of
from trnui_runner.request.prepare import prepare
from trnui_runner.request.request import RunRequest
from trnui_runner.run_folder.folder import Result
from trnui_runner.supervise import launcher

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(240)]
HEAD = """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, CompileConfig
    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    model = AutoModelForCausalLM.from_pretrained(MODEL, dtype=DTYPE).eval()
    x = tokenizer(PROMPT, return_tensors="pt")
    ids = dict(input_ids=x["input_ids"], attention_mask=x["attention_mask"])
    compiled = CompileConfig(backend="aot_eager", dynamic=False, fullgraph=False)
    compiled._compile_all_devices = True
    static = dict(cache_implementation="static", compile_config=compiled)

    def go(tokens=32, **more):
        given = {**ids, **static, "max_new_tokens": tokens, "min_new_tokens": tokens, "do_sample": False, **more}
        return model.generate(**given)
"""


def run(request: RunRequest) -> Result:
    made = prepare(request)
    return wait(launcher.start(made.recipe, made.script, made.steps, made.supervision, environ=quiet()))


def sample(name: str) -> Path:
    folder = folder_of(f"trnui-sample/{name}")
    assert folder is not None
    return folder


@pytest.mark.parametrize(
    ("body", "dtype", "outcome", "words"),
    [
        ("go()", "float32", "PASS", "32 of 32 tokens equal to the CPU run"),
        ("go(2); go()", "float32", "PASS", "32 of 32 tokens equal to the CPU run"),
        ("go(2); model.model.embed_tokens.weight.data.mul_(-1); go()", "float32", "FAIL", "token 0 is"),
        ("model.to(torch.bfloat16); go()", "float32", "PASS", "32 of 32 tokens equal to the CPU run"),
        ("go(logits_processor=[lambda ids, scores: scores.flip(-1)])", "float32", "UNCHECKED", "logits_processor of generate()"),
        ("go(compile_config=None)", "float32", "UNCHECKED", "it ran, but nothing was compiled"),
        ("go(4)", "float32", "UNCHECKED", "only 4 new tokens, and no end token"),
        (
            "ids = dict(inputs_embeds=model.get_input_embeddings()(x['input_ids']).detach(), attention_mask=x['attention_mask']); go()",
            "float32", "PASS", "32 of 32 tokens equal to the CPU run",
        ),
        (
            "two = tokenizer([PROMPT, PROMPT], return_tensors='pt'); ids = dict(input_ids=two['input_ids'],"
            " attention_mask=two['attention_mask']); go()",
            "float32", "PASS", "64 of 64 tokens of 2 sequences equal to the CPU run",
        ),
    ],
    ids=("plain", "warm-up", "right-then-wrong", "cast", "processor", "eager", "short", "embeddings", "batch"),
)  # fmt: skip
def test_script(tmp_path: Path, body: str, dtype: str, outcome: str, words: str) -> None:
    folder = sample("recites")
    values = (
        f"MODEL, PROMPT = {str(folder)!r}, 'The compiler turns every graph into'\nimport torch\nDTYPE = torch.{dtype}\n"
    )
    script = tmp_path / "mine.py"
    script.write_text(values + textwrap.dedent(HEAD) + body + "\n")
    found = run(RunRequest(str(folder), script=str(script), device="cpu"))
    assert (found.outcome, found.kind) == (outcome, "cpu-match"), found.reason
    assert words in found.reason


@pytest.mark.parametrize(
    ("lose", "config", "words"),
    [
        (
            "lm_head.weight",
            {"tie_word_embeddings": False},
            "1 weight not in the checkpoint, drawn at random: lm_head.weight",
        ),
        ("", {"num_hidden_layers": 3}, "not in the checkpoint, drawn at random: model.layers.2."),
        ("", {"num_hidden_layers": 1}, "of the checkpoint not used: model.layers.1."),
    ],
)
def test_checkpoint_whose_weights_are_not_the_models(
    tmp_path: Path, lose: str, config: dict[str, object], words: str
) -> None:
    folder = Path(shutil.copytree(sample("llama"), tmp_path / "mine"))
    told = json.loads((folder / "config.json").read_text()) | config
    told.pop("layer_types", None)
    (folder / "config.json").write_text(json.dumps(told))
    with safe_open(folder / "model.safetensors", "pt") as file:
        weights = {name: file.get_tensor(name) for name in file.keys() if name != lose}  # noqa: SIM118  not a dict
    (folder / "model.safetensors").unlink()  # a link into the sample
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    found = run(RunRequest(str(folder), device="cpu", dtype="float32"))
    assert found.outcome == "UNCHECKED"
    assert words in found.reason


def test_generation_config_that_fights_the_script_is_set_aside_and_said(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(sample("llama"), tmp_path / "mine"))
    asked = {"stop_strings": ["the"], "do_sample": True, "num_return_sequences": 2, "dola_layers": "low", "penalty_alpha": 0.6,
             "top_k": 4, "use_cache": False, "pad_token_id": 0}  # fmt: skip
    (folder / "generation_config.json").unlink(missing_ok=True)
    (folder / "generation_config.json").write_text(json.dumps(asked))
    found = run(RunRequest(str(folder), device="cpu", dtype="float32"))
    assert found.outcome == "PASS", found.reason
    names = "dola_layers, num_return_sequences, penalty_alpha, stop_strings"
    assert f"set aside of generation_config.json: {names}" in found.notes
