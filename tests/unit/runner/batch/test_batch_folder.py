"""The batch folder keeps what it was given, says what is wrong with it, and knows who works on it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.unit.runner.batch.builders import a_batch, a_folder, event
from trnui_runner.batch.batch_file import Limits, Price, parse_batch
from trnui_runner.batch.folder import BatchFolder, all_batches, batches_dir, one_batch
from trnui_runner.batch.journal import BATCH, Journal, RowState
from trnui_runner.batch.status import NEWLY_FAILING, NEWLY_PASSING, SAME, UNLIKE, fold
from trnui_runner.common.errors import UsageError, UserError
from trnui_runner.request.request import RunRequest
from trnui_runner.request.steps import SupervisionOptions
from trnui_runner.run_folder.recipe import RowSource


def test_a_batch_comes_back_as_it_was_made(home: Path) -> None:
    batch = a_batch(limits=Limits(disk=5, ahead=1), price=Price(35.76, "a list"), stack={"torch": "2.14"}, commit="abc")
    assert a_folder(batch).batch() == batch
    assert (batches_dir() / "b").stat().st_mode & 0o777 == 0o700


def test_requests_keep_their_script_byte_for_byte_and_once(home: Path) -> None:
    row = {"model_id": "o/m", "tp": 2, "run_py": "print('ü')\r\n\udce9"}
    request = RunRequest(
        "o/m",
        row=row,
        source=RowSource("d", "c", "f", 3),
        checkpoint=Path("/x"),
        timeout_s=5.0,
        supervision=SupervisionOptions(grace_s=3.0, offline=True),
    )
    folder = BatchFolder.create(a_batch((1, 1)), [request, request])
    assert folder.request(0) == request
    assert folder.request(1).row == row
    assert len(list((folder.path / "scripts").iterdir())) == 1


def test_a_script_that_was_changed_is_not_run(home: Path) -> None:
    folder = BatchFolder.create(a_batch((1,)), [RunRequest("o/m", row={"model_id": "o/m", "run_py": "1"})])
    script = next((folder.path / "scripts").iterdir())
    script.write_text("2")
    with pytest.raises(UserError, match=script.name):
        folder.request(0)
    script.unlink()
    with pytest.raises(UserError, match=script.name):
        folder.request(0)


def test_a_batch_of_the_same_name_is_refused_and_nothing_half_made_stays(home: Path) -> None:
    a_folder(a_batch())
    with pytest.raises(UsageError, match="a batch b already"):
        a_folder(a_batch((1,)))
    assert [p.name for p in batches_dir().iterdir()] == ["b"]

    def broken() -> Any:
        yield RunRequest("o/m")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        BatchFolder.create(a_batch(name="c"), broken())
    assert [b.id for b in all_batches()] == ["b"]
    assert [p.name for p in batches_dir().iterdir()] == ["b"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"id": "../x"}, "id is '../x'"),
        ({"id": ""}, "id is ''"),
        ({"rows": []}, "rows takes a list"),
        ({"rows": [3]}, r"rows\[0\] takes an object"),
        ({"rows": [{"n": 0, "model": "m", "cores": 0}]}, r"rows\[0\].cores is 0"),
        ({"rows": [{"n": 0, "model": "m", "cores": True}]}, r"rows\[0\].cores is True"),
        ({"rows": [{"n": 1, "model": "m"}]}, r"rows\[0\].n is 1"),
        ({"rows": [{"n": 0, "model": "m", "device": "gpu"}]}, r"rows\[0\].device is 'gpu'"),
        ({"rows": [{"n": 0, "model": "m", "expected_s": -1}]}, r"rows\[0\].expected_s is -1"),
        ({"rows": [{"n": 0, "model": "m", "expected_s": float("nan")}]}, r"rows\[0\].expected_s is nan"),
        ({"price": {"per_hour": "1"}}, "per_hour is '1'"),
        ({"limits": {"attempts": 0}}, "attempts is 0"),
        ({"v": 99}, "v is 99"),
        ({"stack": 3}, "stack takes an object"),
    ],
)
def test_what_is_wrong_with_a_batch_file_is_named(change: dict[str, Any], words: str) -> None:
    value = json.loads(json.dumps(a_batch().to_json())) | change
    with pytest.raises(ValueError, match=words):
        parse_batch(value)


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"id": "b", "rows": [[]]}', b"\xff"])
def test_a_batch_file_that_is_none_is_named_with_the_way_out(home: Path, data: bytes) -> None:
    folder = a_folder(a_batch())
    (folder.path / "batch.json").write_bytes(data)
    with pytest.raises(UserError) as error:
        folder.batch()
    assert "batch.json" in error.value.message
    assert "trnui batch new" in error.value.remedy


def test_one_keeper_at_a_time(home: Path) -> None:
    folder = a_folder(a_batch())
    assert not folder.kept()
    held = folder.lock()
    assert held is not None
    assert folder.lock() is None
    assert folder.kept()
    os.close(held)
    assert not folder.kept()


def test_stop_and_going_on(home: Path) -> None:
    folder = a_folder(a_batch())
    assert folder.stop_asked() == ""
    folder.ask_stop("later")
    assert folder.stop_asked() == "later"
    folder.ask_stop("now")
    assert folder.stop_asked() == "now"
    folder.go_on()
    assert folder.stop_asked() == ""


def test_a_batch_is_found_by_a_part_of_its_name(home: Path) -> None:
    for name in ("20261201-a", "20261201-b"):
        a_folder(a_batch(name=name))
    assert one_batch("-a").id == "20261201-a"
    with pytest.raises(UsageError, match="2 batches"):
        one_batch("20261201")
    with pytest.raises(UsageError, match="There is no batch"):
        one_batch("nothing")


# -- the journal


def test_events_come_back_as_they_were_written_also_from_others(tmp_path: Path) -> None:
    journal, other = Journal(tmp_path / "rows.jsonl"), Journal(tmp_path / "rows.jsonl")
    one = event(0, "going", host="h", run="r", cores=(4, 5), why="\udce9 ü")
    assert journal.add(one)
    assert other.news() == [one]
    two = event(1, "done", outcome="PASS", wall_s=2.5, beside=3)
    assert other.add(two)
    assert journal.news() == [one, two]
    assert journal.news() == []


@pytest.mark.parametrize(
    "line",
    [b"{", b"[]", b"3", b'{"n": 0}', b'{"t": 1, "n": 0, "state": "flying"}', b'{"t": "x", "n": 0, "state": "done"}',
     b'{"t": 1, "n": 0, "state": "done", "host": 3}', b"\xff\xfe"],
)  # fmt: skip
def test_a_line_that_is_none_is_counted_and_the_rest_is_read(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "rows.jsonl"
    good = event(2, "going")
    path.write_bytes(line + b"\n" + good.line())
    journal = Journal(path)
    assert journal.news() == [good]
    assert journal.bad == 1


def test_a_torn_last_line_is_not_read_and_spoils_no_later_one(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(event(0, "going").line() + b'{"t": 1, "n"')
    journal = Journal(path)
    assert [e.n for e in journal.news()] == [0]
    assert journal.add(event(1, "going"))
    assert [e.n for e in journal.news()] == [1]


def test_what_the_disk_does_not_take_waits_and_nothing_half_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, real = Journal(tmp_path / "rows.jsonl"), os.write
    assert journal.add(event(0, "going"))

    def full(fd: int, data: bytes) -> int:
        real(fd, data[:5])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        assert not journal.add(event(1, "going"))
        assert not journal.add(event(2, "going"))
    assert [e.n for e in journal.pending] == [1, 2]
    assert journal.path.read_bytes() == event(0, "going").line()
    assert journal.add()
    assert [e.n for e in Journal(journal.path).news()] == [0, 1, 2]


# -- the fold


def test_a_row_that_is_done_counts_once_whoever_tells_it_again() -> None:
    status = fold(a_batch(), [
        event(0, "going", 1, run="r"), event(0, "done", 5, outcome="PASS", run="r"), event(0, "done", 6, outcome="FAIL", run="s"),
        event(0, "lost", 7), event(0, "going", 8, run="s"),
    ])  # fmt: skip
    assert status.rows[0].outcome == "PASS"
    assert status.rows[0].run == "r"
    assert status.counts() == {"PASS": 1, "waiting": 2}
    assert status.ended == 1


def test_another_attempt_begins_with_a_clean_row_and_an_old_ones_words_are_not_heard() -> None:
    status = fold(a_batch(), [
        event(0, "done", 1, outcome="UNCHECKED", run="r", cores=(1,)), event(0, "waiting", 2, attempt=2, why="retry by hand"),
        event(0, "going", 3, attempt=1, run="r"),
    ])  # fmt: skip
    row = status.rows[0]
    assert (row.state, row.attempt, row.run, row.cores, row.why) == (RowState.WAITING, 2, "", (), "retry by hand")


def test_counts_against_the_published_results() -> None:
    status = fold(a_batch((1, 1, 1, 1)), [
        event(0, "done", outcome="PASS"), event(1, "done", outcome="FAIL"), event(2, "done", outcome="UNCHECKED"),
    ])  # fmt: skip
    assert status.against() == {SAME: 1, NEWLY_FAILING: 1, UNLIKE: 1}
    failing = a_batch((1,)).to_json()
    failing["rows"][0]["published"] = "FAIL"
    assert fold(parse_batch(json.loads(json.dumps(failing))), [event(0, "done", outcome="PASS")]).against() == {
        NEWLY_PASSING: 1
    }


def test_the_whole_batch_stops_and_goes_on() -> None:
    status = fold(a_batch(), [event(BATCH, "stopped", why="the host")])
    assert status.stopped == "the host"
    status.take([event(BATCH, "going")])
    assert status.stopped == ""
    status.take([event(99, "done"), event(-7, "done")])  # rows that the batch does not have
    assert status.ended == 0
