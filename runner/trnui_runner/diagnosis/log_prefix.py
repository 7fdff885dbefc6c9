"""What loggers, launchers, containers and schedulers put before a line. It is taken off once, ahead of all rules, so that a rule
reads `RuntimeError: …` the same way behind a journal's stamp, a pod's name or a rank. A new kind is one entry in `KINDS`."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

MOST: Final = 260  # characters of a line in which a prefix is looked for
_DATE = r"\d{4}[-/](?:\d\d|[A-Z][a-z]{2})[-/]\d\d"
_TIME = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_STAMP = rf"{_DATE}(?:T|,? +){_TIME}(?:Z|[+-]\d\d:?\d\d| ?UTC)?"
_MONTH_DAY = r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?"
_LEVEL = r"(?:TRACE|DEBUG|INFO|SUCCESS|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL)\b"
# A module's or function's name behind the level; never the name of an exception.
_NAME = r"(?:(?![\w.]*(?:Error|Exception|Interrupt|Exit)\b|(?:error|fatal|panic)\b)[a-z_][\w.]*(?::\d+)?(?: --| -|:) )?"

# Kind → what it looks like, by the character a line begins with: a line is tried against few of them (1 to 3 µs). Behind the
# first, the others are tried again: a pod's stamp may stand before a logger's.
_COMPOSE = r"[A-Za-z0-9][\w.-]{0,62} *\| (?!\s*[\d.]+ *\|)"
_DATED: Final[dict[str, str]] = {  # what follows a date and a time
    "CRI": r" (?:stdout|stderr) [FP] ",
    "loguru": rf" \| {_LEVEL} *\| [\w.<>]+:[\w<>]+:\d+ - ",
    "logging": rf" - [\w.<>-]+ - {_LEVEL} - (?:[\w.]+:\d+ - )?",
    "process and level": rf":?[ \t]+\d+(?::\d+)? +\[?{_LEVEL}\]?:? +",
    "TensorFlow": r": [IWE] [\w./-]+:\d+\] ",
    "stamp and level": rf":?[ \t]+\[?{_LEVEL}\]?:?[ \t]+{_NAME}",
    "journal, ISO time": r" [\w.-]+ [\w./@-]+\[\d+\]: ",
    "log stream": r" (?:[\w.-]+/)+[0-9a-f]{12,} ",
    "time": r":?[ \t]+",
}
_DIGIT: Final[dict[str, str]] = {
    "clock": rf"{_TIME} +(?=[^\d\s])",
    "srun -l": r"\d{1,4}: ",
    "numbered line": r"\d{1,7}\t|\d{1,7}:(?=[A-Z])",
    "epoch": r"\d{10}(?:\.\d{1,9})? ",
}
_BRACKET: Final[dict[str, str]] = {
    "rank": r"\[(?:(?:[Rr]ank|RANK|default|local_rank)[ _:=]?\d{1,4}(?:\][:|] ?|\] )|\d{1,3}\][:|] ?|\d{1,2}/\d{1,2}\][:| ] ?)",
    "Hydra": rf"\[{_STAMP}\]\[[\w.]+\]\[{_LEVEL}\](?: - ?)? ?",
    "time in brackets": rf"\[{_STAMP}\]:? *|\[{_TIME}\]:? *",
    "level in brackets": rf"\[{_LEVEL}\]:? *",
    "source in brackets": r"\[[\w./-]+\.(?:py|cc|cpp|h):\d+(?::\w+)?\] ",
    "NeMo": r"\[NeMo [IWE] [^\]\n]{10,60}\] ",
    "kubectl --prefix": r"\[(?:pod|container|job|deployment|statefulset)/[^\]\s]+\] ",
    "mpirun": r"\[[\w.@,:-]{0,60}?\d+,(?:mpirank:)?\d+(?:,[\w.-]+)?\]<std(?:out|err)>:? ?",
    "Open MPI": r"\[[a-z][\w.-]*:\d{2,7}\] ",
    "kernel": r"\[ *\d+\.\d{3,6}\] ",
}
_UPPER: Final[dict[str, str]] = {
    "journal": rf"{_MONTH_DAY} [\w.-]+ [\w./@-]+(?:\[\d+\])?: ",
    "month and day": rf"{_MONTH_DAY} +",
    "full date": r"[A-Z][a-z]{2},? [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: [A-Z]+)? \d{4}:? *",
    "basicConfig": rf"{_LEVEL}:(?![\w.]*(?:Error|Exception)\b)[\w.]+:",
    "vLLM": rf"{_LEVEL} \d\d-\d\d {_TIME} \[?[\w./-]+:\d+\] ",
    "glog": r"[IWE]\d{4} \d\d:\d\d:\d\d\.\d+(?: +\d+)? +[\w./-]+:\d+\] ",
    "rank in words": r"(?:Rank|RANK)[ _:=]?\d{1,4}[:|] ?",
    "compose": _COMPOSE,
}
_LOWER: Final[dict[str, str]] = {
    "rank in words": r"(?:rank|local_rank)[ _:=]?\d{1,4}[:|] ?",
    "host": (
        r"(?!python|neuron|nrt|nccl|torch|cuda|hlo)(?=[a-z0-9.-]*\d)[a-z][a-z0-9]*(?:-[a-z0-9]+)*"
        r"(?:(?:\.[a-z0-9-]+)*\.(?:internal|local|lan|cluster|com|net|org))?: (?! *\d+%)"
    ),
    "compose": _COMPOSE,
}
_OTHER: Final[dict[str, dict[str, str]]] = {
    "(": {
        "Ray": r"\([^()\n]{0,60}?\b(?:pid|rank|ip)[= ]\d[^()\n]{0,60}\) ?",
        "worker": r"\((?:EngineCore|Vllm|Worker|APIServer|Serve)\w*[^()\n]{0,40}\) ",
    },
    " ": {"srun -l": r" {1,3}\d{1,4}: ", "numbered line": r" {1,7}\d{1,7}\t"},
    "{": {"JSON line": r'\{"(?:log|message|msg|text)": ?"', "Airflow": rf"\{{[\w.]+:\d+\}} {_LEVEL} - "},
    "<": {"syslog priority": r"<\d{1,3}>(?:\d )?"},
    ">": {"quoted": r"> (?=\S)"},
    "#": {"build step": r"#\d{1,3} \d+\.\d+ "},
}
KINDS: Final = frozenset().union(_DATED, _DIGIT, _BRACKET, _UPPER, _LOWER, *_OTHER.values())


def _any_of(kinds: dict[str, str]) -> re.Pattern[str]:
    return re.compile("|".join(kinds.values()))


_dated = f"{_STAMP}(?:{'|'.join(_DATED.values())})"
_BY_START: Final[dict[str, re.Pattern[str]]] = {
    **dict.fromkeys("0123456789", _any_of({"dated": _dated} | _DIGIT | {"compose": _COMPOSE})),
    **dict.fromkeys("ABCDEFGHIJKLMNOPQRSTUVWXYZ", _any_of(_UPPER)),
    **dict.fromkeys("abcdefghijklmnopqrstuvwxyz", _any_of(_LOWER)),
    "[": _any_of(_BRACKET),
    **{start: _any_of(kinds) for start, kinds in _OTHER.items()},
}
_SAID_LEVEL = re.compile(rf"\b{_LEVEL}|(?:^|[\s:])([IWE])(?=\d{{4}} \d\d:| [\w./-]+:\d+\])")
_RANK_INSIDE_PREFIX = re.compile(
    r"(?:[Rr]ank|RANK|default|local_rank|mpirank)[ _:=]?(\d{1,3})\b|Worker\w*?(\d{1,3})\b|(?:^|\s)\[(\d{1,3})\][:|]"
    r"|,(\d{1,3})\]<std|^ {0,3}(\d{1,4}): |^\[(\d{1,2})/\d{1,2}\][:| ]"
)
_RANK_IN_WORDS = re.compile(r"\b(?:[Rr]ank|RANK|local_rank)[ :=]{1,2}(\d{1,3})\b")
_QUIET: Final = frozenset({"TRACE", "DEBUG", "WARN", "WARNING", "W"})
_DIGITS, _CLOCK = re.compile(r"\d"), re.compile(r"\d\d:\d\d")
_MOST_PREFIXES: Final = 6


class Peeled(NamedTuple):
    """A line without its prefixes (a tuple: one is made for each line that is read)."""

    prefix: str
    body: str
    level: str = ""  # the last one named in the prefixes
    rank: int | None = None  # the one that the line speaks for

    @property
    def text(self) -> str:
        return self.prefix + self.body

    @property
    def shape(self) -> str:
        """The prefix, with zeros for digits: the same for all lines of one logger."""
        return _DIGITS.sub("0", self.prefix)

    @property
    def dated(self) -> bool:
        return _CLOCK.search(self.prefix) is not None

    @property
    def quiet(self) -> bool:
        """The logger itself says that this is no error."""
        return self.level in _QUIET


def peel(text: str) -> Peeled:
    """`text` in two: what its loggers and launchers put before it, and what was said."""
    at = 0
    for _ in range(_MOST_PREFIXES):
        kinds = _BY_START.get(text[at : at + 1])
        found = kinds.match(text, at, MOST) if kinds else None
        if found is None:
            break
        at = found.end()
    if not at:
        return Peeled("", text, "", _rank("", text))
    prefix, body = text[:at], text[at:]
    levels = [said[1] or said[0] for said in _SAID_LEVEL.finditer(prefix)]
    return Peeled(prefix, body, levels[-1] if levels else "", _rank(prefix, body))


def _rank(prefix: str, body: str) -> int | None:
    """By the prefix (`[rank3]:`, `[default3]:`, `(Worker_TP3 pid=…)`, `3: `), else by the words."""
    if prefix and (found := _RANK_INSIDE_PREFIX.search(prefix)):
        return int(next(v for v in found.groups() if v is not None))
    if "ank" not in body:
        return None
    found = _RANK_IN_WORDS.search(body, 0, 200)
    return int(found[1]) if found else None
