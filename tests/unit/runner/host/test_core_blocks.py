"""Blocks of cores: aligned at their size, on the fullest device, lowest first; never across a device without need."""

from __future__ import annotations

import itertools
import random

import pytest

from trnui_runner.host.core_blocks import CoreRequest, block_size, blocks, choose, ranked

ONE, FOUR, SIXTEEN = tuple(range(4)), tuple(range(16)), tuple(range(64))


@pytest.mark.parametrize(
    ("count", "size"), [(1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (8, 8), (9, 16), (16, 16), (17, 32)]
)
def test_a_block_is_the_next_power_of_two(count: int, size: int) -> None:
    assert block_size(count) == size


@pytest.mark.parametrize("count", [0, -1])
def test_no_core_is_no_block(count: int) -> None:
    with pytest.raises(ValueError, match="at least one core"):
        block_size(count)


@pytest.mark.parametrize(
    ("count", "ids", "found"),
    [
        (1, ONE, [(0,), (1,), (2,), (3,)]),
        (2, ONE, [(0, 1), (2, 3)]),
        (3, ONE, [(0, 1, 2)]),
        (4, ONE, [(0, 1, 2, 3)]),
        (8, ONE, []),
        (3, range(8), [(0, 1, 2), (4, 5, 6)]),
        (8, range(12), [tuple(range(8))]),
        (5, range(6), [(0, 1, 2, 3, 4)]),  # no aligned block of 8 exists here: the first five
        (2, (1, 2), [(1, 2)]),  # a container's odd pair
        (2, (3, 2, 1), [(2, 3)]),
        (4, (4, 5, 6, 7), [(4, 5, 6, 7)]),
    ],
)
def test_blocks_of_a_host(count: int, ids: object, found: object) -> None:
    assert blocks(count, tuple(ids)) == found  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("count", "ids", "held", "chosen"),
    [
        (1, ONE, (), (0,)),
        (1, ONE, (0,), (1,)),  # beside the one in use, so that 2 and 3 stay a pair
        (1, ONE, (0, 1), (2,)),
        (1, ONE, (3,), (2,)),
        (2, ONE, (0,), (2, 3)),
        (2, ONE, (0, 2), None),
        (4, FOUR, (0, 1), (4, 5, 6, 7)),  # never 2, 3, 4, 5
        (2, FOUR, (4,), (6, 7)),  # the device that is in use already
        (1, FOUR, (8, 9, 10, 4), (11,)),  # the fullest
        (4, FOUR, (0, 5), (8, 9, 10, 11)),
        (8, SIXTEEN, (0,), (8, 9, 10, 11, 12, 13, 14, 15)),
        (4, SIXTEEN, (8,), (12, 13, 14, 15)),  # its buddy is broken already: 0..7 and 16..23 stay whole
        (16, SIXTEEN, (0, 16, 32), tuple(range(48, 64))),
        (16, SIXTEEN, (0, 16, 32, 48), None),
        (3, range(8), (0,), (4, 5, 6)),
        (3, range(8), (3,), (0, 1, 2)),  # the fourth of a block is not the run's
        (5, range(6), (5,), (0, 1, 2, 3, 4)),
        (5, range(6), (4,), None),
    ],
)
def test_the_block_that_is_chosen(count: int, ids: object, held: tuple[int, ...], chosen: object) -> None:
    assert choose(count, tuple(ids), held) == chosen  # type: ignore[call-overload]


def test_a_device_of_eight_cores_is_filled_before_the_next_is_begun() -> None:
    assert choose(1, FOUR, (8, 9, 10, 11), per_device=4) == (0,)  # that device is full
    assert choose(1, FOUR, (8, 9, 10, 11), per_device=8) == (12,)


def test_the_other_free_blocks_follow() -> None:
    assert ranked(2, FOUR, (4,)) == [(6, 7), (0, 1), (2, 3), (8, 9), (10, 11), (12, 13), (14, 15)]


@pytest.mark.parametrize("seed", range(20))
def test_no_mix_of_runs_crosses_a_device_or_overlaps(seed: int) -> None:
    draw = random.Random(seed)
    running: list[tuple[int, ...]] = []
    for _ in range(200):
        if running and draw.random() < 0.4:
            running.pop(draw.randrange(len(running)))
        count = draw.choice([1, 2, 3, 4, 8, 16])
        block = choose(count, SIXTEEN, set(itertools.chain(*running)))
        if block is None:
            continue
        assert len(block) == count
        assert block == tuple(range(block[0], block[0] + count))
        assert block[0] % block_size(count) == 0
        assert count > 4 or block[0] // 4 == block[-1] // 4
        running.append(block)
    held = list(itertools.chain(*running))
    assert len(held) == len(set(held))


# -- a request


def test_a_request_takes_the_best_block_around_runs_and_other_programs() -> None:
    request = CoreRequest(2, FOUR, held=(4,))
    assert request.candidates()[0] == (6, 7)
    assert request.candidates((6,))[0] == (0, 1)
    assert (4, 5) not in request.candidates()
    assert CoreRequest(1, FOUR, per_device=8).candidates((8, 9, 10, 11))[0] == (12,)


@pytest.mark.parametrize(
    ("count", "ids", "held", "leased", "found"),
    [
        (2, (1, 0, 2, 3), (), (), [(0, 1)]),  # the first ones and no others
        (2, ONE, (), (1,), []),
        (2, ONE, (0,), (), []),
        (2, ONE, (2, 3), (), [(0, 1)]),
        (5, ONE, (), (), []),  # more than there are
    ],
)
def test_a_script_that_places_itself_gets_the_first_cores_or_none(
    count: int, ids: tuple[int, ...], held: tuple[int, ...], leased: tuple[int, ...], found: list[tuple[int, ...]]
) -> None:
    assert CoreRequest(count, ids, held, visible="none").candidates(leased) == found


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (CoreRequest(1, FOUR), "1 of 16, chosen when it is free"),
        (CoreRequest(4, FOUR), "4 of 16, an aligned block, chosen when it is free"),
        (CoreRequest(2, (4, 3, 2, 5), visible="none"), "2 to 3, which the script takes by itself"),
        (CoreRequest(2, (), visible="none"), "none"),
    ],
)
def test_a_request_in_words(request_: CoreRequest, words: str) -> None:
    assert request_.words == words


def test_a_buddy_that_is_not_there_is_as_good_as_taken() -> None:
    # a container with cores 4 to 11: 8..11 and 4..7 have no free buddy that a larger run could want; the lower one is taken
    assert ranked(4, range(4, 12), ()) == [(4, 5, 6, 7), (8, 9, 10, 11)]
    # of 0..11 the block 8..11 has no buddy (12..15), so 0..7 stays whole for a run of 8
    assert ranked(4, range(12), ()) == [(8, 9, 10, 11), (0, 1, 2, 3), (4, 5, 6, 7)]
