"""The log's index and search against the plain answer over the whole text, on files of every shape."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from trnui.tui.log import index as log_index
from trnui.tui.log import search as log_search
from trnui.tui.log.index import LineIndex, LogFile, piece_text, pieces, text_of, wrapped
from trnui.tui.log.search import ERROR, Matcher, Search


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many chunks and giants in small files."""
    for module in (log_index, log_search):
        for name, value in (("STRIDE", 256), ("BLOCK", 1000), ("GIANT", 2048), ("BAR_TAIL", 512), ("PIECE", 128)):
            monkeypatch.setattr(module, name, value, raising=False)


def made(path: Path, seed: int, newline_at_end: bool = True) -> bytes:
    rng = random.Random(seed)
    lines = []
    for n in range(rng.randrange(1, 400)):
        size = rng.choice((0, 1, 5, 40, 80, 200, 3000 if rng.random() < 0.1 else 20))
        word = rng.choice((b"", b"needle", b"Needle", b"n\xc3\xa4del", b"Error"))
        lines.append(b"%d " % n + b"x" * size + word)
    data = b"\n".join(lines) + (b"\n" if newline_at_end else b"")
    path.write_bytes(data)
    return data


def starts(data: bytes) -> list[int]:
    found = [0] + [n + 1 for n, c in enumerate(data) if c == 10]
    return found if found[-1] < len(data) else found[:-1]


def opened(path: Path, indexed: bool = True) -> LineIndex:
    index = LineIndex(LogFile(path))
    while indexed and index.advance(700):
        pass
    return index


@pytest.mark.parametrize("seed", range(12))
def test_walking_down_and_up_meets_every_line(tmp_path: Path, seed: int) -> None:
    data = made(tmp_path / "log", seed, seed % 2 == 0)
    expected = starts(data)
    index = opened(tmp_path / "log")
    assert index.lines == data.count(b"\n")

    down, line = [], index.line(0, len(data)) if data else None
    while line is not None:
        down.append(line.start)
        assert index.file.read(line.start, line.size) == data[line.start :].split(b"\n")[0]
        line = index.after(line, len(data))
    assert down == expected

    up, line = [], index.last_line(len(data))
    while line is not None:
        up.append(line.start)
        line = index.before(line.start)
    assert up == expected[::-1]


@pytest.mark.parametrize("seed", range(6))
def test_numbers_and_places_agree(tmp_path: Path, seed: int) -> None:
    data = made(tmp_path / "log", seed)
    index = opened(tmp_path / "log")
    for number, start in enumerate(starts(data)):
        assert index.number_of(start) == number
        assert index.start_of_number(number) == start
    for offset in range(0, len(data), 37):
        assert index.start_of(offset) == data.rfind(b"\n", 0, offset) + 1


def test_the_end_is_there_before_the_index(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"".join(b"line %d\n" % n for n in range(5000)))
    index = opened(tmp_path / "log", indexed=False)
    size = index.file.size()
    line = index.last_line(size)
    assert line is not None
    assert text_of(index.file, line) == ("line 4999", False)
    before = index.before(line.start)
    assert before is not None
    assert text_of(index.file, before) == ("line 4998", False)


def test_a_log_that_grows_is_indexed_on_and_one_cut_short_anew(tmp_path: Path) -> None:
    path = tmp_path / "log"
    index = opened(path)
    assert (index.lines, index.file.size()) == (0, 0)
    with path.open("ab") as file:
        for n in range(300):
            file.write(b"line %d" % n)
            file.flush()
            index.advance()
            file.write(b" more\n")
            file.flush()
            index.advance()
    assert index.lines == 300
    assert index.start_of(index.end - 1) == path.read_bytes().rfind(b"line")
    path.write_bytes(b"new\n")
    index.advance()
    assert (index.lines, index.end) == (1, 4)


def test_no_newline_at_all_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"x" * 50_000)
    index = opened(tmp_path / "log")
    line = index.last_line(50_000)
    assert line == log_index.LogLine(0, 50_000, whole=False)
    assert text_of(index.file, line, 100) == ("x" * 100, True)
    count = pieces(index.file, line)
    assert "".join(piece_text(index.file, line, n, count) for n in range(count)) == "x" * 50_000


