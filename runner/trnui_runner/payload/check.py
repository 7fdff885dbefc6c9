"""Checks what a run generated: tokens against a CPU run of the same checkpoint, or a judge's opinion of the English.

    python check.py RUN_FOLDER

Executed by the run's interpreter, by file path: standard library, torch and transformers only. It reads what the probe
kept (inputs, tokens) and writes one line, the event "check", to events/<pid>.jsonl. It never touches a device.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
# The reference's gap between its own token and the device's, below which the choice is left to rounding: so many units
# in the last place of the logit. Measured noise of static cache + compile against eager: up to 3e-5 in float32, 0.16 in
# bfloat16 (logits up to 10); true mismatches: 0.47 and more. float32 gets 1e-5, since devices compute it in less.
TIE = {"float64": 1e-5, "float32": 1e-5, "float16": 2 * 2.0**-10, "bfloat16": 2 * 2.0**-7}
# What of a call of `generate` decides its tokens, and means the same in the reference.
KEPT = """
max_new_tokens min_new_tokens max_length min_length do_sample num_beams num_return_sequences length_penalty early_stopping
pad_token_id eos_token_id bos_token_id repetition_penalty encoder_repetition_penalty no_repeat_ngram_size bad_words_ids
suppress_tokens begin_suppress_tokens forced_bos_token_id forced_eos_token_id guidance_scale logits_to_keep
"""
Event = dict[str, Any]


class Unchecked(Exception):
    """No verdict is possible; the message says why."""


def main(folder: str) -> int:
    started = time.monotonic()
    with open(f"{folder}/recipe.json", encoding="utf-8") as file:
        recipe = json.load(file)
    events = read_events(f"{folder}/events")
    kind = "english" if world_size(events) > 1 else "cpu-match"
    try:
        found = check(folder, recipe, events, kind)
    except Unchecked as error:
        found = {"outcome": "UNCHECKED", "reason": str(error)}
    except Exception as error:  # noqa: BLE001  a reference that cannot run is no failure of the device
        sys.excepthook(type(error), error, error.__traceback__)
        words = f"the check itself failed: {type(error).__name__}: {str(error)[:300]}"
        found = {"outcome": "UNCHECKED", "reason": words}
    found = {"kind": kind, **found, "seconds": round(time.monotonic() - started, 3), "stack": stack()}
    tell(folder, found)
    print(f"check ({kind}): {found['outcome']}: {found['reason']}", flush=True)
    return 0


def check(folder: str, recipe: dict[str, Any], events: list[Event], kind: str) -> dict[str, Any]:
    """`{outcome, reason, tokens, judge}`. Raises Unchecked."""
    start, end = generation(events, recipe["device"])
    if kind == "english":
        return fluency(recipe, end)
    return against_cpu(folder, recipe, events, start, end)


# --- what was generated


def read_events(folder: str) -> list[Event]:
    """All processes' events in the order of their times; broken lines are left out."""
    found: list[Event] = []
    for name in sorted(os.listdir(folder)):
        with open(f"{folder}/{name}", "rb") as file:
            for line in file:
                try:
                    event = json.loads(line)
                except ValueError:
                    continue
                if isinstance(event, dict):
                    found.append(event)
    return sorted(found, key=lambda e: e["t"] if isinstance(e.get("t"), int | float) else 0.0)


def world_size(events: list[Event]) -> int:
    return max(
        (e["world_size"] for e in events if e.get("event") == "group" and isinstance(e.get("world_size"), int)),
        default=1,
    )


def generation(events: list[Event], device: str) -> tuple[Event, Event]:
    """Start and end of the first `generate` on the run's device that ended with tokens. Raises Unchecked.

    A script may generate several times, and may hold a CPU reference of its own: so the device decides, then the order.
    """
    wanted = "cpu" if device == "cpu" else "neuron"
    calls = [e for e in events if e.get("event") == "generate" and str(e.get("device", "")).split(":")[0] == wanted]
    ends = [
        e
        for e in calls
        if e.get("state") == "end" and isinstance(e.get("new_ids"), list) and e.get("rank") in (None, 0)
    ]
    if not ends:
        others = any(e.get("event") == "generate" for e in events)
        raise Unchecked(
            f"run.py generated nothing on the device {wanted}" if others else "run.py never called generate()"
        )
    end = ends[0]
    same = [
        e for e in calls if e.get("state") == "start" and (e.get("pid"), e.get("n")) == (end.get("pid"), end.get("n"))
    ]
    if not same or not end["new_ids"]:
        raise Unchecked("generate() gave no new tokens" if same else "the probe did not see generate() begin")
    return same[0], end


def source(recipe: dict[str, Any]) -> str:
    """Where the checkpoint is read from: a folder that holds a copy of it, else its id."""
    return os.environ.get("TRNUI_CHECKPOINT") or recipe["model"]


def origin(recipe: dict[str, Any]) -> dict[str, Any]:
    trusted = bool(recipe.get("options", {}).get("trust_remote_code"))
    return {"revision": recipe.get("revision"), "trust_remote_code": trusted}


