"""trnui list, show, script and packages, as a user and as a script call them."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tests.conftest import ROOT
from tests.datasets import NEW, OLD, folder, row
from tests.make_dataset import LIBRARIES

SCRIPT = "import torch\nfrom PIL import Image\n# \x1b[31mred\x1b[0m é \u202e\nprint('x')\r\n"
EVERY = ("--neuronx-cc", "all", "--library-version", "all")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data")
    rows = [
        row("org/Iris-8B", "PASS", OLD, tp=4, cpu_match=None, english="yes", run_py=SCRIPT, notes="pip install tiktoken"),
        row("org/Iris-8B", "FAIL", NEW, tp=4, cpu_match=None, error="[NCC_EVRF001] An unsupported operator\n" + "at line\n" * 300, run_py="print(2)\n"),
        row("org/Elm-1B", "PASS", NEW, run_py="print(3)\n"), row("org/Oak", None, NEW, exclusion="needs more than 16 cores", run_py="", tp=None),
        row("org/Old", "PASS (CPU)", OLD, runner="trnui/cpu"), row("=evil/[red]x", "FAIL", NEW, error="\x1b[2Jboo"),
    ]  # fmt: skip
    folder(path, *rows)
    (path / "broken.parquet").write_bytes(b"PAR1 cut")
    return path


def run(*args: str | Path, **more: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "trnui", *map(str, args)], capture_output=True, timeout=120, **more)  # type: ignore[call-overload, no-any-return]


def rows(*args: str | Path) -> list[dict[str, object]]:
    done = run("list", *args, "--format", "json")
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(done.stdout)
    assert isinstance(found, list)
    return found


def test_list_is_the_default_stack_with_data_on_stdout_and_words_on_stderr(data: Path) -> None:
    done = run("--dataset", data, "list")
    lines = done.stdout.decode().splitlines()
    assert lines[0].split() == ["model_id", "status", "kind", "device", "tp", "wall_s", "hbm_peak_gb", "neuronx_cc", "library", "library_version", "elsewhere", "reason"]  # fmt: skip
    assert len(lines) == 5
    words = done.stderr.decode()
    assert "broken.parquet: is cut off" in words
    assert f"4 of 4 rows · 1 excluded · stack {NEW} · wall_s includes compilation" in words
    assert "\x1b" not in done.stdout.decode() + words


def test_json_has_the_datasets_names_and_ours(data: Path) -> None:
    found = rows("--dataset", data, *EVERY, "--search", "IRIS")
    assert [(r["neuronx_cc"], r["status"], r["kind"]) for r in found] == [
        (NEW.neuronx_cc, "FAIL", None), (OLD.neuronx_cc, "PASS", "english"),
    ]  # fmt: skip
    assert len(str(found[0]["error"])) > 2000  # whole, though lists hold its head only
    assert "run_py" not in found[0]
    assert (found[0]["view"], found[0]["row"]) == ("selected", 0)
    assert rows("--dataset", data, "--columns", "all")[0]["run_py"] == "print(2)\n"


def test_filters_sort_and_limit(data: Path) -> None:
    def names(*args: str) -> list[object]:
        return [r["model_id"] for r in rows("--dataset", data, *args)]

    assert names("--result", "pass,excluded") == ["org/Elm-1B", "org/Oak"]
    assert names("--result", "not tested") == []
    assert names("--max-cores", "1", "--sort", "model_id:desc", "--limit", "1") == ["org/Elm-1B"]
    assert names("--neuronx-cc", "2.28.100.0") == ["org/Iris-8B", "org/Old"]
    assert names("--neuronx-cc", "2.28") == ["org/Iris-8B", "org/Old"]
    assert len(names("--neuronx-cc", "2")) == 6
    assert names("--search", "[RED]") == ["=evil/[red]x"]


def test_a_reader_of_the_columns_alone_counts_no_pass_of_a_cpu(data: Path) -> None:
    (old,) = rows("--dataset", data, *EVERY, "--search", "Old")
    assert (old["result"], old["status"], old["device"], old["kind"]) == ("PASS (CPU)", "OTHER", "cpu", None)


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["list", "--result", "MAYBE"], 2, "Results: PASS"),
        (["list", "--neuronx-cc", "2.28.10"], 2, "2.28.100.0+aaaaaaaa"),
        (["list", "--library", "diffusers"], 2, "Libraries: transformers"),
        (["list", "--task", "text-genration"], 2, "image-text-to-text"),
        (["list", "--view", "trending", "--task", "odd"], 2, "Tasks: text-generation"),
        (["list", "--sort", "modelid"], 2, "no such column"),
        (["list", "--sort", "tp:up"], 2, "asc or desc"),
        (["list", "--columns", "nope"], 2, "no such column"),
        (["list", "--view", "downloads"], 3, "trnui sync"),
        (["list", "--format", "yaml"], 2, "yaml"),
        (["show", "org/Iris-9B"], 2, "Nearest: org/Iris-8B"),
        (["show", "org/Elm-1B", "--neuronx-cc", OLD.neuronx_cc], 2, "It has rows on 2.29"),
        (["script", "org/Oak"], 3, "no run.py"),
        (["packages", "nothing/like-it"], 2, "no such model"),
    ],
)
def test_what_is_wrong_is_said_with_its_code_and_a_way_out(data: Path, args: list[str], code: int, words: str) -> None:
    done = run("--dataset", data, *args)
    assert done.returncode == code, done.stderr.decode()
    assert words in done.stderr.decode()
    assert done.stdout == b""


def test_first_parts_of_versions_choose_the_row(data: Path) -> None:
    args = ("org/Iris-8B", "--neuronx-cc", "2.28", "--library-version", "5")
    assert run("--dataset", data, "script", *args).stdout == SCRIPT.encode()
    assert b"tiktoken" in run("--dataset", data, "packages", *args).stdout
    assert OLD.neuronx_cc.encode() in run("--dataset", data, "show", *args).stdout
    assert run("--dataset", data, "script", "org/Iris-8B", "--neuronx-cc", "2").stdout == b"print(2)\n"  # the newest


ASKED = "aws-neuron/torch-neuronx-model-support"


@pytest.mark.parametrize(
    "args",
    [
        ["show", "Qwen/Qwen3-0.6B"],
        ["script", "Qwen/Qwen3-0.6B"],
        ["packages", "Qwen/Qwen3-0.6B"],
        ["compare", "2.27", "2.28"],
        ["list", "--library-version", "4.1"],
        ["list", "--library", "diffusers"],
        ["show", "trnui-sample/bloom", "--neuronx-cc", "2.27"],
    ],
)
def test_what_the_sample_lacks_is_said_to_be_looked_for_in_the_sample(args: list[str], tmp_path: Path) -> None:
    env = {**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_CACHE": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    done = run("--dataset", ASKED, *args, env=env)
    words = done.stderr.decode()
    assert done.returncode == 2
    for said in ("SAMPLE, CPU", f"in place of {ASKED}", "trnui sync", "--dataset"):
        assert said in words


def test_a_sample_that_was_asked_for_stands_in_for_nothing() -> None:
    words = run("--dataset", "sample", "show", "Qwen/Qwen3-0.6B").stderr.decode()
    assert "no such model in the bundled sample" in words
    assert "in place of" not in words


def test_no_file_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"")
    (tmp_path / "b.parquet").write_bytes(b"<html>")
    done = run("--dataset", tmp_path, "list")
    assert done.returncode == 3
    assert "a.parquet is empty (0 bytes)" in done.stderr.decode()


def test_formats_and_files(data: Path, tmp_path: Path) -> None:
    for format in ("csv", "tsv", "jsonl", "markdown", "table", "json", "parquet"):
        assert run("--dataset", data, "list", "--format", format, "--limit", "2").returncode == 0
    file = tmp_path / "x.csv"
    done = run("--dataset", data, "list", "-o", file, *EVERY)
    assert (done.returncode, done.stdout) == (0, b"")
    assert "6 rows written" in done.stderr.decode()
    assert len(list(csv.DictReader(file.open(newline="")))) == 6
    parquet = tmp_path / "x.parquet"
    run("--dataset", data, "list", "-o", parquet, "--columns", "all", *EVERY)
    assert duckdb.sql("SELECT count(*), count(run_py) FROM read_parquet(?)", params=[str(parquet)]).fetchall() == [
        (6, 6)
    ]
    again = rows("--dataset", parquet, *EVERY)
    assert len(again) == 6
    assert run("--dataset", data, "list", "-o", tmp_path / "no" / "x.csv").returncode == 1
    safe = list(
        csv.reader(
            io.StringIO(
                run(
                    "--dataset", data, "list", "--search", "=", "--format", "csv", "--spreadsheet-safe"
                ).stdout.decode(),
                newline="",
            )
        )
    )
    assert safe[1][0] == "'=evil/[red]x"


def test_script_is_byte_for_byte_in_a_pipe_and_clean_on_a_terminal(data: Path) -> None:
    args = ("--dataset", data, "script", "org/Iris-8B", "--neuronx-cc", "2.28.100.0")
    assert run(*args).stdout == SCRIPT.encode()
    assert run("--dataset", data, "script", "Iris-8B").stdout == b"print(2)\n"  # the default stack's
    shown = on_terminal("script", "org/Iris-8B", "--neuronx-cc", "2.28.100.0", "--dataset", str(data))
    assert "# red é " in shown
    assert "\u202e" not in shown
    assert "\x1b" not in shown


def on_terminal(*args: str) -> str:
    main, side = pty.openpty()
    with subprocess.Popen([sys.executable, "-m", "trnui", *args], stdout=side, stderr=subprocess.DEVNULL) as child:
        os.close(side)
        shown = b""
        while True:
            try:
                block = os.read(main, 65536)
            except OSError:
                break
            if not block:
                break
            shown += block
        child.wait(60)
    os.close(main)
    return shown.decode()


def test_packages_is_a_shell_script_with_origins(data: Path) -> None:
    done = run("--dataset", data, "packages", "org/Iris-8B", "--neuronx-cc", "2.28.100.0")
    lines = done.stdout.decode().splitlines()
    assert all(line.startswith("#") for line in lines[:-1])
    assert "# tiktoken" in done.stdout.decode()
    assert "run_py imports PIL" in done.stdout.decode()
    assert lines[-1].startswith("python3 -m pip install --extra-index-url ")
    assert subprocess.run(["sh", "-n"], input=done.stdout, timeout=10).returncode == 0
    plain = run("--dataset", data, "packages", "org/Elm-1B").stdout.decode()
    assert "the dataset names none" in plain
    found = json.loads(
        run("--dataset", data, "packages", "org/Iris-8B", "--neuronx-cc", "2.28.100.0", "--format", "json").stdout
    )
    assert [p["requirement"] for p in found["packages"] if p["extra"]] == ["tiktoken", "pillow"]


def test_packages_names_the_interpreter_it_installs_into(data: Path) -> None:
    args = ("--dataset", data, "packages", "org/Elm-1B")
    assert "# installs into the first python3 on the PATH" in run(*args).stdout.decode()
    chosen = run(*args, "--python", sys.executable).stdout.decode()
    assert chosen.splitlines()[-1].startswith(f"{sys.executable} -m pip install ")
    assert "first python3" not in chosen
    assert run(*args, "--python", "/no/such/python").returncode == 2


def test_a_model_of_the_sample_is_run_by_hand_from_its_folder(tmp_path: Path) -> None:
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    done = run("--dataset", "sample", "show", "trnui-sample/gpt2", "--format", "json", env=env)
    commands = json.loads(done.stdout)["commands"]
    (by_hand,) = [c for c in commands if c.endswith("python3 run.py")]
    folder = Path(by_hand.partition("=")[2].split()[0])
    assert (folder / "model.safetensors").is_file()
    assert not any("packages" in c for c in commands)


def test_show_says_everything(data: Path) -> None:
    text = run("--dataset", data, "show", "org/Iris-8B").stdout.decode()
    for words in ("FAIL", "NCC_EVRF001", "--full prints them", "neuronx_cc", NEW.neuronx_cc, "broken since", "PASS 4", f"trnui --dataset {data} script org/Iris-8B", "incl. compilation"):  # fmt: skip
        assert words in text
    assert "at line\n" * 299 not in text.replace("  ", "")
    assert len(run("--dataset", data, "show", "org/Iris-8B", "--full").stdout) > len(text) + 1000
    weak = run("--dataset", data, "show", "org/Iris-8B", "--neuronx-cc", "2.28.100.0").stdout.decode()
    assert "the weaker kind" in weak
    assert "--neuronx-cc 2.28.100.0+aaaaaaaa" in weak  # its commands name the row that is shown
    oak = run("--dataset", data, "show", "org/Oak").stdout.decode()
    assert "needs more than 16 cores" in oak
    assert "not a failure" in oak
    assert "\x1b" not in run("--dataset", data, "show", "=evil/[red]x").stdout.decode()


def test_show_as_json(data: Path) -> None:
    found = json.loads(run("--dataset", data, "show", "org/Iris-8B", "--format", "json").stdout)
    assert (found["model_id"], found["result"], found["status"], found["tp"]) == ("org/Iris-8B", "FAIL", "FAIL", 4)
    assert found["run_py"] == "print(2)\n"
    assert [r["status"] for r in found["rows"]] == ["FAIL", "PASS"]
    assert found["matrix"][0]["broken_since"] == {"neuronx_cc": NEW.neuronx_cc, "library_version": "5.24.0"}
    assert found["provenance"]["dataset"] == str(data)


@pytest.mark.slow
def test_twenty_searches_equal_a_plain_filter_over_the_same_files(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    made = [sys.executable, str(ROOT / "tests" / "make_dataset.py"), str(tmp_path), "--models", "60"]
    subprocess.run(made, check=True, timeout=120)
    assert len(LIBRARIES) > 4
    files = [r for f in sorted(tmp_path.glob("*.parquet")) for r in pq.read_table(f).to_pylist()]
    for text in (
        "iris2",
        "IRIS2",
        "%",
        "_",
        "\\",
        "'",
        '"',
        "[",
        "-VL-",
        "org-1",
        "/",
        ".",
        "8B",
        "0001",
        "e",
        "",
        " ",
        "é",
        "*",
        "?",
        "0.6b",
        ";--",
    ):
        found = rows("--dataset", tmp_path, *EVERY, f"--search={text}")
        got = sorted((r["model_id"], r["neuronx_cc"], r["library_version"], str(r["result"])) for r in found)
        plain = [r for r in files if text.lower() in r["model_id"].lower()]
        assert got == sorted((r["model_id"], r["neuronx_cc"], r["library_version"], str(r["result"])) for r in plain)
