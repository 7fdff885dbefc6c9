"""Fetches one checkpoint into the Hub's cache: the files that from_pretrained would take. A child that can be ended at any time.

python fetch_checkpoint.py MODEL [REVISION]      one JSON object on stdout; exit code 0 when everything is there
"""

from __future__ import annotations

import json
import sys


def main(model: str, revision: str) -> dict[str, object]:
    from huggingface_hub import HfApi, snapshot_download

    from trnui_runner.request.hub_info import fetched_files

    info = HfApi().model_info(model, revision=revision, files_metadata=True, timeout=30)
    names = [name for name, _ in fetched_files([(s.rfilename, s.size) for s in info.siblings or ()])]
    snapshot_download(model, revision=revision, allow_patterns=names, max_workers=4)
    return {"files": len(names), "commit": info.sha}


if __name__ == "__main__":
    try:
        print(json.dumps(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "main")))
    except Exception as error:  # noqa: BLE001 whatever it is, the run itself will meet it too and tell it in full
        print(json.dumps({"problem": f"{type(error).__name__}: {error}".split("\n")[0][:300]}))
        sys.exit(1)