def tokenizer_of(recipe: dict[str, Any]) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(source(recipe), **origin(recipe))


# --- one core: tokens against the CPU


def against_cpu(folder: str, recipe: dict[str, Any], events: list[Event], start: Event, end: Event) -> dict[str, Any]:
    if not start.get("inputs"):
        raise Unchecked("the inputs of generate() were not kept")
    import torch
    import transformers
    from safetensors import safe_open

    inputs, call = {}, {}
    with safe_open(f"{folder}/inputs/{start['inputs']}", framework="pt") as kept:
        inputs = {name: kept.get_tensor(name) for name in kept.keys()}  # noqa: SIM118  not a dict
        call = {name: json.loads(value) for name, value in (kept.metadata() or {}).items() if value[:1] in "{["}
    options = generate_options(call)
    if options.get("do_sample"):
        raise Unchecked("the tokens were sampled: only greedy ones can be compared")
    model = reference(recipe, events, start, transformers, torch)
    length = (
        0
        if model.config.is_encoder_decoder
        else int(next(inputs[k] for k in ("input_ids", "inputs") if k in inputs).shape[-1])
    )
    with torch.no_grad():
        out = model.generate(**inputs, **options, output_scores=True, return_dict_in_generate=True)
    wanted = [int(token) for token in out.sequences[0, length:].tolist()]
    logits = [step[0].float() for step in out.scores or ()]  # with an end token ruled out, as it was for the choice
    if any(bool(step.isnan().any()) for step in logits):
        raise Unchecked("the CPU run itself gives NaN")
    tokenizer = tokenizer_of(recipe)
    found = compare(
        end["new_ids"], wanted, logits, str(model.dtype).rpartition(".")[2], lambda token: tokenizer.decode([token])
    )
    found["tokens"]["text"] = tokenizer.decode(end["new_ids"], skip_special_tokens=True)
    found["tokens"]["reference_text"] = tokenizer.decode(wanted, skip_special_tokens=True)
    return found


def generate_options(call: dict[str, Any]) -> dict[str, Any]:
    """The options that decide the tokens: the call's own, over those of a generation config that was passed to it."""
    given = call.get("kwargs", {})
    passed = given.get("generation_config")
    merged = {**(passed if isinstance(passed, dict) else call.get("generation_config", {})), **given}
    return {name: value for name, value in merged.items() if name in KEPT.split() and value is not None}


def reference(recipe: dict[str, Any], events: list[Event], start: Event, transformers: Any, torch: Any) -> Any:
    """The same checkpoint, class and dtype on the CPU: eager, dynamic cache. Raises Unchecked when memory is short."""
    loads = [e for e in events if e.get("event") == "loaded" and e.get("pid") == start.get("pid") and e.get("bytes")]
    loaded = next((e for e in loads if e.get("model_class") == start.get("model_class")), {})
    free = available_memory()
    if free is not None and loaded.get("bytes", 0) > free:
        raise Unchecked(
            f"the CPU run needs {loaded['bytes'] / 2**30:.1f} GiB of host memory, {free / 2**30:.1f} GiB are free"
        )
    name = str(loaded.get("dtype") or "").rpartition(".")[2] or recipe["dtype"]
    dtype = getattr(torch, name, "auto")
    cls = getattr(transformers, str(start.get("model_class")), None)
    if cls is None:
        picture = recipe["task"] == "image-text-to-text"
        cls = transformers.AutoModelForImageTextToText if picture else transformers.AutoModelForCausalLM
    transformers.utils.logging.disable_progress_bar()
    return cls.from_pretrained(source(recipe), dtype=dtype, **origin(recipe)).eval()


