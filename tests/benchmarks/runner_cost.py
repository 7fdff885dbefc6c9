"""What watching a run costs: CPU time of supervisor and probe as a share of the run's own (at most 1 %, design section 8).

    python -m tests.benchmarks.runner_cost [MODEL]

Summed inside, not compared between runs: two equal runs differ by more than what is looked for. The probe's time is that of
its outermost functions, taken by a copy of it with a clock around them; what loading it costs is in it.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 0.01
LOADING = """
import time as _time
_plain, _began = probe, None
def probe():
    first = "trnui_probe" not in sys.modules
    began = _time.process_time()
    module = _plain()
    if first:
        module.cost[0] += _time.process_time() - began
    return module
"""
CLOCK = """
import time as _time
_emit = sys.modules[__name__ + ".emit"]
cost, _depth = [0.0], [0]
def _clocked(fn):
    def call(*args):
        began = _time.process_time() if not _depth[0] else 0.0
        _depth[0] += 1
        try:
            return fn(*args)
        finally:
            _depth[0] -= 1
            if not _depth[0]:
                cost[0] += _time.process_time() - began
    return call
_plain = _emit.safe
for _name, _module in list(sys.modules.items()):
    if _name.split(".")[0] == __name__ and getattr(_module, "safe", None) is _plain:
        _module.safe = _clocked(_plain)
import atexit as _atexit
_atexit.register(lambda: _emit.emit("notice", kind="cost", text=repr(cost[0])))
"""


def clocked_probe(folder: Path) -> Path:
    """A copy of the probe that tells at the end of each process how much CPU time it took there."""
    from trnui_runner.supervise.child_env import PROBE

    copy = folder / "probe"
    shutil.copytree(PROBE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    site, package = copy / "sitecustomize.py", copy / "trnui_probe" / "__init__.py"
    site.write_text(
        site.read_text().replace(
            '\n\nif os.environ.get("TRNUI_RUN_DIR"):', LOADING + '\n\nif os.environ.get("TRNUI_RUN_DIR"):', 1
        )
    )
    package.write_text(package.read_text() + CLOCK)
    return copy


def measure(model: str) -> dict[str, float]:
    """CPU seconds: run (its processes), probe, supervisor; and the wall time."""
    from trnui.sample.models import folder_of
    from trnui_runner.request import render_script
    from trnui_runner.request.steps import SupervisionOptions, usual_steps
    from trnui_runner.run_folder.recipe import Recipe, new_id
    from trnui_runner.supervise.launcher import start

    recipe = Recipe(new_id(model), model, python=sys.executable, dtype="float32")
    probe = clocked_probe(Path(os.environ["TRNUI_STATE_DIR"]))
    env = {"TRNUI_CHECKPOINT": str(folder_of(model)), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    steps = [
        dataclasses.replace(s, env={**env, **s.env, **({"PYTHONPATH": str(probe)} if s.probe else {})})
        for s in usual_steps(sys.executable)
    ]
    run = start(recipe, render_script.render(recipe), steps, SupervisionOptions())
    while run.outcome() in ("queued", "running"):
        time.sleep(0.2)
    events = [line.raw for line in run.events()]
    result = run.result()
    assert result is not None
    assert result.outcome == "PASS", result.reason
    return {
        "run": sum(
            e["cpu_s"] for e in events if e["event"] == "step" and e.get("name") == "run" and e["state"] == "end"
        ),
        "check": sum(
            e["cpu_s"] for e in events if e["event"] == "step" and e.get("name") == "check" and e["state"] == "end"
        ),
        "probe": sum(float(e["text"]) for e in events if e.get("kind") == "cost"),
        "supervisor": next(e["watch_cpu_s"] for e in events if e["event"] == "result"),
        "wall": result.wall_s or 0.0,
    }


def main() -> int:
    model = sys.argv[1] if len(sys.argv) > 1 else "trnui-sample/recites"
    with tempfile.TemporaryDirectory(prefix="cost-") as home:
        os.environ |= {"TRNUI_STATE_DIR": f"{home}/state", "TRNUI_CACHE_DIR": f"{home}/cache", "OMP_NUM_THREADS": "1"}
        Path(home, "state").mkdir()
        found = measure(model)
    total = found["run"] + found["check"]
    print(f"{model}: run {found['run']:.2f} s of CPU, check {found['check']:.2f} s, wall {found['wall']:.1f} s")
    for name in ("probe", "supervisor"):
        print(f"  {name:<10} {found[name] * 1e3:7.1f} ms  {found[name] / total:6.2%}")
    print(
        f"  supervisor {found['supervisor'] / found['wall'] * 1e3:.1f} ms a second: on a busy host a run takes longer, its share grows"
    )
    share = (found["probe"] + found["supervisor"]) / total
    print(
        f"  together   {share:.2%} of the run's CPU time (limit {LIMIT:.0%}): {'ok' if share <= LIMIT else 'TOO MUCH'}"
    )
    return 0 if share <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
