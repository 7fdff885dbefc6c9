"""Word order alone: English from its own shuffles."""

from __future__ import annotations

import random

import pytest

from trnui_runner.payload.judge import Z_LIMIT
from trnui_runner.payload.surface import surface
from trnui_runner.payload.word_order import WordOrder

FLUENT = (
    " the birds begin to sing. It is a beautiful morning, and the people of the village are getting ready for the day ahead of them.",
    " Paris, which lies on the Seine. It is the largest city in the country and is known for its museums, its food and its long history.",
    " you should call her and say you are sorry. She was not angry with you, only tired, and she would be glad to hear your voice again.",
    " a letter that her grandmother had never sent. The paper was thin and yellow, but every word could still be read without trouble.",
)


@pytest.fixture(scope="module")
def order() -> WordOrder:
    return WordOrder.load()


@pytest.mark.parametrize("text", FLUENT)
def test_fluent_text_passes_both(text: str, order: WordOrder) -> None:
    assert surface(text).ok
    assert order.z(text) > Z_LIMIT


def test_shuffled_words_pass_the_surface_and_seldom_the_order(order: WordOrder) -> None:
    passed = []
    for text in FLUENT:
        for seed in range(10):
            words = text.split()
            random.Random(seed).shuffle(words)
            assert surface(" ".join(words)).ok
            passed.append(order.z(" ".join(words)) > Z_LIMIT)
    assert sum(passed) <= 2  # of 40; 2.5 % were measured over 360


def test_too_short_a_text_has_no_order(order: WordOrder) -> None:
    assert order.z("It is a day") == 0.0
