"""Ends that say nothing about a checkpoint, each by its real message, and ends that do."""

from __future__ import annotations

from typing import Any

import pytest

from trnui_runner.result.no_fault import no_fault
from trnui_runner.run_folder.event_reading import event_of
from trnui_runner.run_folder.progress import Note, Progress
from trnui_runner.run_folder.recipe import Recipe

LOADED = {"event": "loaded", "pid": 7, "model_class": "M"}
GENERATED = {"event": "generate", "state": "end", "n": 1, "pid": 7, "new_ids": [1]}


def why(kind: str, text: str, *events: dict[str, Any], script: str = "published", cls: str = "unknown") -> str:
    progress = Progress()
    for event in events:
        progress.add(event_of({"pid": 7, **event}))
    recipe = Recipe("r", "owner/name", script=script)  # type: ignore[arg-type]
    cause = Note(0.0, text, kind) if kind else None
    return no_fault(recipe, progress, {"class": cls}, cause, "" if kind else text)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("ModuleNotFoundError", "No module named 'tiktoken'"),
        ("ImportError", "Loading a GPTQ quantized model requires gptqmodel (`pip install gptqmodel`)"),
        (
            "ImportError",
            "Using `bitsandbytes` 4-bit quantization requires bitsandbytes: `pip install -U bitsandbytes>=0.46.1`",
        ),
        ("ValueError", "`tiktoken` is required to read a `tiktoken` file. Install it with `pip install tiktoken`."),
        ("PackageNotFoundError", "No package metadata was found for optimum"),
        ("ImportError", "compressed_tensors is not installed and is required for compressed-tensors quantization."),
        ("ImportError", "TimmWrapperModel requires the timm library but it was not found in your environment."),
    ],
)
def test_missing_package_is_no_fault_of_the_model(kind: str, text: str) -> None:
    assert why(kind, text) == "a package is missing"
    assert why(kind, text, LOADED) == "a package is missing"  # asked for in the first forward, say
    assert why(kind, text, GENERATED) == ""


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("OSError", "o/n does not appear to have a file named model.safetensors"),
        ("OSError", "Error no file named model.safetensors, or pytorch_model.bin, found in directory /x."),
        ("FileNotFoundError", "[Errno 2] No such file or directory: '/x/model-00002-of-00003.safetensors'"),
        ("SafetensorError", "Error while deserializing header: incomplete metadata, file not fully covered"),
        ("EntryNotFoundError", "404 Client Error. Entry Not Found for url: …"),
    ],
)
def test_missing_or_damaged_file_is_no_fault_of_the_model(kind: str, text: str) -> None:
    assert why(kind, text) == "a file of the checkpoint is missing or damaged"
    assert why(kind, text, LOADED) == ""


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("ValueError", "Unrecognized configuration class <class 'T5Config'> for this kind of AutoModel: AutoModelForCausalLM.",
         "not made for this task"),
        ("ValueError", "There are one or more stop strings, either in the arguments to `generate` or in the model's "
         "generation config, but we could not locate a tokenizer.", "generation_config.json asks"),
        ("ValueError", "Greedy methods (do_sample != True) without beam search do not support `num_return_sequences` different than 1",
         "generation_config.json asks"),
        ("", "run.py: error: unrecognized arguments: --cores 2", "wants other arguments"),
        ("", "SyntaxError: invalid syntax", "cannot be read as Python"),
    ],
)  # fmt: skip
def test_task_options_and_script(kind: str, text: str, words: str) -> None:
    assert words in why(kind, text)


def test_code_of_the_checkpoint_that_our_own_script_does_not_allow() -> None:
    text = "The repository contains custom code which must be executed to correctly load the model."
    assert "not allowed to run" in why("ValueError", text, script="bundled")
    assert why("ValueError", text, script="published") == ""  # then that is how the script is


@pytest.mark.parametrize(
    ("cls", "events", "words"),
    [
        ("no_device", (), "no Neuron device"),
        ("cores_busy", (LOADED,), "other processes held the NeuronCores"),
        ("host_oom", (), "the host's memory ran out"),
        ("host_oom", (LOADED,), ""),
        ("hub_network", (), "could not be fetched"),
        ("no_device", (GENERATED,), ""),
        ("compiler_failure", (LOADED,), ""),
        ("hbm_oom", (LOADED,), ""),
    ],
)
def test_classes_of_the_host(cls: str, events: tuple[dict[str, Any], ...], words: str) -> None:
    found = why("RuntimeError", "x", *events, cls=cls)
    assert words in found if words else found == ""


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("ImportError", "cannot import name 'LossKwargs' from 'transformers.utils'"),
        ("ModuleNotFoundError", "No module named 'transformers.models.newer'"),
        (
            "ValueError",
            "The checkpoint you are trying to load has model type `internlm3` but Transformers does not recognize it.",
        ),
        ("RuntimeError", "neuronx-cc failed [NCC_IBCG901]"),
        ("RuntimeError", "shape '[1, 6, -1, 16]' is invalid"),
        ("", "Killed"),
    ],
)
def test_what_may_be_the_models_or_the_devices_stays_a_failure(kind: str, text: str) -> None:
    assert why(kind, text) == ""


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("RuntimeError", "can't start new thread"),
        ("BlockingIOError", "[Errno 11] Resource temporarily unavailable"),
        ("", "libgomp: Thread creation failed: Resource temporarily unavailable"),
        ("PanicException", 'ThreadPoolBuildError { kind: IOError(Os { code: 11, kind: WouldBlock, message: "Resource temporarily unavailable" }) }'),
    ],
)  # fmt: skip
def test_a_limit_on_processes_is_the_hosts_and_not_the_models(kind: str, text: str) -> None:
    assert "limit on processes" in why(kind, text)
    assert "limit on processes" in why(kind, text, LOADED)
