"""Prefixes of loggers, launchers, containers and schedulers: whatever stands before a line, what it says is read the same way."""

from __future__ import annotations

import pytest

from tests.unit.runner.diagnosis.diagnosis_cases import LOAD, call, trace
from trnui_runner.diagnosis import Stream, diagnose
from trnui_runner.diagnosis.log_prefix import KINDS, peel

PREFIXES = {
    "journal": "Nov 28 17:20:01 trn2-host-b run[367]: ",
    "journal, ISO time": "2026-11-28T17:20:01+0000 trn2-host-b run[367]: ",
    "syslog priority": "<13>Nov 28 17:20:01 trn2-host-b run: ",
    "time": "2026-11-28T17:20:01.123456789Z ",
    "CRI": "2026-11-28T17:20:01.123456789Z stderr F ",
    "compose": "worker-1  | ",
    "kubectl --prefix": "[pod/trn-job-0/worker] ",
    "vLLM": "ERROR 11-28 17:20:01 [core.py:123] ",
    "worker": "(EngineCore_0) ",
    "logging": "2026-11-28 10:00:00,123 - root - ERROR - ",
    "loguru": "2026-11-28 17:20:01.123 | ERROR    | __main__:main:12 - ",
    "basicConfig": "ERROR:root:",
    "Hydra": "[2026-11-28 17:20:01,123][root][ERROR] - ",
    "Airflow": "[2026-11-28, 17:20:01 UTC] {subprocess.py:93} INFO - ",
    "srun -l": " 3: ",
    "host": "trn2-host-b: ",
    "rank": "[default3]:",
    "rank in words": "rank3: ",
    "mpirun": "[1,3]<stderr>:",
    "Open MPI": "[trn2-host-b:12345] ",
    "time in brackets": "[2026-11-28 17:20:01] ",
    "clock": "17:20:01 ",
    "month and day": "Nov 28 17:20:01 ",
    "full date": "Sat Nov 28 17:20:01 UTC 2026: ",
    "Ray": "(RayTrainWorker pid=954, ip=192.0.2.11) ",
    "glog": "[rank0]:E1128 17:20:01.123000 1234 torch/x.py:869] ",
    "TensorFlow": "2026-11-28 17:20:01.123: E external/x/y.cc:12] ",
    "process and level": "2026-10-03 14:07:12.000311:  3141  ERROR ",
    "stamp and level": "2026-11-28 10:01:30,001\tERROR tune_controller.py:1331 -- ",
    "level in brackets": "[ERROR] ",
    "source in brackets": "[2026-11-28 17:20:01,123] [ERROR] [launch.py:12:main] ",
    "log stream": "2026-11-28T17:20:01+00:00 job/default/0123456789abcdef01 ",
    "NeMo": "[NeMo E 2026-11-28 17:20:01 logger:349] ",
    "kernel": "[12345.678901] ",
    "epoch": "1764350401.123 ",
    "build step": "#12 34.5 ",
    "numbered line": "    12\t",
    "JSON line": '{"log":"',
    "quoted": "> ",
    "SageMaker": "[1,mpirank:3,algo-1]<stderr>:",
    "container before logger": "worker-1  | 2026-11-28 10:00:00,123 - root - ERROR - ",
}
CRASH = trace("RuntimeError: staging buffer went sideways")


def before_each(prefix: str, text: str) -> str:
    return "".join(f"{prefix}{line}\n" for line in text.replace("\r", "\n").split("\n") if line)


