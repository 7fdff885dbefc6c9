"""Every command's output, read byte by byte, with over a hundred hostile strings in each column and each field of a run folder;
and every command that is offered for copying, pasted into a shell."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from tests.hostile import HOSTILE, PACKS, PWNED, found_in, packed
from tests.recorded import FAIL, PASS, recorded
from trnui.cli.main import cli
from trnui_runner.cli.run_commands import attach, one_run, show_runs
from trnui_runner.common.dataset_schema import COLUMNS
from trnui_runner.common.errors import UserError
from trnui_runner.common.text import clean
from trnui_runner.run_folder.folder import RunFolder

EVERY = ("--neuronx-cc", "all", "--library-version", "all")


def model(number: int) -> str:
    return packed("org/m", number).replace("\ud800", "")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A row for each ten strings: in all 24 columns at once, half of them PASS, so that every line is drawn."""
    path = tmp_path_factory.mktemp("hostile")
    rows = []
    for n in range(PACKS):
        row = {c: packed("v", n).encode("utf-8", "replace").decode() for c in COLUMNS}
        row |= {"model_id": model(n), "exclusion": row["exclusion"] if n % 5 == 4 else "", "tested_at": "2026-11-01"}
        row["result"] = ("PASS", "FAIL", row["result"])[n % 3]
        rows.append(row)
    pq.write_table(pa.Table.from_pylist(rows), path / "rows.parquet")
    return path


def run(*words: str) -> bytes:
    """stdout and stderr of a command in a pipe; an error as `main` tells it."""
    done = CliRunner().invoke(cli, [w.encode("utf-8", "replace").decode() for w in words], standalone_mode=False)
    error = done.exception
    if error is not None and not isinstance(error, UserError | SystemExit) and not hasattr(error, "format_message"):
        raise error
    told = clean(error) if isinstance(error, UserError) else ""
    return done.stdout_bytes + done.stderr_bytes + told.encode("utf-8", "surrogatepass")


def test_there_are_over_a_hundred() -> None:
    assert len(set(HOSTILE)) > 100


@pytest.mark.parametrize("format_", ["table", "markdown", "json", "jsonl"])
@pytest.mark.parametrize("view", ["selected", "failures"])
def test_lists(data: Path, view: str, format_: str) -> None:
    out = run("--dataset", str(data), "list", "--view", view, *EVERY, "--format", format_, "--no-truncate")
    assert len(out) > 100
    assert not found_in(out)


@pytest.mark.parametrize("number", range(PACKS))
def test_show_and_packages(data: Path, number: int) -> None:
    for words in (["show", "--full"], ["show", "--format", "json"], ["packages"], ["packages", "--format", "json"]):
        out = run("--dataset", str(data), *words, *EVERY, "--", model(number))
        assert b"v" in out
        assert not found_in(out), words


def test_other_commands(data: Path) -> None:
    for words in (
        ["compare", "--summary"],
        ["compare", "vaa", "vbb"],
        ["sql", "SELECT * EXCLUDE (run_py) FROM results"],
        ["sql", "SELECT * FROM results", "--format", "json"],
        ["sync", "--check"],
        ["config"],
        ["runs"],
        ["consent"],
        ["show", *HOSTILE[:1]],
        *(["show", "--", text] for text in HOSTILE[:20]),
        *(["list", "--search", text] for text in HOSTILE[20:30]),
        *(["attach", "--", text] for text in HOSTILE[30:40]),
        *(["--dataset", text, "list"] for text in HOSTILE[:12]),
    ):
        assert not found_in(run("--dataset", str(data), *words)), words


def pasted(block: str, where: Path) -> list[str]:
    """What a shell without any program does with it, in an empty folder."""
    where.mkdir()
    shell = shutil.which("sh")
    assert shell is not None
    subprocess.run(
        [shell, "-s"],
        input=block.encode("utf-8", "replace"),
        cwd=where,
        env={"PATH": "/nonexistent"},
        capture_output=True,
        timeout=30,
    )
    return os.listdir(where)


def test_what_is_offered_for_copying_runs_nothing_else(data: Path, tmp_path: Path) -> None:
    blocks = []
    for n in range(PACKS):
        told = json.loads(
            run("--dataset", str(data), "show", "--format", "json", *EVERY, "--", model(n)).decode().partition("\n}")[0]
            + "\n}"
        )
        blocks += [*told["commands"], told["install"] or ":"]
        blocks.append(run("--dataset", str(data), "packages", *EVERY, "--", model(n)).decode().rpartition("\n")[0])
    assert len(blocks) > 2 * PACKS
    for n, block in enumerate(blocks):
        made = pasted(block, tmp_path / str(n))
        assert PWNED not in made, block
        assert set(made) <= {"run.py"}, block