def available_memory() -> int | None:
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            return next((int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable")), None)
    except OSError:
        return None


def compare(
    new: list[int], wanted: list[int], logits: list[Any], dtype: str, text: Callable[[int], str] = str
) -> dict[str, Any]:
    """Equal → PASS; a first difference between tokens that the reference holds for nearly equal → UNCHECKED; else FAIL.

    `logits`: the reference's, one vector a step. gap: between its own token and the run's,
    which decides; margin: between its two best tokens.
    """
    tokens: dict[str, Any] = {"new_ids": new, "reference_ids": wanted, "first_difference": None, "margin": None}
    total = max(len(new), len(wanted))
    at = next((n for n in range(total) if new[n : n + 1] != wanted[n : n + 1]), None)
    if at is None:
        return {"outcome": "PASS", "reason": f"{total} of {total} tokens equal to the CPU run", "tokens": tokens}
    tokens["first_difference"] = at
    if at >= min(len(new), len(wanted)) or at >= len(logits):
        return {
            "outcome": "FAIL",
            "reason": f"{len(new)} tokens instead of the CPU run's {len(wanted)}",
            "tokens": tokens,
        }
    step = [float(v) for v in logits[at]]
    best, second = step[wanted[at]], max(v for n, v in enumerate(step) if n != wanted[at])
    margin, gap = best - second, best - step[new[at]]
    limit = TIE.get(dtype, TIE["bfloat16"]) * max(1.0, abs(best))
    tokens.update(margin=round(margin, 5), gap=round(gap, 5), tie_limit=round(limit, 5), dtype=dtype)
    if gap <= limit:
        words = f"{at} of {total} tokens equal, then a near tie: the CPU run prefers its own token by {gap:.2g} only ({dtype}, a near tie up to {limit:.2g})"
        return {"outcome": "UNCHECKED", "reason": words, "tokens": tokens}
    names = [repr(words) if (words := text(token)).strip() else f"number {token}" for token in (new[at], wanted[at])]
    words = f"token {at} is {names[0]}, not {names[1]}, which the CPU run prefers by {gap:.2g} ({dtype}): no near tie, which ends at {limit:.2g}"
    if len(set(new)) == 1 and len(new) > 3:
        words += f"; the run gave one token {len(new)} times, as NaN would"
    return {"outcome": "FAIL", "reason": words, "tokens": tokens}


# --- sharded: a judge


def fluency(recipe: dict[str, Any], end: Event) -> dict[str, Any]:
    judge = load_judge()
    text = tokenizer_of(recipe).decode(end["new_ids"], skip_special_tokens=True)
    tokens = {"new_ids": end["new_ids"], "text": text, "reference_ids": None, "first_difference": None, "margin": None}
    name = recipe.get("judge") or judge.DEFAULT
    if len(end["new_ids"]) < judge.ENOUGH and recipe.get("max_new_tokens", judge.ENOUGH) < judge.ENOUGH:
        why = f"{len(end['new_ids'])} tokens are too few to judge: {judge.ENOUGH} or more are needed"
        return {"outcome": "UNCHECKED", "reason": why, "tokens": tokens}
    if name == judge.WORD_ORDER and recipe["device"] == "neuron":
        return unjudged(judge, text, tokens, name, "word order is no judge of a Trainium run: name a model (--judge)")
    try:
        opinion = judge.judge(name, recipe["prompt"], text, fetch=recipe.get("options", {}).get("fetch_judge", True))
    except judge.NotAtHand as error:
        return unjudged(judge, text, tokens, name, f"the judge {name} is not at hand ({error})")
    seen = opinion["surface"]
    if "nll" in opinion:
        figure = f"{opinion['nll']:.2f} nats a token (limit {opinion['limit']})"
    else:
        figure = f"{opinion['z']:.1f} standard deviations above its shuffles (limit {opinion['limit']})"
    words = f"by {name}: {figure}; surface {'fine' if seen['ok'] else ', '.join(seen['wrong'])}"
    if opinion["ok"]:
        return {"outcome": "PASS", "reason": f"fluent English {words}", "tokens": tokens, "judge": opinion}
    return {"outcome": "FAIL", "reason": f"no fluent English {words}", "tokens": tokens, "judge": opinion}


def unjudged(judge: Any, text: str, tokens: dict[str, Any], name: str, why: str) -> dict[str, Any]:
    """Without the likelihood there is no PASS; but a text that fails the surface counts would fail with any judge."""
    seen = judge.surface(text)
    found = {"tokens": tokens, "judge": {"name": name, "surface": seen, "nll": None}}
    foreign = len(seen["wrong"]) == 1 and "common words" in seen["wrong"][0]
    if seen["ok"] or foreign:
        return {
            "outcome": "UNCHECKED",
            "reason": why,
            **found,
        }  # perhaps another language: that is for the judge to say
    return {"outcome": "FAIL", "reason": f"no fluent English: {', '.join(seen['wrong'])}; {why}", **found}


def load_judge() -> Any:
    """judge.py from beside this file, whatever else is called so."""
    spec = importlib.util.spec_from_file_location("trnui_judge", os.path.join(HERE, "judge.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- telling


def stack() -> dict[str, str]:
    """The versions of this interpreter, by the dataset's columns."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": sys.version.split()[0]}
    for column, package in (("torch", "torch"), ("torch_neuronx", "torch-neuronx"), ("neuronx_cc", "neuronx-cc"), ("nki", "nki"),
                            ("transformers", "transformers"), ("accelerate", "accelerate")):  # fmt: skip
        try:
            found[column] = version(package)
        except PackageNotFoundError:
            continue
    return found


def tell(folder: str, found: dict[str, Any]) -> None:
    pid = os.getpid()
    record = {"t": round(time.time(), 4), "rank": None, "pid": pid, "event": "check", **found}
    with open(f"{folder}/events/{pid}.jsonl", "ab") as file:
        file.write(json.dumps(record).encode() + b"\n")


def alone() -> None:
    """Leaves the probe out (this is not the run), and this folder (its names are no top-level modules)."""
    sys.meta_path[:] = [f for f in sys.meta_path if getattr(f, "__module__", "") != "sitecustomize"]
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != HERE]
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"


if __name__ == "__main__":
    alone()
    sys.exit(main(sys.argv[1]))