def test_every_kind_has_a_sample() -> None:
    assert set(KINDS) <= set(PREFIXES)


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
def test_a_prefix_is_taken_off_whole(prefix: str) -> None:
    said = peel(prefix + "RuntimeError: odd")
    assert (said.prefix, said.body) == (prefix, "RuntimeError: odd")
    assert said.text == prefix + "RuntimeError: odd"


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
@pytest.mark.parametrize(
    ("end", "cls"),
    [
        (CRASH, "unknown"),
        ("./run.sh: line 12: 36707 Killed                  python3 run.py", "host_oom"),
        ("Killed", "host_oom"),
        ("panic: runtime error: index out of range", "unknown"),
        ("thread 'main' panicked at src/main.rs:4:5:", "unknown"),
        ("^C", "interrupted"),
        ("Exception: odd", "unknown"),
        ("RuntimeError: nrt_load status=3", "unknown"),
        ("RESULT: PASS", "ok"),
    ],
    ids=["exception", "killed-in-script", "killed", "panic", "rust", "ctrl-c", "bare", "status", "pass"],
)
def test_an_end_behind_a_prefix_is_an_end(prefix: str, end: str, cls: str) -> None:
    text = before_each(prefix, LOAD + call() + "......\nCompiler status PASS\ntokens 3/32\n" + end)
    found = diagnose(text)
    assert found.cls == cls
    assert any(end.rstrip("\n").split("\n")[-1] in line for line in found.evidence)
    assert len(prefix) < 6 or prefix.strip() not in found.summary
    stream = Stream()
    data = text.encode()
    for at in range(0, len(data), 61):
        stream.feed(data[at : at + 61])
    pieces = stream.answer().diagnosis
    assert (pieces.cls, pieces.summary, dict(pieces.facts)) == (found.cls, found.summary, dict(found.facts))


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
@pytest.mark.parametrize(
    ("word", "cls"), [("Killed", "host_oom"), ("Terminated", "interrupted"), ("Bus error", "unknown")]
)
def test_an_end_right_behind_the_compilers_dots_is_read(prefix: str, word: str, cls: str) -> None:
    assert diagnose(before_each(prefix, LOAD + call() + "....." + word)).cls == cls


@pytest.mark.parametrize("prefix", ["~~ job 7 ~~ ", "<<a|b>> ", "§ stdout § "])
def test_a_traceback_behind_a_prefix_that_nobody_knows_is_an_end_too(prefix: str) -> None:
    found = diagnose(before_each(prefix, LOAD + "tokens 3/32\n" + CRASH))
    assert found.cls == "unknown"
    assert "staging buffer went sideways" in found.summary


@pytest.mark.parametrize(
    ("prefix", "rank"),
    [("[rank3]: ", 3), ("[default3]:", 3), ("3: ", 3), ("[1,3]<stderr>:", 3), ("[1,mpirank:3,algo-1]<stderr>:", 3),
     ("(Worker_TP3 pid=12) ", 3), ("[3]: ", 3), ("run[3]x ", None), ("Nov 28 17:20:01 h run[3]: ", None), ("", None)],
)  # fmt: skip
def test_the_rank_is_read_from_the_prefix(prefix: str, rank: int | None) -> None:
    assert peel(prefix + "RuntimeError: odd").rank == rank


@pytest.mark.parametrize(
    "text",
    [
        "docker: Error response from daemon: x",
        "bash: python4: command not found",
        "run.py: error: unrecognized arguments",
        "make: *** [run] Error 1",
        "python3: can't open file 'x'",
        "model-00001-of-00004.safetensors:  37%|###  | 1/4",
        "neuronx-cc: /opt/x.cpp:331: Assertion",
        "rank 0 exited with 1",
        "ERROR: Could not find a version",
        "torch.cuda.OutOfMemoryError: x",
        "Loading checkpoint shards:  75%|### | 3/4",
        "user@trn2-host-b:~/work$ echo $?",
        "| 0 | 4 | 3 GB | x | 12 | py |",
        "[643] mem rss=47.0 GB",
        "hlo2penguin: error",
        "neuron0: out of memory",
        '  File "/home/user/run.py", line 3',
    ],
)
def test_what_only_looks_like_a_prefix_stays(text: str) -> None:
    assert peel(text).prefix == ""


def test_a_logger_that_says_warning_reports_no_end() -> None:
    text = LOAD + "tokens 3/32\n2026-11-28 10:00:00,123 - app - WARNING - ValueError: optional part missing\n"
    assert diagnose(text).cls == "in_progress"
