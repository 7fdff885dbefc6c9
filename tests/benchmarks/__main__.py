"""All benchmarks one after the other, each printing its Markdown table: `python -m tests.benchmarks [--quick]`.

`--quick` leaves out the million rows. Nothing else should run on the machine meanwhile: about ten minutes, three with --quick.
"""

from __future__ import annotations

import subprocess
import sys

PARTS = (
    ("The app on a line, beside an empty Textual app", "app", ["--big"], []),
    ("The data, against the bare DuckDB query", "data", [], ["10000", "100000"]),
    ("The log", "log", [], []),
    ("Watching a run", "runner_cost", [], []),
    ("The judge of sharded runs", "judge", [], []),
)


def main() -> int:
    quick, worst = "--quick" in sys.argv, 0
    for title, module, full, short in PARTS:
        print(f"\n### {title}\n", flush=True)
        worst |= subprocess.call([sys.executable, "-m", f"tests.benchmarks.{module}", *(short if quick else full)])
    return worst


if __name__ == "__main__":
    sys.exit(main())
