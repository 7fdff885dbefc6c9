"""The shipped weights come from tools/train_sample.py: trained again, the models say the same (bits depend on the CPU)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.slow]  # two minutes of training
torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
sys.path.insert(0, str(ROOT / "tools"))


@pytest.mark.parametrize("name", ["recites", "recites-moe"])
def test_retrained_model_knows_the_passage(name: str, tmp_path: Path) -> None:
    import train_sample
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from trnui.sample import models
    from trnui.sample.texts import PASSAGE

    models.write(name, tmp_path, train_sample.train(name))
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    model = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32).eval()
    passage = " ".join(PASSAGE) + " " + PASSAGE[0]
    for sentence in PASSAGE:
        prompt = " ".join(sentence.split()[:6])
        x = tokenizer(prompt, return_tensors="pt")
        with torch.no_grad():
            out = model.generate(
                **x,
                max_new_tokens=32,
                min_new_tokens=32,
                do_sample=False,
                output_logits=True,
                return_dict_in_generate=True,
            )
        said = tokenizer.decode(out.sequences[0])
        assert said[:120] in passage, said
        top = torch.stack(out.logits)[:, 0].topk(2).values
        assert (top[:, 0] - top[:, 1]).min().item() > 3


def test_retrained_model_names_the_colours(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    import train_sample
    from PIL import Image
    from transformers import AutoModelForImageTextToText, AutoProcessor

    from trnui.sample import models
    from trnui.sample.texts import PICTURES, QUESTION

    models.write("recites-picture", tmp_path, train_sample.train("recites-picture", 600))
    processor = AutoProcessor.from_pretrained(tmp_path)
    model = AutoModelForImageTextToText.from_pretrained(tmp_path, dtype=torch.float32).eval()
    for name, _, caption in PICTURES:
        content = [{"type": "image", "image": Image.open(tmp_path / f"{name}.png")}, {"type": "text", "text": QUESTION}]
        x = processor.apply_chat_template(
            [{"role": "user", "content": content}],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
        )
        with torch.no_grad():
            out = model.generate(**x, max_new_tokens=16, do_sample=False)
        said = processor.tokenizer.decode(out[0, x["input_ids"].shape[1] :])
        assert caption.startswith(said.strip()), (name, said)
