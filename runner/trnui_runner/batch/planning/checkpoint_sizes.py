"""How many bytes from_pretrained would fetch of many repositories: asked of the Hub in one child, several at a time.

python checkpoint_sizes.py < NAMES      a line of JSON for each, as the answers come: {"model", "bytes"}
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

AT_A_TIME = 8


def ask_sizes(models: Iterable[str], *, token: bool = False, timeout: float = 30.0) -> dict[str, int]:
    """Bytes by model, of those that the Hub has told of within `timeout` seconds. Never raises."""
    import subprocess

    from trnui_runner.common.hub_env import without_token

    names = [model for model in models if model.isprintable()]
    if not names:
        return {}
    env = dict(os.environ) if token else without_token(os.environ)
    env |= {
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "PYTHONPATH": os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "..")),
    }
    try:
        done = subprocess.run(
            [sys.executable, "-P", __file__],
            input="\n".join(names).encode(),
            capture_output=True,
            timeout=timeout,
            env=env,
            check=False,
        )
        out = done.stdout
    except subprocess.TimeoutExpired as late:
        out = late.stdout or b""
    except OSError:
        return {}
    found = {}
    for line in out.splitlines():
        try:
            value = json.loads(line)
            found[str(value["model"])] = int(value["bytes"])
        except (ValueError, KeyError, TypeError):
            continue  # cut off, or the Hub did not say
    return found


def main() -> None:
    from huggingface_hub import HfApi

    from trnui_runner.request.hub_info import fetched_bytes

    api = HfApi()

    def size_of(model: str) -> int | None:
        try:
            info = api.model_info(model, files_metadata=True, timeout=8)
            return fetched_bytes([(s.rfilename, s.size) for s in info.siblings or ()])
        except Exception:  # noqa: BLE001 whatever keeps the Hub from answering: this one's size is not known
            return None

    models = sys.stdin.read().split("\n")
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        for model, size in zip(models, pool.map(size_of, models), strict=True):
            print(json.dumps({"model": model, "bytes": size}), flush=True)


if __name__ == "__main__":
    main()
