"""Ends of a run that say nothing about its checkpoint: what was lacking was the host's, the script's or the network's. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from trnui_runner.run_folder.progress import Note, Progress
from trnui_runner.run_folder.recipe import Recipe

# Classes of the diagnosis that say something about a host and its network, and nothing about a model.
OF_THE_HOST: Final = frozenset(
    {"hub_gated", "hub_not_found", "hub_rate_limit", "hub_network", "hub_offline", "hub_lock_wait", "disk_full", "no_device",
     "driver_mismatch", "cores_busy", "hw_error", "file_lock", "cache_lock_wait", "python_version", "host_oom"}
)  # fmt: skip
# Of those: what one of them means before a model was loaded, and what until something was generated.
BEFORE_LOADING: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("hub_gated", "hub_not_found", "hub_rate_limit", "hub_network", "hub_offline", "hub_lock_wait"),
        "the checkpoint could not be fetched",
    ),
    "disk_full": "the disk was full before the checkpoint was loaded",
    "python_version": "a package does not support this Python",
    "host_oom": "the host's memory ran out",
}
BEFORE_GENERATING: Final[Mapping[str, str]] = {
    "no_device": "no Neuron device could be used",
    "cores_busy": "other processes held the NeuronCores",
    "driver_mismatch": "driver and runtime do not fit each other",
}


@dataclass(frozen=True)
class Lack:
    """An error by its text (or class) whose cause is not the model. `loaded`: also after a model was loaded; `ours`: only
    for the bundled script, whose option it is."""

    words: str
    pattern: re.Pattern[str]
    loaded: bool = False
    ours: bool = False


LACKS: Final = (
    Lack(
        "the host's limit on processes and threads was reached",
        re.compile(
            r"can't start new thread|[Tt]hread creation failed|pthread_create failed|ThreadPoolBuildError|[Cc]annot fork|fork: .*[Rr]esource temporarily"
            r"|^BlockingIOError: \[Errno 11\] Resource temporarily unavailable$"
        ),
        loaded=True,
    ),
    Lack("the script cannot be read as Python", re.compile(r"^(?:SyntaxError|IndentationError|TabError)\b")),
    Lack("run.py wants other arguments", re.compile(r"^(?:\S+: )?error: (?:unrecognized arguments|the following arguments|argument )")),
    Lack(
        "a package is missing",
        re.compile(
            r"^(?:ModuleNotFoundError: No module named '(?!torch\b|transformers\b)"
            r"|PackageNotFoundError|ImportError: (?!cannot import name))"
            r"|No package metadata was found for|\bpip install (?!(?:--upgrade |-U )?(?:transformers\b|git\+\S*transformers))|requires? (?:the |an? )?[`'\w.-]+(?: library| package)\b"
            r"|is required to (?:read|load|use)|(?:needs?|has) to be installed|(?:is|are) not installed"
        ),
        loaded=True,
    ),
    Lack(
        "a file of the checkpoint is missing or damaged",
        re.compile(
            r"does not appear to have|EntryNotFoundError|Entry Not Found|no file named|^FileNotFoundError"
            r"|SafetensorError|PytorchStreamReader failed|Can't load (?:the )?(?:configuration|tokenizer|image processor|processor) (?:of|for)"
        ),
    ),
    Lack("the checkpoint's tokenizer is missing", re.compile("encodes to 0 tokens"), loaded=True),
    Lack(
        "the model is not made for this task",
        re.compile(r"Unrecognized configuration class .* for this kind of AutoModel|is_encoder_decoder|encoder-decoder"),
    ),
    Lack(
        "generation_config.json asks for what the script does not do",
        re.compile(
            r"stop strings?\b|num_return_sequences|\bdola\b|DoLa|[Cc]ontrastive [Ss]earch|penalty_alpha|custom_generate"
            r"|assistant_tokenizer|constrained beam"
        ),
        loaded=True,
    ),
    Lack(
        "the checkpoint's own code was not allowed to run",
        re.compile(r"trust_remote_code=True|requires you to execute|contains custom code which must be executed"),
        ours=True,
    ),
)  # fmt: skip


def no_fault(
    recipe: Recipe, progress: Progress, diagnosis: Mapping[str, Any] | None, cause: Note | None, last_words: str
) -> str:
    """Why a script that failed has tested nothing, in words; empty when the failure may be the model's or the device's.

    `last_words`: the last line of the log, which counts where no exception was seen.
    """
    if progress.generated or progress.check:
        return ""
    cls = str((diagnosis or {}).get("class") or "")
    loaded = bool(progress.loaded or progress.generates or progress.compiles)
    told = f"{cause.kind}: {cause.text}" if cause is not None else last_words
    if cls in BEFORE_GENERATING:
        return BEFORE_GENERATING[cls]
    for lack in LACKS:
        if (lack.loaded or not loaded) and (not lack.ours or recipe.script == "bundled") and lack.pattern.search(told):
            return lack.words
    return "" if loaded else BEFORE_LOADING.get(cls, "")
