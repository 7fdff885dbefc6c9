"""What the Hub says of a checkpoint before it is fetched: bytes, gated or not, commit. Asked in a child that can be ended.

python hub_facts.py MODEL [REVISION]      one JSON object on stdout
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import Any

FETCHED = (".safetensors", ".json", ".txt", ".model", ".jinja", ".tiktoken", ".py")
OTHER_WEIGHTS = (".bin", ".pt", ".pth")


@dataclass(frozen=True)
class HubInfo:
    """`bytes`: what from_pretrained would fetch. `problem`: why the Hub did not say, in words; then the rest is unknown."""

    bytes: int | None = None
    gated: bool | None = None
    commit: str | None = None
    problem: str = ""


def ask_hub(model: str, revision: str | None = None, *, token: bool = False, timeout: float = 12.0) -> HubInfo:
    """Never raises, never waits longer than `timeout`. token: the token at hand may be used."""
    from trnui_runner.common.hub_env import without_token
    from trnui_runner.common.subprocesses import ask
    from trnui_runner.common.text import one_line

    env = dict(os.environ) if token else without_token(os.environ)
    env["HF_HUB_DISABLE_TELEMETRY"] = "1"
    answer = ask(sys.executable, "-P", __file__, model, revision or "main", timeout=timeout, env=env)
    if not answer.ok:
        return HubInfo(problem=answer.problem)
    try:
        value = json.loads(answer.out.splitlines()[-1])
    except (ValueError, IndexError):
        return HubInfo(problem="its answer cannot be read")
    return HubInfo(
        value.get("bytes"), value.get("gated"), value.get("commit"), one_line(value.get("problem") or "", 200)
    )


def fetched_files(files: list[tuple[str, int | None]]) -> list[tuple[str, int | None]]:
    """What from_pretrained takes of (name, bytes): safetensors where there are any, top level only."""
    top = [(name, size) for name, size in files if "/" not in name and not name.startswith("consolidated")]
    weights = ".safetensors" if any(n.endswith(".safetensors") for n, _ in top) else OTHER_WEIGHTS
    return [
        (name, size)
        for name, size in top
        if name.endswith(weights) or (name.endswith(FETCHED) and not name.endswith(".safetensors"))
    ]


def fetched_bytes(files: list[tuple[str, int | None]]) -> int | None:
    """The sum of those sizes; None when one is missing."""
    sizes = [size for _, size in fetched_files(files)]
    return None if any(size is None for size in sizes) else sum(size for size in sizes if size is not None)


def main(model: str, revision: str) -> dict[str, Any]:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    try:
        info = HfApi().model_info(model, revision=revision, files_metadata=True, timeout=8)
    except GatedRepoError:
        return {"gated": True, "problem": ""}
    except RepositoryNotFoundError:
        return {"problem": f"the Hub has no {model}, or does not show it without a token"}
    except RevisionNotFoundError:
        return {"problem": f"{model} has no revision {revision}"}
    except Exception as error:  # noqa: BLE001 whatever keeps the Hub from answering is one fact: it did not
        return {"problem": f"{type(error).__name__}: {error}".split("\n")[0][:200]}
    files = [(s.rfilename, s.size) for s in info.siblings or ()]
    return {"bytes": fetched_bytes(files), "gated": bool(info.gated), "commit": info.sha}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2])))
