"""Foreign text is safe after the cleaners, whatever it holds, and stays what it is where it was harmless."""

import shutil
import subprocess
import unicodedata

import pytest

from trnui_runner.common.text import clean, fit, one_line, scanned, shown, slug, words
from trnui_runner.request.command_line import shell_line

INVISIBLE = ["\u115f", "\u1160", "\u3164", "\uffa0", "\u206a", "\u206f", "\u00ad", "\u034f", "\u180e", "\u2800", "\U0001d173", "\U000e0041",
             "\u200b", "\u2028", "\u202e", "\ufeff", "\ufffe"]  # fmt: skip
ESCAPES = [
    "\x1b[31m",
    "\x9b2J",
    "\x1b]0;title\x07",
    "\x1b]52;c;eA==\x1b\\",
    "\x1bP1$r\x9c",
    "\x1b(0",
    "\x1b",
    "\x00",
    "\x7f",
    "\x08",
]


@pytest.mark.parametrize("bad", INVISIBLE + ESCAPES)
@pytest.mark.parametrize(
    "cleaner", [clean, one_line, shown, lambda text: words("a {} z", text), lambda text: fit(text, 12)]
)
def test_nothing_a_terminal_obeys_or_hides_is_left(bad, cleaner):
    got = cleaner(f"x{bad}y")
    assert not [c for c in got if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in INVISIBLE]


def test_stacked_marks_are_cut_whatever_stands_between_them():
    for mark in ("\u0301", "\u0ec8", "\u1cd0", "\U0001e130", "\ufe0f"):
        for joiner in ("", "\u200d"):
            got = clean("a" + (mark + joiner) * 40 + "b")
            assert sum(unicodedata.category(c) in ("Mn", "Me") for c in got) <= 4, hex(ord(mark))
            assert got[0] == "a"
            assert got[-1] == "b"


@pytest.mark.parametrize(
    "text",
    [
        "Ελληνικά",
        "हिन्दी में",
        "ภาษาไทย",
        "한국어 문장",
        "👩‍👩‍👧‍👦 🏳️‍🌈",
        "───── ▏▎▍",
        "می‌خواهم",
        "2 × 3 – 4 … é ñ",
        "日本語",
    ],
)
def test_harmless_text_stays(text):
    assert clean(text) == text


def test_words_cleans_each_value_and_not_the_sentence():
    assert words("run {} said {}", "a\x1b[2Jb", "two\nlines") == "run ab said two lines"
    assert words("{}", "{0}") == "{0}"


def test_scanned_keeps_lines():
    assert scanned(b"a\x1b[1mb\r\n\xc2\xadc") == b"ab\r\nc"


def test_slug_is_never_hidden():
    assert slug("../../.ssh\x1b[m") not in ("", ".ssh")
    assert not slug("a/.hidden").startswith(".")


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_each_word_is_one_word_in_a_shell(shell):
    hostile = [
        "a'; touch x; '",
        "\t'; touch x; echo '",
        "$(touch x)",
        "`touch x`",
        "a\nb; touch x",
        "-rf",
        "\\'\t; touch x #",
        "*",
        "~",
        "a\x1b[';touch x;'",
    ]
    line = shell_line(["set", "--", *hostile]) + '; echo "$#"'
    got = subprocess.run(
        [shutil.which(shell) or pytest.skip(f"no {shell} here"), "-c", line],
        capture_output=True,
        text=True,
        env={"PATH": ""},
        timeout=20,
    )
    assert (got.stdout, got.stderr) == (f"{len(hostile)}\n", "")
