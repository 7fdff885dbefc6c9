"""Sharded: a judge's opinion of what was generated. Python 3.10."""

from __future__ import annotations

from typing import Any

from . import judge
from .generation import Generation, end_tokens
from .reference import tokenizer_of
from .surface import surface

ROWS = 8  # sequences of a batch that are judged
REPEATED = 6  # times the same token at the end: a loop even where its text is not printed


def fluency(recipe: dict[str, Any], one: Generation) -> dict[str, Any]:
    """The worst opinion of the sequences decides."""
    tokenizer = tokenizer_of(recipe)
    prompts = prompts_of(one, tokenizer) or [recipe["prompt"]]
    found = []
    for n, row in enumerate(one.rows[:ROWS]):
        text = tokenizer.decode(list(row), skip_special_tokens=True)
        found.append(opinion(recipe, prompts[n % len(prompts)], text, row, end_tokens(one.call)))
    worst = min(found, key=lambda f: ("FAIL", "UNCHECKED", "PASS").index(f["outcome"]))
    if len(one.rows) > 1:
        worst = {**worst, "reason": f"{worst['reason']}, sequence {found.index(worst) + 1} of {len(one.rows)}"}
    return worst


def prompts_of(one: Generation, tokenizer: Any) -> list[str]:
    """What the script really asked: the judge reads the text as its continuation."""
    if one.inputs is None:
        return []
    from safetensors import safe_open

    with safe_open(one.inputs, framework="pt") as kept:
        name = next((n for n in ("input_ids", "inputs") if n in kept.keys()), None)  # noqa: SIM118  not a dict
        if name is None:
            return []
        rows = kept.get_tensor(name).tolist()
    return [tokenizer.decode(row, skip_special_tokens=True) for row in rows if isinstance(row, list)]


def opinion(
    recipe: dict[str, Any], prompt: str, text: str, ids: tuple[int, ...], ends: frozenset[int]
) -> dict[str, Any]:
    tokens = {"new_ids": list(ids), "text": text, "reference_ids": None, "first_difference": None, "margin": None}
    name = recipe.get("judge") or judge.DEFAULT
    seen = surface(text, prompt)
    if name == judge.WORD_ORDER and recipe["device"] == "neuron":
        return unjudged(seen, tokens, name, "word order is no judge of a Trainium run: name a model (--judge)")
    try:
        fetch = recipe.get("options", {}).get("fetch_judge", True)
        found = judge.judge(name, prompt, text, len(ids), fetch=fetch)
    except judge.NotAtHand as error:
        return unjudged(seen, tokens, name, f"the judge {name} is not at hand ({error})")
    outcome, reason = found.pop("outcome"), found.pop("reason")
    tail = len(set(ids[-REPEATED:])) == 1 and len(ids) >= REPEATED and ids[-1] not in ends
    if outcome == "PASS" and tail:
        outcome, reason = "UNCHECKED", f"it ends with the token {ids[-1]} again and again, which prints nothing"
    return {
        "outcome": outcome,
        "reason": f"{reason}, by {name}",
        "tokens": tokens,
        "judge": {**found, "ok": outcome == "PASS"},
    }


def unjudged(seen: Any, tokens: dict[str, Any], name: str, why: str) -> dict[str, Any]:
    """Without the likelihood there is no PASS; but some texts would fail with any judge."""
    found = {"tokens": tokens, "judge": {"name": name, "surface": seen.to_json(), "nll": None}}
    alone = judge.without(seen, len(tokens["new_ids"]))
    if alone is not None:
        return {"outcome": alone[0], "reason": f"{alone[1]}; {why}", **found}
    return {"outcome": "UNCHECKED", "reason": why, **found}
