"""Records the run folders of tests/fixtures/runs that are real runs: on the CPU, of the sample's checkpoints, by the runner itself.

    python tools/record_runs.py [NAME…]

Places of the machine (home, interpreter, temporary folders) are replaced by plain ones; nothing else is changed.
"""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from trnui_runner.request import render_script  # noqa: E402
from trnui_runner.request.steps import SupervisionOptions, usual_steps  # noqa: E402
from trnui_runner.run_folder.folder import RunFolder  # noqa: E402
from trnui_runner.run_folder.recipe import Recipe, RowSource  # noqa: E402
from trnui_runner.supervise.launcher import start, stop  # noqa: E402

TARGET = ROOT / "tests" / "fixtures" / "runs"
KEPT = ("recipe.json", "run.py", "output.log", "events.jsonl", "state.json", "result.json", "lock")
ROW: dict[str, Any] = {  # as the sample's rows are; the wall time is another machine's
    "library": "transformers",
    "tp": 1,
    "runner": "trnui/cpu",
    "result": "PASS (CPU)",
    "wall_s": 24,
    "library_version": "5.24.0",
    "transformers": "5.24.0",
    "torch": "2.13.0+cpu",
}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="record-") as home:
        os.environ |= {"TRNUI_STATE_DIR": f"{home}/state", "TRNUI_CACHE_DIR": f"{home}/cache", "OMP_NUM_THREADS": "1"}
        for name in sys.argv[1:] or RECORDINGS:
            print(f"{name} …", flush=True)
            keep(RECORDINGS[name](name), Path(home))


def launched(run_id: str, model: str, change: tuple[bytes, bytes] | None = None, **fields: Any) -> RunFolder:
    """`change`: what is put in the place of what in the script, which is then one of one's own."""
    from trnui.sample.models import folder_of

    recipe = Recipe(run_id, model, python=sys.executable, timeout_s=600.0, **fields)
    source = render_script.render(recipe)
    if change is not None:
        assert source.count(change[0]) == 1
        source, recipe = source.replace(*change), dataclasses.replace(recipe, script="file")
    digest = render_script.digest(source)
    options = {"row_script_sha256": digest} if recipe.row else {}  # the row, too, was made by this script
    recipe = dataclasses.replace(recipe, script_sha256=digest, options=options)
    env = {"TRNUI_CHECKPOINT": str(folder_of(model)), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    steps = [dataclasses.replace(step, env={**env, **step.env}) for step in usual_steps(sys.executable)]
    return start(recipe, source, steps, SupervisionOptions(grace_s=2.0))


def ended(run: RunFolder) -> RunFolder:
    while run.outcome() in ("queued", "running"):
        time.sleep(0.1)
    return run


def in_a_compile(run: RunFolder, ordinal: int) -> RunFolder:
    """Waits until that many graphs have begun to compile."""
    while sum(e.get("event") == "compile" and e.get("state") == "start" for e in run.events()) < ordinal:
        assert run.outcome() in ("queued", "running"), run.result()
        time.sleep(0.02)
    time.sleep(0.3)
    return run


def passed(name: str) -> RunFolder:
    model = "trnui-sample/recites"
    row = {"model_id": model, **ROW}
    source = RowSource("sample", None, "sample.parquet", 0)
    return ended(launched(name, model, dtype="bfloat16", row=row, source=source))


def failed(name: str) -> RunFolder:
    """Six heads over four ranks."""
    return ended(launched(name, "trnui-sample/odd-heads", dtype="float32", cores=4, parallelism="tp"))


def mismatch(name: str) -> RunFolder:
    """A script that spoils a weight after loading, as a device that computes wrongly would: no sample model gives other tokens."""
    spoiled = b", **placement()).eval()\n    model.model.norm.weight.data.neg_()\n"
    change = (b", **placement()).eval()\n", spoiled)
    return ended(launched(name, "trnui-sample/recites", change, dtype="float32"))


def going_on(name: str) -> RunFolder:
    """As it stands while both ranks compile; the run itself is stopped afterwards."""
    run = in_a_compile(launched(name, "trnui-sample/recites-moe", dtype="bfloat16", cores=2, parallelism="tp"), 3)
    frozen = RunFolder(run.path.parent / f"{name}.now")
    shutil.copytree(run.path, frozen.path, symlinks=True)
    stop(run)
    return frozen


def cancelled(name: str) -> RunFolder:
    run = in_a_compile(launched(name, "trnui-sample/qwen3", dtype="float32"), 1)
    stop(run)
    return run


RECORDINGS: dict[str, Callable[[str], RunFolder]] = {
    "20261130-140000-recites-11aa": passed,
    "20261130-141000-odd-heads-22bb": failed,
    "20261201-062800-recites-33cc": mismatch,
    "20261130-143000-recites-moe-44dd": going_on,
    "20261130-144000-qwen3-55ee": cancelled,
}


def keep(run: RunFolder, home: Path) -> None:
    target = TARGET / run.id.removesuffix(".now")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in KEPT:
        if (run.path / name).exists():
            (target / name).write_bytes(neutral((run.path / name).read_bytes(), home))


def neutral(data: bytes, home: Path) -> bytes:
    """The same without places of this machine."""
    site = Path(os.__file__).parent
    places = {
        str(home / "state"): "/home/user/.local/state/trnui",
        str(home / "cache"): "/home/user/.cache/trnui",
        sys.prefix: "/home/user/venv",
        str(site): "/usr/lib/python3",
        sys.base_prefix: "/usr",
        str(ROOT): "/home/user/trnui",
    }
    for old in sorted(places, key=len, reverse=True):
        data = data.replace(old.encode(), places[old].encode())
    return re.sub(rb"/tmp/trnui-[a-z0-9_]+", b"/tmp/trnui-run", data)


if __name__ == "__main__":
    main()
