"""What a text looks like: each kind of what is no prose, and prose that only resembles it."""

from __future__ import annotations

import pytest

from trnui_runner.payload.surface import code_share, surface, tail_loop

PROSE = (
    " the birds begin to sing. It is a beautiful morning, and the people of the village are getting ready for the day."
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "short"),
        (" Paris.", "short"),
        (" the" * 12, "loop"),
        (" The birds sing. The birds sing. The birds sing. The birds sing. The birds sing.", "loop"),
        (f"{PROSE}.........", "loop"),
        (f"{PROSE} attrattrattrattrattrattrattr", "loop"),
        (f"{PROSE} expect expect expect expect expect", "loop"),
        (f"{PROSE}\n\n\n\n\n\n\n\n", "loop"),
        (" is it is now now now for for so so and the cat sat on on the the mat then then went", "loop"),
        ("!" * 32, "loop"),
        (
            " les oiseaux commencent à chanter. C'est une belle matinée et les habitants du village se préparent.",
            "foreign",
        ),
        (
            " Das Gegenteil ist schon schwieriger, weil man sich nicht immer auf die anderen Leute verlassen kann.",
            "foreign",
        ),
        (" Het is het eerste boek dat geheel aan Vim is gewijd en het wordt door iedereen aanbevolen.", "foreign"),
        ("比心。  --《增广贤文》 千山鸟飞绝，万径人踪灭。", "foreign"),
        (" Он сказал, что это очень хорошая книга.", "foreign"),
        (' for (int i = 0; i < n; i++) { printf("%d\\n", a[i]); } return 0; }', "code"),
        ("\n    if n <= 1:\n        return n\n    return fib(n - 1) + fib(n - 2)\n\nprint(fib(10))", "code"),
        (' """Returns a list of the formats that are supported here, and what they are for."""\n    return 1', "code"),
        (" and it is the end of the \ufffd\ufffd day of the week", "broken"),
        (" alpha beta gamma delta epsilon zeta eta theta iota kappa", "sparse"),
    ],
)
def test_kind_of_what_is_no_prose(text: str, kind: str) -> None:
    assert surface(text).kind == kind


@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        " been in love before. Wo, oh, oh, oh. At the end of the night we sang it again and again with the band.",
        " name of the file.\n* `path` {string} The path of the file that is to be opened by the `open` function.\n* `mode`",
        " Tensor Computes the condition number of a matrix with respect to a norm. Letting :math:`K` be the set of all",
        "-2.0, which is about 3.14 times as much as the value that was given for the year 1997 in the first table.",
        " were lined up.\n\n## What it does\n\nIt reads a file, and then it writes what it has found to the standard output.",
        "\ufffdnd so it was that all of them went home, and nobody ever heard of the matter again\ufffd",
    ],
)
def test_prose_with_digits_markdown_names_and_refrains_is_prose(text: str) -> None:
    assert surface(text).kind == ""


def test_prompt_that_is_code_makes_code_of_what_follows() -> None:
    text = " low median of numeric data.\n\n    When the number of data points is odd, the middle value is returned."
    assert surface(text).kind == ""
    assert surface(text, 'def median_low(data):\n    """Return the').kind == "code"
    assert code_share(" All of it is said in plain words here.", "You define a class which holds") == 0.0


def test_fenced_block_is_code_and_the_words_around_it_are_not() -> None:
    assert 0.15 < code_share("Run it so, and see what it says:\n```\npip install it\n```\nThen go on as before.") < 0.4


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("a b abababab", "ab"),
        ("a dog. a dog. a dog. a dog. a d", "a dog. "),
        ("the end", ""),
        ("        ", ""),
        ("x" + " " * 12, " "),
    ],
)
def test_tail_loop(text: str, unit: str) -> None:
    found = tail_loop(text)
    assert sorted(found) == sorted(unit)  # the unit, from wherever in it the text stops
