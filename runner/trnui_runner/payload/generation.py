"""Which call of `generate` is the run's answer, from the events and inputs that the probe kept of it. Python 3.10."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass, field
from typing import Any

PROTOCOL_TOKENS = 32
EVENT_BYTES = 32 << 20  # of all processes together
# What of a call decides its tokens, and means the same in the reference.
KEPT = frozenset(
    """
    max_new_tokens min_new_tokens max_length min_length do_sample num_beams num_return_sequences length_penalty early_stopping
    pad_token_id eos_token_id bos_token_id repetition_penalty encoder_repetition_penalty no_repeat_ngram_size bad_words_ids
    encoder_no_repeat_ngram_size suppress_tokens begin_suppress_tokens forced_bos_token_id forced_eos_token_id guidance_scale
    logits_to_keep sequence_bias exponential_decay_length_penalty renormalize_logits remove_invalid_values stop_strings
    force_words_ids diversity_penalty num_beam_groups
    """.split()  # noqa: SIM905
)
# What has no say in greedily chosen tokens; the cache and the compilation are what is being tested.
NEUTRAL = frozenset(
    """
    streamer compile_config cache_implementation cache_config use_cache prefill_chunk_size disable_compile return_dict_in_generate
    output_scores output_logits output_attentions output_hidden_states synced_gpus temperature top_k top_p min_p top_h typical_p
    epsilon_cutoff eta_cutoff use_model_defaults tokenizer processor generation_config return_legacy_cache low_memory
    transformers_version monitor_progress
    """.split()  # noqa: SIM905
)
# Beyond KEPT: what a call may set aside of a generation config.
SET_ASIDE = frozenset(
    {"dola_layers", "penalty_alpha", "prompt_lookup_num_tokens", "watermarking_config", "token_healing", "max_time"}
)
Event = dict[str, Any]


class Unchecked(Exception):
    """No verdict is possible; the message says why."""


@dataclass(frozen=True)
class Generation:
    """One call of `generate`. `rows`: the new tokens of each sequence; `tensors`: its inputs by name, on the host;
    `call`: its other arguments and the generation configs that were in force, as JSON."""

    start: Event
    end: Event
    rows: tuple[tuple[int, ...], ...]
    inputs: str | None = None
    call: dict[str, Any] = field(default_factory=dict)

    @property
    def sequences(self) -> int:
        """Of the batch, kept or not."""
        said = self.end.get("rows")
        return said if isinstance(said, int) else len(self.rows)

    @property
    def new_ids(self) -> tuple[int, ...]:
        return self.rows[0]

    @property
    def ended(self) -> bool:
        """Whether each sequence is of the protocol's length, or was ended by the model."""
        return all(len(row) >= PROTOCOL_TOKENS or not end_tokens(self.call).isdisjoint(row) for row in self.rows)


def read_events(folder: str) -> list[Event]:
    """All processes' events in the order of their times; broken lines are left out. Raises Unchecked for more than anybody
    needs: the run's processes may write whatever they like there."""
    found: list[Event] = []
    room = EVENT_BYTES
    for name in sorted(os.listdir(folder)):
        fd = os.open(f"{folder}/{name}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            os.close(fd)
            continue
        room -= info.st_size
        if room < 0:
            os.close(fd)
            raise Unchecked(f"the run told more than {EVENT_BYTES >> 20} MiB of events")
        with os.fdopen(fd, "rb") as file:
            for line in file.read(info.st_size).split(b"\n"):
                try:
                    event = json.loads(line) if line else None
                except (ValueError, RecursionError):
                    continue
                if isinstance(event, dict):
                    found.append(event)
    return sorted(found, key=lambda e: e["t"] if isinstance(e.get("t"), int | float) else 0.0)


def world_size(events: list[Event]) -> int:
    return max(
        (e["world_size"] for e in events if e.get("event") == "group" and isinstance(e.get("world_size"), int)),
        default=1,
    )


def kind_of(device: str) -> str:
    """The device of a recipe as torch names it: a stand-in is a neuron device, too."""
    return "cpu" if device == "cpu" else "neuron"


def generation(folder: str, recipe: dict[str, Any], events: list[Event]) -> Generation:
    """The last call on the run's device that got to the protocol's length or to an end token; the longest where none did.

    A script may generate several times (a warm-up of two tokens, say), and may hold a CPU reference of its own. Raises
    Unchecked.
    """
    wanted = kind_of(recipe["device"])
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
    starts = {(e.get("pid"), e.get("n")): e for e in calls if e.get("state") == "start"}
    found = [made(folder, starts[e.get("pid"), e.get("n")], e) for e in ends if (e.get("pid"), e.get("n")) in starts]
    if not found:
        raise Unchecked("the probe did not see generate() begin")
    found = [one for one in found if all(one.rows)]
    if not found:
        raise Unchecked("generate() gave no new tokens")
    found = [one for one in found if one.inputs] or found
    whole = [one for one in found if one.ended]
    return whole[-1] if whole else max(found, key=lambda one: len(one.new_ids))


def made(folder: str, start: Event, end: Event) -> Generation:
    rows = end.get("rows_ids")
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        rows = [end["new_ids"]]
    path = f"{folder}/inputs/{start['inputs']}" if start.get("inputs") else None
    if path is not None and not os.path.exists(path):
        path = None
    return Generation(start, end, tuple(tuple(row) for row in rows), path, metadata(path) if path else {})


def metadata(path: str) -> dict[str, Any]:
    """The JSON values in the header of a safetensors file: 8 bytes of length, then JSON. Needs no library."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        held = json.loads(file.read(length)).get("__metadata__") or {}
    return {name: json.loads(value) for name, value in held.items() if value[:1] in "{["}


def in_force(call: dict[str, Any]) -> dict[str, Any]:
    """Every option of a call: its own, over a generation config that was passed to it, over the model's."""
    given = call.get("kwargs", {})
    passed = given.get("generation_config")
    said = {k: v for k, v in (passed if isinstance(passed, dict) else {}).items() if v is not None}
    return {**call.get("generation_config", {}), **said, **given}


def generate_options(call: dict[str, Any]) -> dict[str, Any]:
    """The options that decide the tokens, for a reference to take over. None where the call set aside what the checkpoint's
    own generation config asks for."""
    aside = {name: None for name, value in call.get("kwargs", {}).items() if value is None and name in KEPT | SET_ASIDE}
    return {name: value for name, value in in_force(call).items() if name in KEPT and value is not None} | aside


def foreign_options(call: dict[str, Any]) -> tuple[str, ...]:
    """Options that decide tokens, or may, and that no reference takes over: a logits processor, for example."""
    given = call.get("kwargs", {})
    passed = given.get("generation_config")
    said = {**(passed if isinstance(passed, dict) else {}), **given}
    return tuple(
        sorted(
            name
            for name, value in said.items()
            if name not in KEPT | NEUTRAL
            and not name.startswith("_")
            and value not in (None, False, [], {}, "fresh cache")
        )
    )


def end_tokens(call: dict[str, Any]) -> frozenset[int]:
    value = in_force(call).get("eos_token_id")
    return frozenset(value if isinstance(value, list) else [] if value is None else [value])
