"""Looking ahead, time left, cost, exit codes, words and the report."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.unit.runner.batch.builders import a_batch, a_folder, event
from trnui_runner.batch.batch_file import Batch, BatchRow, Limits, Price
from trnui_runner.batch.engines.kubernetes import manifests
from trnui_runner.batch.lines import against_words, change_of, counts_words, marks, time_words, told
from trnui_runner.batch.planning.estimates import Estimate
from trnui_runner.batch.planning.look_ahead import HostRoom, look_ahead, why_impossible
from trnui_runner.batch.planning.prices import price_of
from trnui_runner.batch.progress import cost_so_far, exit_code, time_left
from trnui_runner.batch.report_html import report_html
from trnui_runner.batch.retry_by_hand import again, rows_meant
from trnui_runner.batch.status import USER_STOP, fold
from trnui_runner.common.errors import UsageError

TRN2 = HostRoom("16 Trainium2 devices, 64 cores", tuple(range(64)), free=60, disk=500 << 30)


def words_of(look: object) -> str:
    return "\n".join(f"{name} {words}" for name, words in look.lines())  # type: ignore[attr-defined]


def test_the_look_ahead_says_cores_time_disk_and_cost_each_with_its_source() -> None:
    rows = [
        BatchRow(0, "o/a", 16, repo="o/a", weights=10 << 30),
        BatchRow(1, "o/b", 1, repo="o/b"),
        BatchRow(2, "o/c", 1),
    ]
    expected = {0: Estimate(3600, "same model", 1800, 7200), 1: Estimate(60, "same cores")}
    look = look_ahead(
        rows, expected, TRN2, limits=Limits(), price=Price(36.0, "a list"), left_out=[("o/d", "it takes 128 cores")]
    )
    words = words_of(look)
    assert look.makespan == 3600
    assert look.cost == (18.0, 72.0)
    for part in ("64 NeuronCores, 60 free now", "2 of 1 core, 1 of 16 cores", "30 min 00 s to 2 h 00 min", "same model: 1", "nothing known: 1",
                 "10.0 GiB to fetch, 1 of unknown size", "$18 to $72 at $36 an hour (a list)", "1 row: it takes 128 cores"):  # fmt: skip
        assert part in words, part


def test_what_is_not_known_is_not_made_up() -> None:
    look = look_ahead([BatchRow(0, "o/a")], {}, TRN2, limits=Limits(), price=None)
    words = words_of(look)
    assert "time – (the dataset holds no wall time)" in words
    assert "cost – (set price_per_hour)" in words
    assert look.to_json()["makespan_s"] is None
    assert "no range" in words_of(
        look_ahead([BatchRow(0, "o/a")], {0: Estimate(60, "same model")}, TRN2, limits=Limits(), price=None)
    )


def test_a_checkpoint_that_two_rows_share_is_fetched_once() -> None:
    rows = [BatchRow(n, "o/a", repo="o/a", weights=100) for n in range(2)]
    assert look_ahead(rows, {}, TRN2, limits=Limits(), price=None).fetch == 100
    assert look_ahead(rows, {}, TRN2, limits=Limits(), price=None, at_hand=frozenset({"o/a"})).fetch == 0


@pytest.mark.parametrize(
    ("cores", "device", "words"),
    [(64, "neuron", ""), (65, "neuron", "65 cores"), (1, "cpu", "")],
)
def test_what_can_never_run_here(cores: int, device: str, words: str) -> None:
    assert words in why_impossible(cores, device, TRN2)
    assert bool(why_impossible(cores, device, TRN2)) is bool(words)
    assert "no Neuron device" in why_impossible(1, "neuron", HostRoom("none"))


def test_prices() -> None:
    assert price_of("trn2.48xlarge", 0.0).per_hour == pytest.approx(35.7608)  # type: ignore[union-attr]
    assert "2026-07-22" in price_of("trn2.48xlarge", 0.0).source  # type: ignore[union-attr]
    assert price_of("trn2.48xlarge", 20.0).per_hour == 20  # type: ignore[union-attr]
    assert price_of("m7i.large", 0.0) is None
    assert price_of(None, 0.0) is None


# -- time left and cost


def going_batch(count: int = 20, seconds: float = 100.0) -> Batch:
    rows = tuple(BatchRow(n, f"o/m{n}", 1, "neuron", seconds) for n in range(count))
    return Batch("b", 0.0, "made", rows, host_cores=4, price=Price(36.0, "a list"))


def test_time_left_has_a_range_from_the_tenth_row_on() -> None:
    batch = going_batch()
    done = [
        e for n in range(12) for e in (event(n, "going", 100.0 * n), event(n, "done", 80.0 + 104 * n, outcome="PASS"))
    ]
    few, many = fold(batch, done[:18]), fold(batch, done)
    assert (left := time_left(few, 1000.0)) is not None
    assert left.low is None
    assert left.about == pytest.approx(300)  # 11 rows on 4 cores
    assert (left := time_left(many, 1000.0)) is not None
    assert left.about == pytest.approx(200)
    assert left.low is not None
    assert left.high is not None
    assert left.low < left.about < left.high


def test_time_left_counts_what_goes_on_only_for_its_rest() -> None:
    status = fold(going_batch(1), [event(0, "going", 100.0, cores=(0,))])
    assert time_left(status, 160.0).about == pytest.approx(40)  # type: ignore[union-attr]
    assert time_left(status, 900.0).about == 0  # type: ignore[union-attr]
    assert time_left(fold(going_batch(1), [event(0, "done", outcome="PASS")]), 1.0) is None
    assert time_left(fold(a_batch((1,)), []), 1.0) is not None


def test_cost_ends_with_the_batch() -> None:
    status = fold(
        going_batch(2),
        [event(0, "going", 0.5), event(0, "done", 100.0, outcome="PASS"), event(1, "done", 3600.5, outcome="PASS")],
    )
    assert cost_so_far(status, 10_000.0) == pytest.approx(36.0)
    assert cost_so_far(fold(going_batch(1), []), 5.0) is None


# -- exit codes


@pytest.mark.parametrize(
    ("ends", "published", "fail_on", "code"),
    [
        (["PASS", "PASS"], ["PASS", "PASS"], "newly-failing", 0),
        (["PASS", "FAIL"], ["PASS", "FAIL"], "newly-failing", 0),
        (["PASS", "FAIL"], ["PASS", "FAIL"], "any-fail", 1),
        (["PASS", "FAIL"], ["PASS", "PASS"], "newly-failing", 1),
        (["PASS", "FAIL"], ["PASS", ""], "newly-failing", 1),
        (["PASS", "TIMEOUT"], ["PASS", "PASS"], "newly-failing", 1),
        (["PASS", "UNCHECKED"], ["PASS", "PASS"], "newly-failing", 5),
        (["FAIL", "UNCHECKED"], ["PASS", "PASS"], "newly-failing", 1),
    ],
)
def test_exit_codes_of_results(ends: list[str], published: list[str], fail_on: str, code: int) -> None:
    rows = tuple(BatchRow(n, f"o/m{n}", published=word) for n, word in enumerate(published))
    status = fold(
        Batch("b", 0.0, "made", rows, fail_on=fail_on), [event(n, "done", outcome=word) for n, word in enumerate(ends)]
    )
    assert exit_code(status) == code


def test_exit_codes_of_what_did_not_come_to_an_end() -> None:
    batch = a_batch((1, 1))
    assert exit_code(fold(batch, [event(-1, "stopped", why=USER_STOP)])) == 130
    assert exit_code(fold(batch, [event(-1, "stopped", why="no host left: no device")])) == 4
    assert exit_code(fold(batch, [event(0, "done", outcome="PASS"), event(1, "given up", why="lost")])) == 5
    assert exit_code(fold(batch, [event(0, "done", outcome="PASS"), event(1, "refused", why="too large")])) == 5
    assert exit_code(fold(batch, [event(0, "done", outcome="PASS")])) == 5  # interrupted: the rest says nothing


def test_a_failure_of_the_host_is_no_new_failure_of_a_model() -> None:
    status = fold(a_batch((1,)), [event(0, "done", outcome="FAIL", cls="hw_error")])
    assert exit_code(status) == 5
    assert against_words(status) == ""
    assert change_of(status.batch.rows[0], status.rows[0]) == ""


def test_another_device_or_script_is_never_held_against_the_published_result() -> None:
    ends = [
        event(0, "done", outcome="PASS", verdict="NOT COMPARABLE"),
        event(1, "done", outcome="FAIL", verdict="NOT COMPARABLE"),
    ]
    status = fold(a_batch((1, 1)), ends)
    assert against_words(status) == ""
    assert exit_code(status) == 1  # a FAIL all the same
    failing = Batch("b", 0.0, "made", (BatchRow(0, "o/m", published="FAIL"),))
    assert exit_code(fold(failing, [event(0, "done", outcome="FAIL", verdict="NOT COMPARABLE")])) == 5


# -- words


def test_words_of_a_batch() -> None:
    status = fold(a_batch((1, 2, 4, 8)), [
        event(0, "going", 10.0), event(0, "done", 20.0, outcome="PASS"), event(1, "done", 30.0, outcome="FAIL", cls="hbm_oom_compile"),
        event(2, "going", 15.0, cores=(4, 5, 6, 7), host="trn-b"),
    ])  # fmt: skip
    assert counts_words(status) == "2 of 4 · 1 PASS 1 FAIL · 1 going · 1 waiting"
    assert against_words(status) == "newly failing 1, same 1"
    assert time_words(status, 40.0).startswith("30 s, about ")
    lines = list(told(status, marks(fold(a_batch((1, 2, 4, 8)), []))))
    assert lines[1] == "FAIL  org/m1  newly failing  hbm_oom_compile"
    assert lines[2] == "going  org/m2  trn-b cores 4-7"


# -- by hand


def test_rows_to_be_run_again_are_named_by_outcome_state_or_model(home: Path) -> None:
    folder = a_folder(a_batch((1, 1, 1, 1)))
    folder.journal().add(event(0, "done", outcome="UNCHECKED"), event(1, "done", outcome="FAIL"), event(2, "given up"))
    status = folder.status()
    assert rows_meant(status, ()) == [0, 2]
    assert rows_meant(status, ("fail",)) == [1]
    assert rows_meant(status, ("lost", "org/m1")) == [1, 2]
    with pytest.raises(UsageError, match="timeout"):
        again(folder, ("timeout",))
    assert again(folder, ("fail",)) == 1
    assert folder.status().rows[1].attempt == 2
    assert folder.status().counts()["waiting"] == 2


# -- the report


def test_the_report_escapes_what_others_wrote_and_says_what_a_pass_is(home: Path) -> None:
    evil = '<script>alert(1)</script>"\x1b[31m'
    rows = (BatchRow(0, evil, 1, "cpu", published="PASS"), BatchRow(1, "o/b", 2, published="PASS"))
    folder = a_folder(Batch("b", 0.0, f"a list {evil}", rows))
    folder.journal().add(event(0, "done", outcome="FAIL", why=evil), event(1, "done", outcome="PASS", kind="english"))
    page = report_html(folder, folder.status(), 5.0)
    assert "<script" not in page
    assert "\x1b" not in page
    assert "&lt;script&gt;" in page
    assert "Newly failing (1)" in page
    assert "FAIL (CPU)" in page
    assert "NOT ON TRAINIUM" in page
    assert "<td class=weak>PASS</td>" in page  # sharded: judged, not compared
    assert re.search(r"not comparable with those of a run alone", page)
    assert not re.search(r"(src|href)=", page)


# -- Kubernetes


def test_jobs_ask_for_cores_or_whole_devices_and_are_never_tried_again() -> None:
    rows = tuple(BatchRow(n, f"Org/Model_{cores}.5;rm -rf", cores) for n, cores in enumerate((1, 2, 3, 4, 8, 16)))
    rows += (BatchRow(6, "o/cpu", 1, "cpu"),)
    documents = manifests(Batch("20261201-2.28", 0.0, "made", rows, dataset="a/b"), "registry/image:1", "runs").split(
        "---\n"
    )[1:]
    jobs = [json.loads(document) for document in documents]
    limits = [job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"] for job in jobs]
    core, device = "aws.amazon.com/neuroncore", "aws.amazon.com/neuron"
    assert limits == [{core: 1}, {core: 2}, {device: 1}, {device: 1}, {device: 2}, {device: 4}]
    assert all(job["spec"]["backoffLimit"] == 0 for job in jobs)
    assert all(re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", job["metadata"]["name"]) for job in jobs)
    shell = jobs[0]["spec"]["template"]["spec"]["containers"][0]["command"][2]
    assert shell == "trnui sync && trnui --dataset a/b run 'Org/Model_1.5;rm -rf' --yes --device neuron --cores 1"
