"""How a run ended: an exception, a bare status, an exit code in any spelling are failures that are quoted; exit code 0 is no kill;
`in_progress` is said only where work moves and nothing looks like an end."""

from __future__ import annotations

import pytest

from tests.unit.runner.diagnosis.diagnosis_cases import LOAD, bar, call, trace
from trnui_runner.diagnosis import diagnose, diagnose_row

MOVING = LOAD + call() + "......\nCompiler status PASS\ntokens 3/32\n"
PROMPT = "user@trn2-host-b:~/work$ "


@pytest.mark.parametrize(
    "said",
    [
        PROMPT + "echo $?\n1\n" + PROMPT,
        "run.service: Main process exited, code=exited, status=1/FAILURE\n",
        "make: *** [Makefile:12: run] Error 1\n",
        "rc=1\n",
        "returncode: 1\n",
        "return code 1\n",
        "[exit 1]\n",
        "Process finished with exit code 1\n",
        "command terminated with exit code 1\n",
        "ERROR: Job failed: exit code 1\n",
        '{"ExitCode": 1}\n',
        "worker-1 exited with code 1\n",
        "[1]+  Exit 1                  python3 run.py\n",
        "exit status 1\n",
    ],
)
def test_an_exit_code_that_is_not_0_is_a_failure(said: str) -> None:
    found = diagnose(MOVING + said)
    assert (found.cls, found.severity) == ("unknown", "fail")
    assert said.strip().split("\n")[0].removeprefix(PROMPT)[:40] in "\n".join(found.evidence)
    assert "wait" not in found.hint.lower()
    assert diagnose(MOVING + said + call(2) + "....\nCompiler status PASS\n").cls == "in_progress"  # it went on


@pytest.mark.parametrize("status", [1, 2, 3, 7, 12, 13, 14, 15, 1002, 1004])
def test_a_status_that_names_no_cause_is_quoted_in_words(status: int) -> None:
    found = diagnose(MOVING + trace(f'RuntimeError: nrt_load status={status} message="x"'))
    assert found.cls == "unknown"
    assert f"status {status} (" in found.summary
    assert "Traceback" not in found.summary


@pytest.mark.parametrize("name", ["NRT_FAILURE (1)", "NRT_INVALID", "NRT_EXEC_COMPLETED_WITH_ERR", "NRT_UNINITIALIZED"])
def test_a_status_by_its_name(name: str) -> None:
    found = diagnose(MOVING + trace(f"RuntimeError: {name}"))
    assert found.cls == "unknown"
    assert name.split()[0] in found.summary


@pytest.mark.parametrize("death", ["MemoryError\n", "Killed\n", trace("MemoryError"), trace("KeyError: 'x'")])
def test_exit_code_0_is_never_a_kill(death: str) -> None:
    found = diagnose(MOVING + death + PROMPT + "echo $?\n0\n" + PROMPT)
    assert found.cls == "in_progress"
    assert "exit code 0" in found.summary
    assert "Wait" not in found.hint


def test_exit_code_0_does_not_hide_a_compilers_code() -> None:
    text = "ERROR: [NCC_EVRF001] An unsupported operator was used: sort\n" + PROMPT + "echo $?\n0\n"
    assert diagnose(text).cls == "unsupported_op"


def test_the_line_that_matters_is_quoted_and_no_prompt() -> None:
    found = diagnose("staging area could not be mapped: permission denied\nbye\n" + PROMPT)
    assert found.cls == "unknown"
    assert "permission denied" in found.summary
    assert not any(line.startswith("user@") for line in found.evidence)


@pytest.mark.parametrize("what", ["Image", "Video", "Audio"])
def test_placeholders_are_no_mismatch(what: str) -> None:
    found = diagnose(
        trace(f"ValueError: {what} features and {what.lower()} tokens do not match: tokens: 0, features 99")
    )
    assert found.cls == "unknown"
    assert "placeholder" in found.summary
    assert "chat template" in found.hint


@pytest.mark.parametrize(
    "text",
    [
        MOVING
        + '{"model_id": "a/b", "result": "PASS", "error": null, "notes": "an earlier run died with NRT_RESOURCE"}\n',
        MOVING + "errors: 0, failures: 0, timeouts: 0\nRESULT: PASS\n",
        MOVING
        + "HTTP Error 503 Service Unavailable thrown while requesting GET https://huggingface.co/a/b; retrying in 1s [Retry 1/5].\nINFO:     Application startup complete.\n",
        MOVING + trace("ModuleNotFoundError: No module named 'flash_attn'") + "falling back to sdpa\nRESULT: PASS\n",
        MOVING + 'INFO:     192.0.2.7:51046 - "POST /v1/completions HTTP/1.1" 200 OK\n',
    ],
)
def test_fine_runs_are_no_failures(text: str) -> None:
    assert diagnose(text).severity in ("ok", "info")