def test_pieces_cut_between_characters(tmp_path: Path) -> None:
    text = "a" + "ä日本e\u0301" * 300
    (tmp_path / "log").write_bytes(text.encode() + b"\n")
    index = opened(tmp_path / "log")
    line = index.line(0, index.file.size())
    count = pieces(index.file, line)
    assert count > 3
    assert "".join(piece_text(index.file, line, n, count) for n in range(count)) == text


@pytest.mark.parametrize("updates", [3, 4000])
def test_a_progress_bar_is_one_line_in_its_last_state(tmp_path: Path, updates: int) -> None:
    bar = b"".join(b"\r%5d/%d [###   ]" % (n + 1, updates) for n in range(updates))
    (tmp_path / "log").write_bytes(b"before\n" + bar + b"\nafter\n")
    index = opened(tmp_path / "log")
    line = index.line(7, index.file.size())
    assert text_of(index.file, line)[0].strip() == f"{updates}/{updates} [###   ]"
    assert pieces(index.file, line) == 1
    after = index.after(line, index.file.size())
    assert after is not None
    assert text_of(index.file, after)[0] == "after"


def test_control_sequences_never_come_out(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(
        b"\x1b]0;title\x07a\x1b[31mred\x1b[0m\x1b[2J\x00\xe2\x80\xaeb\xff\x9b5n [bold]x[/]\n"
    )
    index = opened(tmp_path / "log")
    text, _ = text_of(index.file, index.line(0, index.file.size()))
    assert text == "aredb\ufffd\ufffd5n [bold]x[/]"


def test_wrapping_counts_cells() -> None:
    assert wrapped("abcdef", 4) == ["abcd", "ef"]
    assert wrapped("", 4) == [""]
    assert wrapped("日本語", 4) == ["日本", "語"]


@pytest.mark.parametrize("text", ["needle", "Needle", "error", "nädel", "9 x", "absent"])
@pytest.mark.parametrize("seed", range(6))
def test_search_finds_the_lines_that_a_plain_filter_finds(tmp_path: Path, seed: int, text: str) -> None:
    data = made(tmp_path / "log", seed, seed % 2 == 0)
    cased = text != text.lower()
    expected = []
    for start in starts(data):
        line = data[start:].split(b"\n")[0].decode()
        if text in (line if cased else line.lower()):
            expected.append(start)
    search = Search(opened(tmp_path / "log"), Matcher(text))
    while search.advance(3):
        pass
    assert search.total == len(expected)
    down, at = [], search.after(-1)
    while at is not None:
        assert search.number_of(at) == len(down)
        down.append(at)
        at = search.after(at)
    assert down == expected
    up, at = [], search.before(len(data))
    while at is not None:
        up.append(at)
        at = search.before(at)
    assert up == expected[::-1]


def test_search_keeps_up_with_a_growing_log(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"")
    index = LineIndex(LogFile(path))
    search = Search(index, Matcher("hit"))
    with path.open("ab") as file:
        for n in range(500):
            file.write(b"a hit %d\n" % n if n % 7 == 0 else b"nothing here %d\n" % n)
            file.flush()
            index.advance()
            search.advance()
    assert search.total == len(range(0, 500, 7))


def test_search_looks_at_what_is_shown(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"\rerror 1\rfine\ner\x1b[31mr\x1b[0mor\nplain error\n")
    search = Search(opened(tmp_path / "log"), Matcher("error"))
    search.advance()
    assert search.total == 2


@pytest.mark.parametrize(
    ("line", "is_error"),
    [
        (b"RuntimeError: NEFF load failed", True),
        (b"Traceback (most recent call last):", True),
        (b"ERROR  neuronx-cc terminated", True),
        (b"Segmentation fault (core dumped)", True),
        (b"torch.OutOfMemoryError: no", True),
        (b"compiled with 0 warnings, errors: 0", False),
        (b"loading model.layers.0.mlp.terror.weight", False),
    ],
)
def test_error_lines(line: bytes, is_error: bool) -> None:
    assert (ERROR.search(line) is not None) == is_error


def test_first_error_is_found_by_pattern(tmp_path: Path) -> None:
    data = b"fine\n" * 300 + b"ValueError: bad\n" + b"fine\n" * 300
    (tmp_path / "log").write_bytes(data)
    search = Search(opened(tmp_path / "log"), Matcher(pattern=ERROR))
    while search.advance():
        pass
    assert search.after(-1) == 1500
    assert search.total == 1
