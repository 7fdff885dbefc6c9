"""Consent to run a third-party script: what is shown before, and what has been approved, by the script's SHA-256 or a dataset's commit."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from trnui_runner.common.errors import UsageError
from trnui_runner.common.text import decode, one_line, thousands
from trnui_runner.host.neff_cache import Bucket
from trnui_runner.preflight import approvals
from trnui_runner.preflight.approvals import Scope as Scope
from trnui_runner.request.checkpoint import folder_of, is_local
from trnui_runner.request.judge_choice import FETCHED, at_hand, loaded_judge
from trnui_runner.request.render_script import is_ours
from trnui_runner.request.script_scan import Loads, loads_of
from trnui_runner.run_folder.recipe import Recipe

RIGHTS: Final = "It runs with your rights: it can read and write your files and use your network."
GRAPHS: Final = "compiled graphs from there are programs for the device"
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Question:
    """What the user sees before approving; `lines` pairs a name with its words, in order, for a terminal or a screen."""

    model: str
    script_sha256: str
    lines: tuple[tuple[str, str], ...]
    dataset: str | None = None
    commit: str | None = None

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """What an approval may cover: this script alone, or every script of the dataset at this commit."""
        return ("script", "dataset") if self.dataset and self.commit else ("script",)

    @property
    def text(self) -> str:
        width = max(len(name) for name, _ in self.lines)
        return "\n".join(f"{name:<{width}}  {words}" for name, words in self.lines)

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"lines": [list(line) for line in self.lines]}


def question(
    recipe: Recipe,
    script: bytes,
    *,
    loads: Loads | None = None,
    bucket: Bucket | None = None,
    commits: Mapping[str, str] | None = None,
) -> Question:
    """What is asked before a script runs, everywhere: its source, what it loads, and the judge that is loaded beside it.

    loads: of the script, where it was read already. commits: what the Hub says `main` of a repository is now, where it was
    asked; else the local copy's commit is named.
    """
    loads = loads if loads is not None else loads_of(decode(script))
    digest = hashlib.sha256(script).hexdigest()
    source = recipe.source
    commit = source.revision if source and source.revision and _COMMIT.fullmatch(source.revision) else None
    where = "unknown"
    if source is not None:
        place = f", {one_line(source.file)} row {source.row}" if source.file else ""
        where = f"{one_line(source.dataset)} at {commit or one_line(source.revision or 'an unknown commit')}{place}"
    length = len(script.splitlines())
    lines = [
        ("script", f"run.py of {one_line(recipe.model)}, {thousands(length)} line{'' if length == 1 else 's'}"),
        ("SHA-256", digest),
        ("source", where),
        ("rights", RIGHTS),
    ]
    lines += [("loads", words) for words in load_words(recipe, loads, commits or {})]
    if loads.remote_code:
        lines.append(("", "with trust_remote_code: Python code that comes with the checkpoint runs too"))
    judge = loaded_judge(recipe.judge, recipe.cores)
    if judge is not None:
        lines.append(("judge", f"{one_line(judge)}, {'at hand' if at_hand(judge) else FETCHED}"))
    if any("@" in value for name, value in os.environ.items() if name.lower().endswith("_proxy")):
        lines.append(("proxy", "it gets your proxy's login from your environment, since a download needs it"))
    if bucket is not None:
        lines.append(("graphs", f"hf://buckets/{bucket.name}, named by {bucket.source}: {GRAPHS}"))
    return Question(recipe.model, digest, tuple(lines), source.dataset if source else None, commit)


def load_words(recipe: Recipe, loads: Loads, commits: Mapping[str, str]) -> list[str]:
    """A line for each repository, with what its revision resolves to now."""
    if loads.problem:
        return [loads.problem]
    found = [_words(one.name, one.revision, commits) for one in loads.repositories if one.name]
    vague = [one for one in loads.repositories if one.name is None]
    if vague:
        found.append(f"and what it computes at run time (line {', '.join(str(one.line) for one in vague[:8])})")
    return found or [f"nothing that its text names; it should be {one_line(recipe.model)}"]


def _words(name: str, revision: str | None, commits: Mapping[str, str]) -> str:
    if is_local(name):
        return f"{one_line(name)} (a local folder)"
    if revision and _COMMIT.fullmatch(revision):
        return f"{one_line(name)} at commit {revision}"
    if revision == "?":
        return f"{one_line(name)} at a revision computed at run time"
    branch = revision or "main"
    now = commits.get(name) if branch == "main" else None
    if now:
        return f"{one_line(name)} at {branch}, now commit {one_line(now, 40)}"
    snapshot = folder_of(name, revision)
    if snapshot is not None:
        return f"{one_line(name)} at {one_line(branch)}, with commit {one_line(snapshot.name, 40)} on disk"
    return f"{one_line(name)} at {one_line(branch)}, whichever commit that is at that time"


# -- what has been agreed to


def allowed(recipe: Recipe, script: bytes) -> str | None:
    """Why this script may run, in words; None when the user has to be asked.

    Decided by the bytes that would run: what a recipe says of them counts for nothing.
    """
    if is_ours(script):
        return "it ships with trnui"
    if recipe.script == "file":
        return "it is a file that you named"
    agreed, source = approvals.Approvals(), recipe.source
    found = agreed.get("script", hashlib.sha256(script).hexdigest())
    if found is not None:
        return f"you approved this script {found.day}"
    if source is not None and source.revision:
        found = agreed.get("dataset", f"{source.dataset}@{source.revision}")
        if found is not None:
            return f"you approved {one_line(source.dataset)} at {source.revision[:8]} {found.day}"
    return None


def remember(recipe: Recipe, script: bytes, scope: Scope = "script") -> None:
    """Raises UsageError when there is no commit to tie a dataset's consent to, OSError when it cannot be written."""
    source = recipe.source
    key = hashlib.sha256(script).hexdigest()
    if scope == "dataset":
        if source is None or not source.revision or not _COMMIT.fullmatch(source.revision):
            raise UsageError("The dataset has no commit that an approval could apply to.", "Approve this script alone.")
        key = f"{source.dataset}@{source.revision}"
    approvals.remember(scope, key, recipe.model, source.dataset if source else None)


def forget() -> int:
    """Revokes every approval; returns how many there were."""
    return len(approvals.take_back("all"))
