"""The NEFF cache: per compiler version, a bucket only when somebody names one, and broken transfers that leave nothing broken."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.fakehub import FakeHub
from trnui_runner.common.errors import DataError, UserError
from trnui_runner.host import neff_sync as module
from trnui_runner.host.neff_cache import Bucket, address, all_caches, bucket, cache, command, folder, look
from trnui_runner.host.neff_sync import Filled, fill, parse_plan, sort_out

KEY = "ab" * 16
GOOD = {f"{n:02x}/cd/{n:032x}.neff": bytes([n]) * (n + 1) * 100 for n in range(1, 6)}


def put(root: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


def listing(files: dict[str, bytes]) -> list[tuple[str, int]]:
    return [(name, len(data)) for name, data in files.items()]


def snapshot(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()} if root.exists() else {}


# -- where and how full


def test_each_compiler_version_has_its_own_folder(home: Path) -> None:
    one, _ = folder("2.28.7631.0+6f180f47", environ={})
    other, _ = folder("2.29.1.0", environ={})
    assert one == home / "cache" / "neff" / "neuronxcc-2.28.7631.0+6f180f47"
    assert one.parent == other.parent
    assert one != other


@pytest.mark.parametrize("version", [None, "", "../../etc", "a/b", "x\n", "-" * 200])
def test_what_is_no_version_never_becomes_a_path(version: str | None) -> None:
    assert folder(version, environ={})[0].name == "neuronxcc-unknown"


def test_what_the_user_has_set_wins() -> None:
    path, words = folder("2.28", "/elsewhere", {"TORCH_NEURONX_NEFF_CACHE_DIR": "/mine"})
    assert path == Path("/mine")
    assert "TORCH_NEURONX_NEFF_CACHE_DIR" in words
    assert folder("2.28", "/elsewhere", {})[0] == Path("/elsewhere/neuronxcc-2.28")


def test_state_counts_whole_files_and_names_broken_ones(tmp_path: Path) -> None:
    put(tmp_path, {**GOOD, "ab/ab/empty.neff": b"", "ab/ab/.tmp.12": b"x", "local/locks/k.lock": b""})
    found = look(tmp_path, "2.28")
    assert (found.files, found.bytes, found.broken) == (5, sum(map(len, GOOD.values())), ("ab/ab/empty.neff",))
    assert "5 graphs" in found.words
    assert "1 empty file of a broken transfer" in found.words


def test_no_folder_is_an_empty_cache() -> None:
    found = cache("2.28", environ={})
    assert (found.files, found.newest) == (0, None)
    assert found.words == "empty: the first run compiles everything, for neuronx-cc 2.28"


def test_all_versions(tmp_path: Path) -> None:
    put(tmp_path / "neuronxcc-2.28", GOOD)
    (tmp_path / "neuronxcc-2.29").mkdir()
    assert [(c.neuronx_cc, c.files) for c in all_caches(str(tmp_path))] == [("2.28", 5), ("2.29", 0)]


# -- which bucket


def test_bucket_with_its_source_in_order() -> None:
    card = "see `hf buckets sync hf://buckets/acme/neff-cache/neuronxcc-2.28 …`"
    script = "# https://huggingface.co/buckets/acme/other."
    assert bucket("me/mine", card=card) == Bucket("me/mine", "the setting neff_bucket")
    assert bucket("hf://buckets/me/mine/", card=card) == Bucket("me/mine", "the setting neff_bucket")
    assert bucket(card=card, run_py=script) == Bucket("acme/neff-cache", "the dataset's card")
    assert bucket(run_py=script) == Bucket("acme/other", "the row's run.py")
    assert bucket(notes="graphs in hf://buckets/acme/n") == Bucket("acme/n", "the row's notes")


def test_none_is_invented() -> None:
    assert bucket(card="A dataset about Trainium.", notes=None, run_py="import torch") is None
    assert bucket("nonsense") is None


def test_command_is_quoted_and_refuses_what_is_no_version(tmp_path: Path) -> None:
    one = Bucket("acme/neff", "the dataset's card")
    assert command(one, "2.28.1+ab", tmp_path / "a b") == (
        f"hf buckets sync hf://buckets/acme/neff/neuronxcc-2.28.1+ab '{tmp_path}/a b'"
    )
    with pytest.raises(ValueError, match="not a compiler version"):
        address(one, "2.28; rm -rf /")


# -- filling


def good_transfer(source: str, staging: Path, say: module.Say) -> None:
    put(staging, GOOD)
    say(1, 0)


def test_filling_moves_whole_files_and_leaves_no_staging(tmp_path: Path) -> None:
    target = tmp_path / "neuronxcc-2.28"
    done = fill("hf://x", target, plan=lambda s: listing(GOOD), transfer=good_transfer)
    assert (done.moved, done.broken) == (5, ())
    assert snapshot(target) == GOOD
    assert stat.S_IMODE(target.stat().st_mode) == 0o700
    assert [p.name for p in tmp_path.iterdir() if "staging" in p.name] == []
    assert fill("hf://x", target, plan=lambda s: listing(GOOD), transfer=good_transfer) == Filled(kept=5)


def test_empty_and_short_files_never_reach_the_cache(tmp_path: Path) -> None:
    names = list(GOOD)

    def broken(source: str, staging: Path, say: module.Say) -> None:
        put(staging, GOOD | {names[0]: b"", names[1]: GOOD[names[1]][:-1]})

    done = fill("hf://x", tmp_path / "c", plan=lambda s: listing(GOOD), transfer=broken)
    assert (done.moved, done.broken) == (3, (names[0], names[1]))
    assert snapshot(tmp_path / "c") == {n: GOOD[n] for n in names[2:]}


def test_transfer_that_breaks_off_keeps_what_came_whole_and_says_so(tmp_path: Path) -> None:
    names = list(GOOD)

    def cut(source: str, staging: Path, say: module.Say) -> None:
        put(staging, dict.fromkeys(names, b"") | {names[0]: GOOD[names[0]]})
        raise UserError("no byte came for 2 min")

    with pytest.raises(UserError, match="broke off") as caught:
        fill("hf://x", tmp_path / "c", plan=lambda s: listing(GOOD), transfer=cut)
    assert "1 graph copied" in caught.value.message
    assert snapshot(tmp_path / "c") == {names[0]: GOOD[names[0]]}
    assert [p for p in tmp_path.iterdir() if "staging" in p.name] == []


def test_transfer_that_raises_anything_leaves_the_cache_as_it_was(tmp_path: Path) -> None:
    def interrupted(source: str, staging: Path, say: module.Say) -> None:
        put(staging, dict.fromkeys(GOOD, b""))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fill("hf://x", tmp_path / "c", plan=lambda s: listing(GOOD), transfer=interrupted)
    assert snapshot(tmp_path / "c") == {}
    assert [p for p in tmp_path.iterdir() if "staging" in p.name] == []


def test_a_broken_file_in_the_cache_is_mended(tmp_path: Path) -> None:
    put(tmp_path / "c", {next(iter(GOOD)): b""})
    fill("hf://x", tmp_path / "c", plan=lambda s: listing(GOOD), transfer=good_transfer)
    assert snapshot(tmp_path / "c") == GOOD


def test_symbolic_links_of_a_transfer_are_not_followed(tmp_path: Path) -> None:
    name = next(iter(GOOD))
    secret = tmp_path / "secret"
    secret.write_bytes(GOOD[name])

    def linked(source: str, staging: Path, say: module.Say) -> None:
        (staging / name).parent.mkdir(parents=True)
        (staging / name).symlink_to(secret)

    done = fill("hf://x", tmp_path / "c", plan=lambda s: listing({name: GOOD[name]}), transfer=linked)
    assert done.broken == (name,)


@pytest.mark.parametrize(
    "path",
    [
        "../../x.neff",
        "/etc/x.neff",
        "ab/cd/../../../x.neff",
        "ab/cd/x.txt",
        "x.neff",
        "ab/cd/ef/x.neff",
        "ab/cd/.neff",
        "ab/../x.neff",
    ],
)
def test_paths_that_are_no_neff_are_left_out(path: str) -> None:
    assert sort_out([(path, 10)])[0] == []


def test_two_fillings_at_once_are_refused(tmp_path: Path) -> None:
    def second(source: str, staging: Path, say: module.Say) -> None:
        with pytest.raises(UserError, match="Another filling"):
            fill("hf://x", tmp_path / "c", plan=lambda s: listing(GOOD), transfer=good_transfer)
        good_transfer(source, staging, say)

    assert fill("hf://x", tmp_path / "c", plan=lambda s: listing(GOOD), transfer=second).moved == 5


def test_more_than_the_disk_holds_is_refused_before(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="free"):
        fill("hf://x", tmp_path / "c", plan=lambda s: [(next(iter(GOOD)), 1 << 60)], transfer=good_transfer)


def test_plan_lines() -> None:
    out = b'noise\n{"type":"header","summary":{}}\n{"action":"download","path":"ab/cd/k.neff","size":7}\n{"action":"skip","path":"x","size":1}\n{"action":"download","path":"y"}\n'
    assert parse_plan(out) == [("ab/cd/k.neff", 7)]


def test_with_the_hubs_own_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("hf_xet")
    with FakeHub() as hub:
        files = {f"neuronxcc-2.28/{n}": data for n, data in GOOD.items()}
        hub.add_bucket("acme/neff", files | {"neuronxcc-2.28/README.md": b"hello", "neuronxcc-2.29/x.neff": b"no"})
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.delenv("HF_HUB_OFFLINE")
        told: list[int] = []
        done = fill("hf://buckets/acme/neff/neuronxcc-2.28", tmp_path / "c", say=lambda d, t: told.append(t))
        assert (done.moved, done.broken, done.foreign) == (5, (), ("README.md",))
        assert snapshot(tmp_path / "c") == GOOD
        assert set(told) <= {sum(map(len, GOOD.values()))}
        with pytest.raises(DataError, match="cannot be listed"):
            fill("hf://buckets/acme/none/neuronxcc-2.28", tmp_path / "d")
    assert os.listdir(tmp_path) != []