# -- run folders


def poisoned(value: Any, n: int) -> Any:
    """The same JSON with ten hostile strings in every text."""
    if isinstance(value, str):
        return packed(value[:40], n)
    if isinstance(value, dict):
        return {
            k: v
            if k in ("outcome", "verdict", "kind", "v", "stage", "id", "script", "device", "parallelism")
            else poisoned(v, n)
            for k, v in value.items()
        }
    return [poisoned(v, n) for v in value[:4]] if isinstance(value, list) else value


@pytest.fixture
def runs(home: Path) -> list[RunFolder]:
    found = []
    for n in range(PACKS):
        run = recorded((PASS, FAIL)[n % 2])
        run.path.rename(run.path.parent / f"20261201-{n:06d}-hostile-0000")
        run = RunFolder(run.path.parent / f"20261201-{n:06d}-hostile-0000")
        for name in ("recipe", "state", "result"):
            path = run.path / f"{name}.json"
            path.write_text(json.dumps(poisoned(json.loads(path.read_text()), n)))
        lines = [json.loads(line) for line in (run.path / "events.jsonl").read_text().splitlines()]
        kept = ("event", "state", "src", "name")
        lines = [{k: v if k in kept else poisoned(v, n) for k, v in line.items()} for line in lines]
        (run.path / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        (run.path / "output.log").write_bytes(packed("log", n).encode("utf-8", "surrogatepass"))
        found.append(run)
    return found


def test_run_folders(runs: list[RunFolder], capfd: pytest.CaptureFixture[str]) -> None:
    for format_ in ("table", "json", "jsonl"):
        show_runs(format_, None, print)  # type: ignore[arg-type]
    for found in runs:
        for log in (False, True):
            attach(one_run(found.id), "text", log, lambda words: print(clean(words)))
        attach(one_run(found.id), "jsonl", False, lambda words: print(clean(words)))
    out = capfd.readouterr().out.encode("utf-8", "surrogatepass")
    assert out.count(b"hostile-0000") >= PACKS
    assert not found_in(out)


def test_reports_and_exports_of_them(runs: list[RunFolder], tmp_path: Path) -> None:
    for found in runs:
        out = run("report", found.id).replace("@\u200b".encode(), b"@")  # ours: so that nobody is mentioned
        assert not found_in(out), found.id
        page = tmp_path / "x.html"
        run("report", found.id, "-o", str(page))
        assert not found_in(page.read_bytes().replace("@\u200b".encode(), b"@"))
    for words in (
        ["list", "--view", "runs", *EVERY],
        ["list", "--view", "runs", "--format", "json", *EVERY],
        ["export", "-o", str(tmp_path / "out")],
    ):
        assert not found_in(run("--dataset", "sample", *words)), words


WRONG: dict[str, Any] = {
    "a list": [],
    "a number": 7,
    "text": "x",
    "true": True,
    "huge": 10**400,
    "deep": [[[[[[[[[[[[1]]]]]]]]]]]],
    "null": None,
    "object": {"x": {}},
}


@pytest.mark.parametrize("name", ["recipe", "state", "result"])
def test_a_field_of_another_type_harms_no_list(home: Path, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Each field of each file with each wrong type: one line for it, the others as they are."""
    good = recorded(PASS)
    bad = good.path.parent / "20261201-000000-bad-0000"
    shutil.copytree(good.path, bad)
    path = bad / f"{name}.json"
    usual = json.loads(path.read_text())
    for field in usual:
        for value in WRONG.values():
            path.write_text(json.dumps(usual | {field: value}))
            assert show_runs("table", None, print) == 0
            out = capfd.readouterr().out
            assert "bad-0000" in out
            assert "PASS (CPU)" in out
    for raw in (b"", b"\xff{", b"null", b"[]", b"7", b"[" * 200_000, b'{"a":' * 5000, b"{}"):
        path.write_bytes(raw)
        run("list", "--view", "runs")
        for words in (["report", "bad-0000"], ["attach", "bad-0000"], ["export", "-o", str(home / "out")]):
            run(*words)
    os.truncate(path, 20 << 30)
    assert show_runs("table", None, print) == 0
    assert "DAMAGED" in capfd.readouterr().out