@pytest.mark.parametrize(
    "rate",
    ["[31:02<51:02, 0.00B/s]", "[22:41<?, ?B/s]", "[01:22:41<?, ?B/s]"],
)
def test_a_download_that_moves_no_bytes_is_seen(rate: str) -> None:
    found = diagnose(f"model-00003-of-00009.safetensors:  37%|███▋      | 1.85G/4.97G {rate}")
    assert (found.cls, found.severity) == ("hub_lock_wait", "wait")
    assert rate[1:6] in found.summary


@pytest.mark.parametrize("text", [
    "Fetching 9 files:   0%|          | 0/9 [00:02<?, ?it/s]",
    "model.safetensors:   0%|          | 0.00/4.97G [00:01<?, ?B/s]",
    bar("generate", 0, "0/32"),
])  # fmt: skip
def test_a_bar_that_has_just_begun_is_no_stall(text: str) -> None:
    assert diagnose(text).cls == "in_progress"


def test_a_stalled_fetch_is_seen() -> None:
    assert diagnose("Fetching 9 files:   0%|          | 0/9 [22:41<?, ?it/s]").cls == "hub_lock_wait"


@pytest.mark.parametrize(
    "error",
    [
        "AssertionError: num_experts 60 % ep_size 16 != 0",
        "ValueError: num_key_value_heads (2) % tp_degree (8) should be 0",
        "    assert self.num_heads % world_size == 0\nAssertionError",
        "ValueError: hidden_size 4100 % tp must be 0",
    ],
)
def test_a_remainder_is_sharding(error: str) -> None:
    assert diagnose(trace(error)).cls == "sharding"


@pytest.mark.parametrize(("notes", "cls"), [
    ("killed after 3600 s, still compiling", "timeout_hang"),
    ("TIMEOUT (10800 s) while loading", "timeout_hang"),
    ("hung in generate", "timeout_hang"),
    ("gave up after 2 h", "timeout_hang"),
    ("Killed by the OOM killer", "host_oom"),
    ("hbm oom", "hbm_oom"),
    ("host OOM while compiling", "host_oom"),
    ("compiler said NCC_EVRF001", "unsupported_op"),
    ("looks nice", "empty"),
    ("\u3000", "empty"),
    (None, "empty"),
])  # fmt: skip
def test_notes_are_read_where_the_error_is_empty(notes: str | None, cls: str) -> None:
    found = diagnose_row({"result": "FAIL", "error": None, "notes": notes})
    assert found.cls == cls
    assert notes is None or not notes.strip() or notes in "\n".join(found.evidence)
    assert diagnose_row({"result": "PASS", "notes": notes}).cls == "ok"
    assert diagnose_row({"result": "FAIL", "error": "MemoryError", "notes": notes}).cls == "host_oom"


@pytest.mark.parametrize("blank", ["\u3000\n\u3000", "\u2800\u200e", "\u00a0 \u00a0", "\u200b", "\u3164", "\ufeff\n"])
def test_what_prints_nothing_is_empty(blank: str) -> None:
    assert diagnose_row({"result": "FAIL", "error": blank}).cls == "empty"
    assert diagnose(blank).cls == "empty"


@pytest.mark.parametrize(("text", "cls", "word"), [
    ("OSError: [Errno 122] Disk quota exceeded", "disk_full", "quota"),
    ("NotImplementedError: Could not run 'aten::foo' with arguments from the 'PrivateUse1' backend.", "unsupported_op", "kernel"),
    ("safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata, file not fully covered", "unknown", "cut short"),
    ("RuntimeError: DataLoader worker (pid 4) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.", "host_oom", "/dev/shm"),
    ("AttributeError: 'DynamicCache' object has no attribute 'get_max_length'", "remote_code", "get_max_length"),
    ("There was a compilation error for this graph in the previous run. Returning with the errored graph at /c/MODULE_1.neff", "cache_failed_entry", "earlier run"),
    ("RuntimeError: Nrt::BuildGlobalComm failed on NeuronCores 0-1(2): nrt_status=1", "distributed_comm", "communicator"),
    ('docker: Error response from daemon: error gathering device information while adding custom device "/dev/neuron0": no such file', "no_device", "container"),
])  # fmt: skip
def test_the_summary_names_the_cause(text: str, cls: str, word: str) -> None:
    found = diagnose(text)
    assert found.cls == cls
    assert word in found.summary
