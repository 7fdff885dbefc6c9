"""What the protocol asks for beyond the right tokens: all weights from the checkpoint, compiled graphs, 32 tokens. Pure."""

from __future__ import annotations

from typing import Any

from .generation import PROTOCOL_TOKENS, Event, Generation, kind_of

# Backends of torch.compile that trace a model and run it eagerly: for finding faults, and for a CPU.
NO_COMPILERS = frozenset({"eager", "eager_noexcept", "eager_debug", "aot_eager", "aot_eager_decomp_partition"})
NAMED = 3  # weights that a reason names


def weighed(found: dict[str, Any], weights: str, protocol: tuple[str, ...]) -> dict[str, Any]:
    """`found` with what is missing: without it there is no PASS, and where weights are missing no FAIL either."""
    lacking = [weights] if weights else []
    if found["outcome"] == "PASS":
        lacking += protocol
    elif found["outcome"] == "UNCHECKED" and not weights:
        return found
    if not lacking:
        return found
    return {**found, "outcome": "UNCHECKED", "reason": f"{'; '.join(lacking)} ({found['reason']})", "lacking": lacking}


def weights(events: list[Event], one: Generation) -> str:
    """Which weights did not come from the checkpoint, or were left in it; empty when all is well.

    What is missing is drawn at random, what is left over would have changed the answer: neither run is the checkpoint's.
    """
    load = loaded(events, one)
    if load is None:
        return "no from_pretrained was seen: where the weights came from is not known"
    found = [
        f"{count} weight{'' if count == 1 else 's'} {words}: {_named(names, count)}"
        for key, words in (
            ("missing", "not in the checkpoint, drawn at random"),
            ("mismatched", "of another shape in the checkpoint, drawn at random"),
            ("unexpected", "of the checkpoint not used"),
        )
        if (names := load.get(key)) and (count := load.get(f"{key}_n") or len(names))
    ]
    if not found and "missing" not in load:
        return "whether all weights came from the checkpoint was not told"
    return "; ".join(found)


def _named(names: list[str], count: int) -> str:
    return ", ".join(names[:NAMED]) + (f" and {count - NAMED} more" if count > NAMED else "")


def loaded(events: list[Event], one: Generation) -> Event | None:
    """The last load of the model that generated, before it did; in the same process if there was one there."""
    began = one.start.get("t")
    loads = [
        e
        for e in events
        if e.get("event") == "loaded" and e.get("state") != "failed" and e.get("model_class") == one.start.get("model_class")
        and (not isinstance(began, int | float) or not isinstance(e.get("t"), int | float) or e["t"] <= began)
    ]  # fmt: skip
    own = [e for e in loads if e.get("pid") == one.start.get("pid")]
    loads = own or loads
    return loads[-1] if loads else None


def protocol(recipe: dict[str, Any], events: list[Event], one: Generation) -> tuple[str, ...]:
    """What else a PASS would have to be, and is not."""
    found = []
    why = not_compiled(events, one, kind_of(recipe["device"]))
    if why:
        found.append(why)
    if not one.ended:
        short = min(map(len, one.rows))
        found.append(f"only {short} new tokens, and no end token: the protocol has {PROTOCOL_TOKENS}")
    if one.sequences > len(one.rows):
        found.append(f"only {len(one.rows)} of {one.sequences} sequences were kept")
    return tuple(found)


def not_compiled(events: list[Event], one: Generation, device: str) -> str:
    """Why the answer is no compiled one; empty when a graph was compiled on its device before it ended."""
    ended = one.end.get("t")
    graphs = [
        e
        for e in events
        if e.get("event") == "compile" and e.get("state") == "end" and e.get("pid") == one.end.get("pid")
        and (not isinstance(ended, int | float) or not isinstance(e.get("t"), int | float) or e["t"] <= ended)
    ]  # fmt: skip
    if not graphs and one.end.get("graphs"):
        return ""  # counted by Dynamo, and not seen one by one: another torch
    here = [e for e in graphs if device in (e.get("devices") or [device])]
    if not here:
        return (
            "it ran, but nothing was compiled"
            if not graphs
            else f"it ran, but nothing was compiled on the device {device}"
        )
    backends = {str(e.get("backend")) for e in here}
    if device != "cpu" and backends <= NO_COMPILERS:
        return f"it ran, but the backend {', '.join(sorted(backends))} compiles nothing"
    return ""
