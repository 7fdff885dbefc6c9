"""One core: tokens against an eager CPU run of the same checkpoint. Python 3.10, torch and transformers."""

from __future__ import annotations

import os
from typing import Any

from .compare import compare
from .conditions import loaded
from .generation import Event, Generation, Unchecked, foreign_options, generate_options, in_force


def source(recipe: dict[str, Any]) -> str:
    """Where the checkpoint is read from: a folder that holds a copy of it, else its id."""
    return os.environ.get("TRNUI_CHECKPOINT") or recipe["model"]


def origin(recipe: dict[str, Any]) -> dict[str, Any]:
    trusted = bool(recipe.get("options", {}).get("trust_remote_code"))
    return {"revision": recipe.get("revision"), "trust_remote_code": trusted}


def tokenizer_of(recipe: dict[str, Any]) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(source(recipe), **origin(recipe))


def against_cpu(recipe: dict[str, Any], events: list[Event], one: Generation) -> dict[str, Any]:
    """`{outcome, reason, tokens}`. A difference that the CPU makes as well, with the cache that the run used, is
    Transformers' own and no FAIL. Raises Unchecked."""
    if one.inputs is None:
        raise Unchecked("the inputs of generate() were not kept")
    options = generate_options(one.call)
    if options.get("do_sample"):
        raise Unchecked("the tokens were sampled: only greedy ones can be compared")
    foreign = foreign_options(one.call)
    if foreign:
        raise Unchecked(
            f"{', '.join(foreign)} of generate() may decide tokens, and the CPU run cannot take over what it is"
        )
    from safetensors.torch import load_file

    inputs = load_file(one.inputs)
    model, tokenizer = reference(recipe, events, one), tokenizer_of(recipe)
    if options.get("stop_strings"):
        options["tokenizer"] = tokenizer
    wanted, logits = generated(model, inputs, options)
    if any(bool(step.isnan().any()) for step in logits):
        raise Unchecked("the CPU run itself gives NaN")
    dtype = str(model.dtype).rpartition(".")[2]
    found = compare(one.rows, wanted, logits, dtype, lambda token: tokenizer.decode([token]))
    if found["outcome"] == "FAIL" and (options.get("num_beams") or 1) > 1:
        found = {
            **found,
            "outcome": "UNCHECKED",
            "reason": f"beam search, where no step decides alone: {found['reason']}",
        }
    if found["outcome"] == "FAIL":
        found = no_fault_of_the_device(found, model, inputs, options, one, wanted)
    row = found["tokens"].get("row", 0)
    found["tokens"]["text"] = tokenizer.decode(list(one.rows[row]), skip_special_tokens=True)
    found["tokens"]["reference_text"] = tokenizer.decode(found["tokens"]["reference_ids"], skip_special_tokens=True)
    return found


def generated(model: Any, inputs: dict[str, Any], options: dict[str, Any]) -> tuple[list[list[int]], list[Any]]:
    """New tokens of each sequence, and the scores of each step (with what was ruled out at -inf, as for the choice)."""
    import torch

    ids = next((inputs[k] for k in ("input_ids", "inputs", "decoder_input_ids") if k in inputs), None)
    length = 0 if ids is None or model.config.is_encoder_decoder else int(ids.shape[-1])
    with torch.no_grad():
        out = model.generate(**inputs, **options, output_scores=True, return_dict_in_generate=True)
    return [row[length:] for row in out.sequences.tolist()], [step.float() for step in out.scores or ()]


def no_fault_of_the_device(
    found: dict[str, Any],
    model: Any,
    inputs: dict[str, Any],
    options: dict[str, Any],
    one: Generation,
    wanted: list[list[int]],
) -> dict[str, Any]:
    """`found`, or UNCHECKED when the CPU gives other tokens, too, as soon as it uses the run's cache or its chunks."""
    said = in_force(one.call)
    ways: list[tuple[str, dict[str, Any]]] = []
    if said.get("cache_implementation") or any(k in said for k in ("past_key_values", "cache")):
        ways.append(("Transformers' static cache", {"cache_implementation": "static"}))
    if said.get("prefill_chunk_size"):
        chunks = {**(ways[0][1] if ways else {}), "prefill_chunk_size": said["prefill_chunk_size"]}
        ways.append(("chunked prefill into a static cache" if ways else "chunked prefill", chunks))
    row, at = found["tokens"].get("row", 0), found["tokens"]["first_difference"] or 0
    excuse = ""
    for name, more in ways:
        try:
            other = generated(model, inputs, {**options, **more})[0][row]
        except Exception as error:  # noqa: BLE001  the CPU cannot do it at all: that excuses nothing
            words = f"{name} on the CPU: {type(error).__name__}: {str(error)[:200]}"
            found["tokens"].setdefault("notes", []).append(words)
            continue
        if other == list(one.rows[row]):
            excuse = f"{name}, not the device: with it the CPU gives the same tokens as the run"
            break
        if other[: at + 1] != wanted[row][: at + 1]:
            excuse = excuse or f"{name}, perhaps not the device: with it the CPU gives other tokens, too"
    return {**found, "outcome": "UNCHECKED", "reason": f"{excuse} ({found['reason']})"} if excuse else found


def reference(recipe: dict[str, Any], events: list[Event], one: Generation) -> Any:
    """The same checkpoint, class and dtype on the CPU: eager. Raises Unchecked when memory is short."""
    import torch
    import transformers

    load = loaded(events, one) or {}
    size, free = load.get("bytes") or 0, available_memory()
    if free is not None and size > free:
        raise Unchecked(f"the CPU run needs {size / 2**30:.1f} GiB of host memory, {free / 2**30:.1f} GiB are free")
    # As it was when generate began: a script may load in one dtype and cast to another.
    name = str(one.start.get("dtype") or load.get("dtype") or "").rpartition(".")[2] or recipe["dtype"]
    dtype = getattr(torch, name, "auto")
    cls = getattr(transformers, str(one.start.get("model_class")), None)
    if cls is None:
        picture = recipe["task"] == "image-text-to-text"
        cls = transformers.AutoModelForImageTextToText if picture else transformers.AutoModelForCausalLM
    transformers.utils.logging.disable_progress_bar()
    return cls.from_pretrained(source(recipe), dtype=dtype, **origin(recipe)).eval()


def available_memory() -> int | None:
    """Bytes of host memory that can be had; None where the kernel does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            return next((int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable")), None)
    except OSError:
        return None
