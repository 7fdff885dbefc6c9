"""`trnui host`, `cache` and `report` as a user calls them: data on stdout, words on stderr, a stand-in named in every fact."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.fakehub import FakeHub
from tests.trainium.host import Host
from tests.trainium.shape import Busy
from trnui_runner.host.logind import told

RUNS = ROOT / "tests" / "fixtures" / "runs"
Make = Callable[..., Host]


def trnui(*words: str, code: int = 0) -> tuple[str, str]:
    done = subprocess.run([sys.executable, "-m", "trnui", *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


def test_host_without_trainium_says_what_is_missing_and_the_way_of_the_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRNUI_HOST_ROOT", str(tmp_path))
    out, _ = trnui("host")
    assert "devices     no Neuron device" in out
    assert "NEFF cache  none is used: no neuronx-cc here" in out
    assert "--dataset sample" in out
    assert " 0 cores" not in out


@pytest.mark.standin
def test_host_of_a_stand_in_says_so_in_every_fact(standin_host: Make) -> None:
    with subprocess.Popen(["sleep", "60"], env=os.environ | {"NEURON_RT_VISIBLE_CORES": "1"}) as child:
        standin_host(busy={1: Busy(child.pid, "python3 train.py")}, devices=2, instance_type="trn2.48xlarge")
        out, _ = trnui("host")
        value = json.loads(trnui("host", "--format", "json")[0])
        child.kill()
    lines = out.splitlines()
    for words in ("2 Trainium2 devices, 8 cores", "2.31.7.0", "neuron-ls ", "neuron-monitor ", "2-3     device 0", f"pid {child.pid}",
                  "AWS's environment", "2.14.3.0", "2.28.7631.0", "NEFF cache"):  # fmt: skip
        (line,) = [one for one in lines if words in one and "/neuronxcc-" not in one][:1] or pytest.fail(words)
        assert line.endswith("stand-in"), line
    assert "python3 train.py" in out
    assert value["stand_in"]
    assert value["devices"]["stand_in"]
    assert all(core["stand_in"] for core in value["devices"]["cores"])
    assert value["neff_cache"]["stand_in"]
    assert value["devices"]["free"] == [0, 2, 3, 4, 5, 6, 7]


@pytest.mark.standin
@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ({"neuron_ls": "absent"}, "neuron-ls"),
        ({"neuron_monitor": "absent"}, "neuron-monitor"),
        ({"compiler": "absent"}, "the compiler is not on the PATH"),
    ],
)
def test_host_names_what_is_missing(standin_host: Make, shape: dict[str, Any], words: str) -> None:
    standin_host(**shape)
    missing = trnui("host")[0].partition("Missing for a run")[2]
    assert words in missing


def test_cache_without_a_bucket_says_what_to_set(tmp_path: Path) -> None:
    card_free = tmp_path / "data"
    card_free.mkdir()
    out, err = trnui("--dataset", "sample", "cache", "--fill", "--neuronx-cc", "2.28", code=3)
    assert out == ""
    assert "neff_bucket" in err


@pytest.mark.standin
def test_cache_status_and_filling_from_the_bucket_of_the_setting(
    standin_host: Make, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    pytest.importorskip("hf_xet")
    standin_host()
    key = "ab" * 16
    with FakeHub() as hub:
        hub.add_bucket("acme/neff", {f"neuronxcc-2.28.7631.0+standin/ab/ab/{key}.neff": b"x" * 5000})
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.delenv("HF_HUB_OFFLINE")
        monkeypatch.setenv("TRNUI_NEFF_BUCKET", "acme/neff")
        out, err = trnui("--dataset", "sample", "cache", "--fill")
        assert out == "1 graph copied\n"
        assert "named by the setting neff_bucket" in err
    folder = home / "cache" / "neff" / "neuronxcc-2.28.7631.0+standin"
    assert (folder / "ab" / "ab" / f"{key}.neff").stat().st_size == 5000
    out, err = trnui("cache", "--status")
    assert "* 2.28.7631.0+standin                1     4.9 KiB      0  just now" in out
    assert "stand-in, not a Trainium" in err
    (value,) = json.loads(trnui("cache", "--status", "--format", "json")[0])
    assert (value["files"], value["used"]) == (1, True)


def test_report_to_stdout_and_to_a_file(home: Path, tmp_path: Path) -> None:
    runs = home / "state" / "runs"
    runs.mkdir(parents=True)
    shutil.copytree(RUNS / "20261130-121500-bloom-c3d4", runs / "20261130-121500-bloom-c3d4")
    out, _ = trnui("report", "bloom")
    assert out.startswith("# ")
    assert "## Error" in out or "## Course" in out
    silent, err = trnui("report", "last", "-o", str(tmp_path / "r.md"))
    assert silent == ""
    assert "written to" in err
    assert (tmp_path / "r.md").read_text() == out
    assert "Run not found" in trnui("report", "nothing", code=2)[1]


@pytest.mark.parametrize(
    ("kill", "linger", "survive"),
    [("b true", "Linger=yes", True), ("b true", "Linger=no", False), ("b false", "", True), ("", "", None)],
)
def test_what_happens_at_logout(kill: str, linger: str, survive: bool | None) -> None:
    assert told(kill, linger).survive is survive
