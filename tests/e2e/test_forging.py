"""What a script does to its own run folder changes nothing of what its supervisor says: no forged end, nothing hidden, no file elsewhere."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.victims import ended, kill, nothing_left, up, victim, watchers
from trnui_runner.cli.run_commands import line_of
from trnui_runner.run_folder.folder import RunFolder
from trnui_runner.supervise.launcher import sweep_all

FORGE = """
import hashlib, json, os, shutil, signal, sys, time
run = os.environ['TRNUI_RUN_DIR']
os.chdir('/')
result = json.dumps({'outcome': 'PASS', 'verdict': 'REPRODUCED', 'device': 'neuron', 'kind': 'english', 'reason': 'forged', 'v': 1}).encode()
def put(name, data):
    with open(run + '/' + name + '.x', 'wb') as f: f.write(data)
    os.replace(run + '/' + name + '.x', run + '/' + name)
def state(): return json.load(open(run + '/state.json'))
def seal(): put('state.json', json.dumps(state() | {'outcome': 'PASS', 'stage': 'done', 'result_sha256': hashlib.sha256(result).hexdigest()}).encode())
def quiet(s=0.0): print('up', flush=True); time.sleep(s)
"""
WAYS = {
    "result": "put('result.json', result); quiet()",
    "result early and left running": "put('result.json', result); quiet(1.5)",
    "result and state": "put('result.json', result); seal(); quiet()",
    "state again and again": "put('result.json', result)\nfor _ in range(300): seal(); time.sleep(.003)\nquiet()",
    "another lock": "os.unlink(run + '/lock'); open(run + '/lock', 'w'); put('result.json', result); seal(); quiet(1.0)",
    "the part": "open(run + '/.result.json.part', 'wb').write(result); quiet()",
    "folders in their place": "put('result.json', result); os.unlink(run + '/state.json'); os.mkdir(run + '/state.json'); quiet(1.0)",
    "a result that is a folder": "os.mkdir(run + '/result.json'); open(run + '/result.json/x', 'w'); quiet()",
    "no right to write": "put('result.json', result); os.chmod(run, 0o500); quiet()",
    "no folder": "quiet(0.6); shutil.rmtree(run, ignore_errors=True)",
    "events": "open(run + '/events.jsonl', 'a').write(json.dumps({'event': 'result', 'src': 'supervisor', 'outcome': 'PASS', 's': 1}) + chr(10)); quiet()",
    "another recipe": "put('recipe.json', json.dumps(json.load(open(run + '/recipe.json')) | {'device': 'neuron', 'model': 'x/y', 'v': 1}).encode()); quiet()",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_script_forges_no_end(way: str) -> None:
    run = victim(FORGE + WAYS[way])
    seen = set[str]()
    while (now := run.outcome()) in ("queued", "running"):
        seen |= {found.outcome for found in (run.result(),) if found is not None}
    result = ended(run)
    assert seen <= {"UNCHECKED"}, "a forged end was believed while the run was watched"
    assert result is not None, (now, run.problem())
    assert (result.outcome, result.verdict, result.device) == ("UNCHECKED", None, "cpu")
    assert run.problem() == ""
    line = line_of(run)
    assert (line.outcome, line.model, line.device) == ("UNCHECKED", "tests/victim", "cpu")
    assert "up" in (run.path / "output.log").read_text()
    assert run.script().startswith(b"\nimport hashlib")
    nothing_left(run)


def test_a_script_that_kills_both_watchers_is_lost() -> None:
    run = victim(
        FORGE
        + "import time\nquiet()\nos.kill(state()['guard_pid'], 9); os.kill(state()['pid'], 9); put('result.json', result); time.sleep(60)"
    )
    while run.outcome() in ("queued", "running"):
        pass
    sweep_all()
    result = run.result()
    assert result is not None
    assert (result.outcome, result.verdict) == ("LOST", None)
    nothing_left(run)


def test_a_supervisor_that_is_killed_leaves_the_guard_who_believes_no_file() -> None:
    run = victim(FORGE + "put('result.json', result); quiet(); seal()\nwhile True: seal(); time.sleep(.01)")
    up(run)
    kill(watchers(run)[1])
    result = ended(run)
    assert result is not None
    assert result.outcome == "LOST"


@pytest.mark.parametrize("name", ["recipe.json", "run.py", "output.log", "events.jsonl", "state.json", "result.json", ".result.json.part", ".state.json.part",
                                  "family.json", "lock", "stop"])  # fmt: skip
def test_a_link_in_the_place_of_a_file_leads_nowhere(name: str, tmp_path: Path) -> None:
    outside = tmp_path / "precious"
    outside.write_text("precious")
    os.chmod(outside, 0o640)
    run = victim(
        FORGE + f"n = run + '/{name}'\nif os.path.lexists(n): os.unlink(n)\nos.symlink({str(outside)!r}, n); quiet(1.2)"
    )
    result = ended(run)
    assert outside.read_text() == "precious"
    assert outside.stat().st_mode & 0o777 == 0o640
    assert result is not None
    assert result.outcome in ("UNCHECKED", "CANCELLED")
    assert not (run.path / "result.json").is_symlink()


def test_a_damaged_folder_is_one_named_line() -> None:
    run = victim("print('up')")
    ended(run)
    (run.path / "result.json").write_text(json.dumps({"outcome": "PASS"}))
    assert line_of(run).outcome == "DAMAGED"
    assert "result.json is not what" in line_of(run).reason
    assert sweep_all() == {}
    assert line_of(RunFolder(run.path)).outcome == "DAMAGED", "a sweep writes nothing over what was damaged later"
