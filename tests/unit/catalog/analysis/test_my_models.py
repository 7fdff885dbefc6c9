"""Models that a user names, each with its best known result and what a host could hold."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from tests.called import called
from tests.datasets import NEW, OLD, database, folder, row
from tests.fakehub import FakeHub
from trnui.catalog.analysis.my_models import Named, in_cache, in_text, merged, my_models, of_owner, table
from trnui.catalog.analysis.what_if import estimate, named
from trnui.catalog.hub.model_lists import checked
from trnui_runner.common.errors import UsageError

GIB = 1 << 30


def checkpoint(cache: Path, model: str, size: int, *, ref: bool = True) -> None:
    """As it lies in the Hub's cache, its weights by their header alone."""
    repository = cache / f"models--{model.replace('/', '--')}"
    snapshot = repository / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    header = json.dumps({"w": {"dtype": "BF16", "shape": [size // 2], "data_offsets": [0, size]}}).encode()
    (snapshot / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    if ref:
        (repository / "refs").mkdir()
        (repository / "refs" / "main").write_text("a" * 40)


def test_the_hubs_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    checkpoint(tmp_path, "Qwen/Qwen3-8B", 16 * GIB)
    checkpoint(tmp_path, "gpt2", GIB, ref=False)
    (tmp_path / "models--o--empty").mkdir()
    (tmp_path / "datasets--o--d").mkdir()
    assert in_cache() == (Named("Qwen/Qwen3-8B", "Hub cache", 16 * GIB), Named("gpt2", "Hub cache", GIB))
    assert in_cache(tmp_path / "none") == ()


def test_names_in_a_file() -> None:
    text = 'model_id,downloads\nQwen/Qwen3-8B,12\n\n# mine\no/a  # why\n"o/b"\to\ngpt2\n'
    assert [n.model_id for n in in_text(text, "f")] == ["Qwen/Qwen3-8B", "o/a", "o/b", "gpt2"]
    with pytest.raises(UsageError, match=r"f, line 2: a b is not a model's name"):
        in_text("o/a\na b\n", "f")
    with pytest.raises(UsageError, match="line 1"):
        in_text("a/b/c", "f")


def test_the_best_of_all_stacks_and_what_a_host_holds(tmp_path: Path) -> None:
    db = database(
        tmp_path,
        row("O/M", "PASS", OLD, tp=8, cpu_match=None, english="yes"), row("o/m", "FAIL", NEW),
        row("o/exact", "PASS", OLD), row("o/exact", "PASS", NEW, tp=2, cpu_match=None, english="yes"), row("o/out", None, NEW, exclusion="x"),
    )  # fmt: skip
    names = [
        Named("o/m", "f"),
        Named("o/exact", "f"),
        Named("o/out", "f", 30 * GIB),
        Named("o/none", "f", 900 * GIB),
        Named("o/what", "f"),
    ]
    found = {m.model_id: m for m in my_models(db, names, 4)}
    assert (found["O/M"].stack, found["O/M"].passed, found["O/M"].tested, found["O/M"].fits) == (OLD, 1, 2, False)
    assert (found["o/exact"].stack, found["o/exact"].fits) == (OLD, True)  # checked against a CPU: the stronger PASS
    assert (found["o/out"].cores_by_size, found["o/out"].fits) == (2, True)
    assert (found["o/none"].best, found["o/none"].cores_by_size, found["o/none"].fits) == (None, None, False)
    assert (found["o/what"].best, found["o/what"].fits) == (None, None)
    lines = table(list(found.values()), db.stacks).records()
    assert [(r["best"], r["on"]) for r in lines][:2] == [("PASS", "2.28/5.24.0"), ("PASS", "2.28/5.24.0")]
    assert lines[3]["best"] == "UNTESTED"
    assert my_models(db, names[:1], None, {NEW})[0].best is not None
    assert my_models(db, names[:1], None, {NEW})[0].passed == 0
    assert [n.model_id.lower() for n in of_owner(db, "O")] == ["o/exact", "o/m", "o/out"]


def test_several_lists_are_one() -> None:
    found = merged((Named("o/a", "x"), Named("o/b", "x", 1)), (Named("O/A", "y", 5), Named("o/c", "y")))
    assert [(n.model_id, n.weight_bytes) for n in found] == [("o/a", 5), ("o/b", 1), ("o/c", None)]


def test_a_named_instance() -> None:
    small = named("TRN2.3xlarge")
    assert small.price is not None
    assert (small.instance.cores, small.price.per_hour, "2026-07-22" in small.price.source) == (4, 2.235, True)
    own = named("trn2.3xlarge", 1.5).price
    assert own is not None
    assert own.per_hour == 1.5
    assert named("trn2u.48xlarge").price is None
    with pytest.raises(UsageError) as error:
        named("trn2.3xlage")
    assert error.value.remedy.startswith("Did you mean trn2.3xlarge?")
    one = estimate(small, {"status": "PASS", "tp": 4, "wall_s": 360, "device": "neuron"})
    assert (one.fits, one.cores, round(one.usd or 0, 6)) == (True, 4, 0.2235)
    assert "4 of 4 cores (tested on so many cores) · this test $0.22" in one.words(small)
    big = estimate(small, {"status": "PASS", "tp": 8, "wall_s": 360, "device": "neuron"})
    assert (big.fits, big.usd) == (False, None)
    failed = estimate(small, {"status": "FAIL", "tp": 4, "wall_s": 360, "device": "neuron"}, 30 * GIB)
    assert (failed.fits, failed.cores, failed.usd) == (True, 2, None)
    assert estimate(small, {"status": "FAIL", "tp": 4}).fits is None
    assert (
        estimate(small, {"status": "PASS", "tp": 1, "wall_s": 9, "device": "cpu"}).fits is None
    )  # a CPU tells nothing of a core
    assert estimate(named("trn2u.48xlarge"), {"status": "PASS", "tp": 1, "wall_s": 9}).usd is None


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data"
    folder(path, row("o/m", "PASS", NEW, wall_s=360), row("o/x", "FAIL", NEW, error="zorp"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    checkpoint(tmp_path / "cache", "o/m", GIB)
    checkpoint(tmp_path / "cache", "o/untested", 50 * GIB)
    data = ("--dataset", path, "list")
    found = json.loads(called(*data, "--mine", "--host", "trn2.3xlarge", "--format", "json").out)
    assert [(r["model_id"], r["best"], r["weights_gib"], r["cores_by_size"], r["fits"]) for r in found] == [
        ("o/m", "PASS", 1.0, 1, True), ("o/untested", "UNTESTED", 50.0, 4, True),
    ]  # fmt: skip
    done = called(*data, "--from", "-", "--result", "FAIL", stdin="o/x\no/m\n")
    assert "1 of 2 models · 1 with a PASS · best result on all stacks" in done.err
    assert "no Neuron device here" in done.err
    offline = called("--offline", *data, "--org", "o")
    assert (offline.code, "o/x" in offline.out, "--offline" in offline.err) == (0, True, True)
    assert called("--offline", *data, "--collection", "o/c").code == 3
    assert called(*data, "--org", "../x").code == 2
    assert called(*data, "--mine", "--sort", "tp").code == 2
    assert called(*data, "--from", tmp_path / "none").code == 2
    rows = json.loads(called(*data, "--host", "trn2.3xlarge", "--format", "json").out)
    assert {r["model_id"]: (r["fits"], r["cores_there"], r["usd"]) for r in rows} == {
        "o/m": (True, 1, 0.2235), "o/x": (None, None, None),
    }  # fmt: skip
    monkeypatch.setenv("TRNUI_PRICE_PER_HOUR", "10")
    shown = called("--dataset", path, "show", "o/m", "--host", "trn2.48xlarge")
    assert (
        "trn2.48xlarge: fits, 1 of 64 cores (tested on so many cores) · this test $1.00 at $10 an hour (the setting price_per_hour)"
        in shown.out
    )
    assert (
        json.loads(called("--dataset", path, "show", "o/m", "--host", "trn2.48xlarge", "--format", "json").out)["host"][
            "usd"
        ]
        == 1.0
    )


def test_lists_of_the_hub_are_asked_for_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data"
    folder(path, row("Acme/m1", "PASS", NEW))
    with FakeHub() as hub:
        monkeypatch.delenv("HF_HUB_OFFLINE")
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        for n in range(3):
            hub.add_model(f"Acme/m{n}", downloads=n, pipeline_tag="text-generation")
        hub.collections["Acme/best-0123"] = ["Acme/m1", "other/x"]
        data = ("--dataset", path, "list", "--format", "json")
        assert [r["model_id"] for r in json.loads(called(*data, "--org", "Acme").out)] == [
            "Acme/m2",
            "Acme/m1",
            "Acme/m0",
        ]
        asked = len(hub.requests)
        assert called(*data, "--org", "Acme").code == 0
        assert len(hub.requests) == asked
        address = f"{hub.url}/collections/Acme/best-0123"
        assert [r["best"] for r in json.loads(called(*data, "--collection", address).out)] == ["PASS", "UNTESTED"]
        assert called(*data, "--collection", "Acme/none-1").code == 2
    assert len(json.loads(called("--offline", *data, "--collection", "Acme/best-0123").out)) == 2


def test_names_of_lists() -> None:
    assert checked("collection", "https://huggingface.co/collections/Qwen/qwen3-67dd") == "Qwen/qwen3-67dd"
    assert checked("org", "meta-llama") == "meta-llama"
    for kind, name in (("org", "a/b"), ("org", "../x"), ("collection", "x"), ("collection", "../../etc/passwd")):
        with pytest.raises(UsageError):
            checked(kind, name)  # type: ignore[arg-type]  # two words of two
