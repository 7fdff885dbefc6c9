"""Rows fill a host's cores nearly as well as can be, on aligned blocks, and no row is forgotten."""

from __future__ import annotations

import random

import pytest

from trnui_runner.batch.planning.packing import Job, Queue, crosses, in_order, jobs_of, lower_bound, pack


def made_rows(seed: int, count: int = 200) -> list[Job]:
    """Sizes roughly as open text models are spread; times log-normal around 7 minutes, longer for more cores."""
    draw = random.Random(seed)
    rows = []
    for n in range(count):
        cores = draw.choices([1, 2, 4, 8, 16], [52, 14, 16, 10, 8])[0]
        rows.append(Job(n, cores, draw.lognormvariate(6.0, 0.6) * (1 + 0.25 * (cores.bit_length() - 1))))
    return rows


@pytest.mark.parametrize("seed", range(1, 11))
def test_200_rows_take_at_most_a_tenth_longer_than_the_lower_bound(seed: int) -> None:
    rows = made_rows(seed)
    packed = pack(rows, range(64))
    assert packed.makespan <= 1.1 * packed.bound
    assert packed.crossed == 0
    assert sorted(n for n, _, _ in packed.starts) == list(range(200))


def test_no_core_is_given_twice_at_a_time() -> None:
    rows = made_rows(3)
    seconds = {row.n: row.seconds for row in rows}
    spans = [(start, start + seconds[n], set(cores)) for n, start, cores in pack(rows, range(64)).starts]
    for n, (begin, end, cores) in enumerate(spans):
        for other_begin, other_end, others in spans[n + 1 :]:
            if begin < other_end - 1e-9 and other_begin < end - 1e-9:
                assert cores.isdisjoint(others)


def test_a_run_that_a_device_can_hold_never_crosses_one() -> None:
    for _, _, cores in pack(made_rows(4), range(64)).starts:
        if len(cores) <= 4:
            assert cores[0] // 4 == cores[-1] // 4
        else:
            assert cores[0] % 4 == 0


def test_three_cores_take_a_block_of_four_and_leave_the_fourth_unused() -> None:
    starts = pack([Job(0, 3, 10), Job(1, 4, 10)], range(8)).starts
    assert [cores for _, _, cores in starts] == [(4, 5, 6, 7), (0, 1, 2)] or {c for _, _, c in starts} == {
        (0, 1, 2),
        (4, 5, 6, 7),
    }
    assert all(start == 0 for _, start, _ in starts)


def test_what_runs_already_keeps_its_cores_until_its_end() -> None:
    packed = pack([Job(0, 4, 10)], range(4), going=[((0,), 30.0)])
    assert packed.starts == ((0, 30.0, (0, 1, 2, 3)),)
    assert packed.makespan == 40


def test_a_row_that_the_host_cannot_hold_is_left_out() -> None:
    packed = pack([Job(0, 16, 10), Job(1, 1, 5)], range(4))
    assert [n for n, _, _ in packed.starts] == [1]
    assert packed.bound == 5


def test_largest_core_seconds_first_and_ties_in_the_order_of_the_batch() -> None:
    jobs = [Job(0, 1, 10), Job(1, 1, 10), Job(2, 8, 5), Job(3, 3, 4)]
    assert [j.n for j in in_order(jobs)] == [2, 3, 0, 1]
    queue = Queue(jobs)
    assert [j.n for j in queue.heads()] == [2, 3, 0]
    queue.take(2)
    queue.put(jobs[2])  # another attempt takes its old place
    assert [j.n for j in queue.heads()] == [2, 3, 0]
    assert [j.n for j in queue.heads(deep=2)] == [2, 3, 0, 1]
    assert len(queue) == 4


def test_unknown_times_count_as_the_median() -> None:
    jobs = jobs_of([(0, 1, 10.0, ""), (1, 1, None, ""), (2, 1, 30.0, ""), (3, 1, 20.0, "")])
    assert jobs[1].seconds == 20
    assert jobs_of([(0, 1, None, "")])[0].seconds > 0


def test_lower_bound_knows_runs_that_cannot_share() -> None:
    assert lower_bound([Job(0, 16, 10), Job(1, 16, 10)], 16) == 20
    assert lower_bound([Job(0, 9, 10), Job(1, 9, 10)], 16) == 20
    assert lower_bound([], 64) == 0


@pytest.mark.parametrize(
    ("cores", "expected"),
    [
        ((5,), False),
        ((0, 1), False),
        ((1, 2), True),
        ((3, 4), True),
        ((4, 5, 6, 7), False),
        ((2, 3, 4, 5), True),
        ((8, 11), True),
    ],
)
def test_crosses(cores: tuple[int, ...], expected: bool) -> None:
    assert crosses(cores) is expected
