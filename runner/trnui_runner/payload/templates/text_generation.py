"""Load a checkpoint, generate tokens greedily with a static cache and torch.compile, print them with the times.

    python3 run.py

Needs torch and transformers, and torch-neuronx for the device "neuron"; nothing of trnui. With CORES > 1 it starts one
process a core itself (no torchrun) and ends them together; the first rank that failed is named first. It is one file,
however long, because it must run without anything else of ours.
"""

# --- imports (of what stands above in the joined script)
from __future__ import annotations

import sys
from typing import Any

from trnui_runner.payload.templates.base import (
    DTYPE,
    PROMPT,
    REVISION,
    SOURCE,
    TRUST_REMOTE_CODE,
    main,
    placement,
)

# --- end of imports


def load() -> tuple[Any, Any, dict[str, Any]]:
    """The model on its device, its tokenizer, and the encoded prompt."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    origin: dict[str, Any] = {"revision": REVISION, "trust_remote_code": TRUST_REMOTE_CODE}
    tokenizer = AutoTokenizer.from_pretrained(SOURCE, **origin)
    inputs = tokenizer(PROMPT, return_tensors="pt")
    model = AutoModelForCausalLM.from_pretrained(SOURCE, dtype=DTYPE, **origin, **placement()).eval()
    accepted = {"input_ids", "attention_mask"}  # some tokenizers add token_type_ids, which decoders refuse
    return model, tokenizer, {name: value for name, value in inputs.items() if name in accepted}


if __name__ == "__main__":
    sys.exit(main(load))
