"""Is a text fluent English? What it looks like and how likely a language model holds it, together, since each alone is
fooled: a stuck model's text is likely, shuffled words look like English.

Executed by the run's interpreter: standard library, torch and transformers when a model judges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .surface import Surface, surface
from .word_order import WordOrder

WORD_ORDER = "word order"  # the judge without a model; fit for the bundled sample only
DEFAULT = "HuggingFaceTB/SmolLM2-135M-Instruct"

# Under SmolLM2-135M-Instruct, 32 tokens: real English 2.4 to 6.0 nats a token (97 % below 5), shuffled words 6.6 and more.
NLL_LIMIT = 5.0  # mean negative log-likelihood a token, below which a text is fluent
NLL_BROKEN = 6.0  # from here on it is not; between the two nothing can be said
# The worst 8 tokens in a row: real English up to 8.2, eight random tokens after a fluent beginning 14 and more.
WINDOW, WINDOW_BROKEN = 8, 10.0
LOOP_LIKELY = 1.5  # below it a loop is what greedy decoding of a healthy small model gives, too
Z_LIMIT = 2.5  # of the word order: standard deviations above the text's own shuffles
ENOUGH = 16  # tokens; an answer of fewer is too short to judge

Verdict = tuple[str, str]  # ("PASS", "FAIL" or "UNCHECKED", why)


class NotAtHand(Exception):
    """The judge cannot be had here; the message says why."""


@dataclass(frozen=True)
class Likelihood:
    """Negative log-likelihoods in nats: the mean a token, and the mean of the worst WINDOW tokens in a row."""

    mean: float
    worst: float
    commit: str | None = None  # of the judge's checkpoint

    @classmethod
    def of(cls, nats: list[float], commit: str | None = None) -> Likelihood:
        """`nats`: one value a token; at least one."""
        spans = [nats[n : n + WINDOW] for n in range(max(1, len(nats) - WINDOW + 1))]
        return cls(sum(nats) / len(nats), max(sum(span) / len(span) for span in spans), commit)


def judge(name: str, prompt: str, text: str, tokens: int, fetch: bool = False) -> dict[str, Any]:
    """`{name, outcome, reason, surface, …}` with the judge's own figure and limit. Raises NotAtHand.

    name: WORD_ORDER, a folder or a Hub id (taken from the cache, or with `fetch` from the Hub). prompt: what the text
    continues. tokens: how many it is of, in the model that wrote it.
    """
    seen = surface(text, prompt)
    found: dict[str, Any] = {"name": name, "surface": seen.to_json()}
    if name == WORD_ORDER:
        z = WordOrder.load().z(text)
        outcome, reason = by_order(seen, z, tokens)
        return {**found, "z": round(z, 2), "limit": Z_LIMIT, "outcome": outcome, "reason": reason}
    seen_by_model = likelihood(name, prompt, text, fetch)
    outcome, reason = by_likelihood(seen, seen_by_model, tokens)
    if seen_by_model is not None:
        found |= {"nll": round(seen_by_model.mean, 3), "worst": round(seen_by_model.worst, 3), "limit": NLL_LIMIT}
        if seen_by_model.commit:
            found["commit"] = seen_by_model.commit
    return {**found, "outcome": outcome, "reason": reason}


def by_likelihood(seen: Surface, likely: Likelihood | None, tokens: int) -> Verdict:
    """Never PASS without both; FAIL only where a healthy model would not have written it. None: the text is empty."""
    short = too_short(seen, tokens)
    if short:
        return "UNCHECKED", short
    if likely is None:
        return "FAIL", f"no text at all in {tokens} tokens"
    figure, wrong = f"{likely.mean:.2f} nats a token", ", ".join(seen.wrong)
    if seen.kind == "broken":
        return "FAIL", f"no fluent English: {wrong} ({figure})"
    if likely.mean >= NLL_BROKEN:
        return "FAIL", f"no fluent English: {figure}, fluent is below {NLL_LIMIT:g}" + (f"; {wrong}" if wrong else "")
    if likely.worst >= WINDOW_BROKEN:
        return (
            "FAIL",
            f"no fluent English: {likely.worst:.1f} nats a token in its worst {WINDOW} tokens ({figure} in all)",
        )
    if seen.kind == "loop":
        words = f"a loop: {wrong} ({figure})"
        return (
            ("UNCHECKED", f"{words}, as a healthy model may give, too")
            if likely.mean < LOOP_LIKELY
            else ("FAIL", words)
        )
    if seen.kind == "odd":
        return "FAIL", f"no fluent English: {wrong} ({figure})"
    if seen.kind:
        return "UNCHECKED", f"not for a judge of English: {wrong} ({figure})"
    if likely.mean >= NLL_LIMIT:
        return (
            "UNCHECKED",
            f"unusual English or none: {figure}, fluent is below {NLL_LIMIT:g}, broken from {NLL_BROKEN:g} on",
        )
    return "PASS", f"fluent English: {figure} (limit {NLL_LIMIT:g})"


def by_order(seen: Surface, z: float, tokens: int) -> Verdict:
    """The same with the word order in the place of the likelihood."""
    short = too_short(seen, tokens)
    if short:
        return "UNCHECKED", short
    figure, wrong = f"word-order score {z:.1f} (PASS above {Z_LIMIT:g})", ", ".join(seen.wrong)
    if seen.ok and z > Z_LIMIT:
        return "PASS", f"fluent English: {figure}"
    return "FAIL", f"no fluent English: {figure}" + (f"; {wrong}" if wrong else "")


def without(seen: Surface, tokens: int) -> Verdict | None:
    """What the surface alone decides: a text that any judge would fail; else None."""
    if not too_short(seen, tokens) and seen.kind in ("broken", "odd"):
        return "FAIL", f"no fluent English: {', '.join(seen.wrong)}"
    return None


def too_short(seen: Surface, tokens: int) -> str:
    if tokens < ENOUGH and seen.kind != "broken":
        return f"{tokens} tokens are too few to judge: {ENOUGH} or more are needed"
    return ""


def likelihood(name: str, prompt: str, text: str, fetch: bool) -> Likelihood | None:
    """Of `text` after `prompt`, in float32 on the CPU; None for an empty text. Raises NotAtHand."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    how = {"local_files_only": not fetch, "trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, **how)
        model = AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32, **how).eval()
    except (OSError, ValueError) as error:
        raise NotAtHand(str(error).splitlines()[0][:300]) from error
    before = tokenizer(prompt, return_tensors="pt").input_ids
    if before.shape[1] == 0:
        before = torch.tensor([[tokenizer.bos_token_id or 0]])
    after = tokenizer(text, return_tensors="pt", add_special_tokens=False).input_ids
    if after.shape[1] == 0:
        return None
    ids = torch.cat([before, after], 1)
    with torch.no_grad():
        scores = model(ids).logits[0, before.shape[1] - 1 : -1].log_softmax(-1)
    nats = (-scores.gather(-1, after[0, :, None])[:, 0]).tolist()
    return Likelihood.of(nats, getattr(model.config, "_commit_hash", None))
