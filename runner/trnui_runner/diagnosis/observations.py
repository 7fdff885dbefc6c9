"""What was seen so far, in constant memory: one entry a rule and class, where each phase last moved, and whether the model is talking."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any

from trnui_runner.common.text import decode, scanned
from trnui_runner.diagnosis.extract import groups, stem
from trnui_runner.diagnosis.log_lines import TANGLED, WIDTH, around, is_blank, shown_lines, unglued, untangled
from trnui_runner.diagnosis.log_prefix import Peeled, peel
from trnui_runner.diagnosis.model import LineWeight, Rule
from trnui_runner.diagnosis.prefilter import LITERALS, PLAIN, ZEROS, candidates, matches, split

BEFORE, AFTER = 14, 10  # lines kept around an entry's first
EVIDENCE = 3  # lines kept an entry, besides the last
SHAPE, SHAPES = 400, 20_000  # bytes of a line whose shape is remembered, and how many are
MOST_HITS = 600
RUN_FACTS = frozenset({"ranks", "python"})
LOOK = frozenset(
    {"dots", "compile-call", "tokens", "world", "python", "disk-warning"}
)  # progress whose lines are looked at each time
_shapes: dict[bytes, tuple[str, ...]] = {}  # lines that differ in digits only say the same
_SPEAKS = re.compile(r"enerat|utput|ompletion|esponse|nswer|ecoded|ssistant|ext\b|ontinuation|ample|\bgen\b")
_TEXT = re.compile(
    r"^(?:[^\w<\"'-]{0,3}\[[^\]]{1,24}\]:? ?)*\W{0,4}(?:(?i:device|cpu|neuron|reference|expected|host|rank \d+)\s+)?(?i:generated|completion|response|model (?:output|answer|said|text)|output|answer|decoded|assistant|text|continuation|sample|prompt \+ output|gen)"
    r"(?i:[ _](?:text|output|tokens?|answer|sequence|completion))?(?: ?\([^)]{0,60}\)| \[[^\]]{0,60}\])?(?: ?[:=>]+|-{3,}|={3,})(?P<rest>.*)$"
)
# A line that no model writes at the left margin: a logger's, the script's own, a ruler.
_STRUCTURE = re.compile(
    r"^(?:\[[^\]]{1,24}\]:? ?)*(?:\d{4}-\w{2,3}-\d\d[ T]\d\d:\d\d|\[?(?:INFO|WARN|WARNING|ERROR|DEBUG)\b[\]: ]|\S+@\S+:\S*[$#] |(?:RESULT|result|tokens?|judge|match\w*|peak|wall|total|time|elapsed|check|hbm|memory|exit code|cpu|device|verdict)\b ?[:= ]|={5,}|-{5,}|<{3,}|>{3,}|\"{3}|`{3}|\[/?(?:end|END)|(?:end|END) of )"
)
_PID = re.compile(r"(?:^|\s)(\d{2,7})(?::\d+)? +(?:INFO|WARN|ERROR|\[INFO\])")
_ASKED = re.compile(
    r"^(?:\[[^\]]{1,24}\]:? ?)*\W{0,4}(?i:prompt|user|question|input text|instruction|model(?:_id| id| name)?|notes?|checkpoint)\s*[:=]"
)
_RAISES = re.compile(r"^(?:\W{0,3}\[?rank ?\d+\]?:?|\([^)]{1,40}\))?\s*raise \w")  # a line of code, not what it raised
_RAISED = re.compile(
    r"^(?:[^\w]{0,4}\[?\w*\]?:? ?)?(?:\([^)]{1,40}\) )?(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Interrupt|Timeout|Unsupported|Limit\w*|Exit|Found)(?=:|\s*$)"
)


@dataclass(frozen=True)
class Find:
    """What one rule says of one line."""

    rule: Rule
    cls: str
    facts: dict[str, Any]
    match: re.Match[str] | None
    window: str  # the text it looked at: the line without its prefix, or a cut of a long one

    def shown(self, said: Peeled) -> str:
        """The whole line; of a long one what stands around the find."""
        if self.window is said.body and len(said.text) <= WIDTH:
            return said.text
        return around(self.window, self.match)

    @property
    def raised(self) -> bool:
        return bool(_RAISED.match(self.window))


@dataclass
class Hit:
    """All lines that one rule gave one class."""

    rule: Rule
    cls: str
    first: int
    last: int
    facts: dict[str, Any]
    lines: list[str]
    latest: str
    phase: str
    raised: bool
    count: int = 1
    ranks: set[int] = field(default_factory=set)
    suspect: bool = False  # seen in text that the model wrote
    before: list[str] = field(default_factory=list)  # lines around the first
    after: list[str] = field(default_factory=list)

    @classmethod
    def first_of(cls, find: Find, said: Peeled, at: int, phase: str, suspect: bool) -> Hit:
        text = find.shown(said)
        ranks = set() if said.rank is None else {said.rank}
        return cls(
            find.rule, find.cls, at, at, find.facts, [text], text, phase, find.raised, ranks=ranks, suspect=suspect
        )

    def add(self, find: Find, said: Peeled, at: int) -> None:
        """One more line of the same rule and class."""
        self.last, self.latest = at, find.shown(said)
        self.count += 1
        self.raised = self.raised or find.raised
        if said.rank is not None and len(self.ranks) < 128:
            self.ranks.add(said.rank)
        if len(self.lines) < EVIDENCE and self.latest not in self.lines:
            self.lines.append(self.latest)
        for name, value in find.facts.items():
            if name in ("minutes", "seconds"):
                self.facts[name] = value  # the latest age is the true one
            else:
                self.facts.setdefault(name, value)

    def copy(self) -> Hit:
        return replace(self, lines=list(self.lines), ranks=set(self.ranks), facts=dict(self.facts))


@dataclass
class Observations:
    """Fed with blocks of whole lines."""

    line: int = 0
    hits: dict[tuple[str, str, bool], Hit] = field(default_factory=dict)
    phase: str = "prepare"
    onward: dict[int | None, int] = field(default_factory=dict)  # rank → the line at which it last got on
    counts: dict[str, int] = field(default_factory=dict)  # rule id → lines
    facts: dict[str, Any] = field(default_factory=dict)  # of the whole run: python, ranks
    ranks: set[int] = field(default_factory=set)
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=BEFORE * 2))
    talking: bool = False  # inside generated text
    talker: str = ""  # the prefix of the line with which it began, digits as zeros
    printable: bool = False
    torn: bytes = b""  # a rank's line that another rank's cut in two
    dots: int = 0  # the longest row of dots in which nothing else was said
    pids: dict[str, set[int]] = field(default_factory=dict)  # who waits, who compiles
    _raw: list[bytes] = field(default_factory=list)
    _at: int = 0
    _open: list[Hit] = field(default_factory=list)

    def copy(self) -> Observations:
        """For a look ahead at a line that is not complete yet."""
        return replace(
            self,
            hits={k: h.copy() for k, h in self.hits.items()},
            onward=dict(self.onward),
            counts=dict(self.counts),
            facts=dict(self.facts),
            ranks=set(self.ranks),
            tail=self.tail.copy(),
            pids={k: set(v) for k, v in self.pids.items()},
            _open=[],
        )

    def feed(self, block: bytes) -> None:
        if not block:
            return
        block = unglued(scanned(block))
        if self.torn or TANGLED.search(block):
            block, self.torn = untangled(block, self.torn)
        start, raw = self.line, split(block)
        self._raw = raw
        for hit in self._open:
            hit.after += shown_lines(raw[: AFTER * 3], hit.ranks)[: AFTER - len(hit.after)]
        self._open = [h for h in self._open if len(h.after) < AFTER and start - h.first < AFTER * 3]
        for number, found in candidates(block, raw):
            line = raw[number]
            shape = None
            if not self.talking and len(line) < SHAPE and PLAIN.issuperset(found):
                shape = line.translate(ZEROS)
                rules = _shapes.get(shape)
                if rules is not None:
                    if rules:
                        self.touch(rules, start + number, line)
                    continue
            self._at = number
            seen = self.one(start + number, decode(line), found)
            if shape is not None and seen is not None:
                if len(_shapes) > SHAPES:
                    _shapes.clear()
                _shapes[shape] = seen
        self.line = start + len(raw) - 1
        self._raw = []
        self.keep_tail(block)

    def answer_below(self) -> str:
        """The next line that is not empty: what a command of the user's answered."""
        return next(
            (peel(decode(line)).body.strip() for line in self._raw[self._at + 1 : self._at + 3] if line.strip()), ""
        )

    def surround(self, hit: Hit) -> None:
        """Keeps the lines around an entry's first; those of its rank, if it has one. What the block lacks behind it, the next adds."""
        before = self._raw[max(0, self._at - BEFORE * 3) : self._at]
        if len(before) < BEFORE:
            before = [line.encode() for line in self.tail] + before
        hit.before = shown_lines(before, hit.ranks)[-BEFORE:]
        hit.after = shown_lines(self._raw[self._at + 1 : self._at + 1 + AFTER * 3], hit.ranks)[:AFTER]
        if len(hit.after) < AFTER and len(self._raw) - self._at <= AFTER:
            self._open.append(hit)

    def keep_tail(self, block: bytes) -> None:
        end = decode(block[-8192:])
        lines = [
            part
            for line in end.split("\n")
            if (part := next((p.strip() for p in reversed(line.split("\r")) if not is_blank(p)), ""))
        ]
        if lines:
            self.printable = True
            self.tail.extend(line[-2000:] for line in lines[-BEFORE * 2 :])
        elif not self.printable:
            self.printable = not is_blank(decode(block))

    def touch(self, rules: tuple[str, ...], at: int, line: bytes) -> None:
        """One more line of a shape that only says that work moves."""
        text = decode(line)
        for name in rules:
            hit = self.hits.get((name, "in_progress", False))
            if hit is None:  # its first line in this run is read in full
                self.one(at, text, [n for n, (literal, _) in enumerate(LITERALS) if literal in text])
                return
            rule = hit.rule
            hit.last, hit.latest = at, text
            hit.count += 1
            if rule.counts:
                self.counts[name] = self.counts.get(name, 0) + 1
            if rule.phase:
                self.phase = rule.phase
                if rule.onward:
                    self.onward[peel(text).rank] = at

    def one(self, at: int, text: str, found: list[int]) -> tuple[str, ...] | None:
        """One line that some rule may know; the rules it matched, if they only say that work moves and need no second look."""
        said = peel(text)
        if said.rank is not None and said.rank < 512:
            self.ranks.add(said.rank)
        if self.follow_talk(said, at) or _RAISES.match(said.body) or _ASKED.match(said.body):
            return None
        matched = matches(said.body, found)
        answer = self.answer_below() if any(rule.asks for rule, _, _ in matched) else ""
        finds = [find for m in matched if (find := understood(*m, answer)) is not None]
        for find in deciding(finds, said):
            self.record(find, said, at)
        if any(rule.kind is not LineWeight.PROGRESS or rule.id in LOOK for rule, _, _ in matched):
            return None
        return tuple(rule.id for rule, _, _ in matched)

    def follow_talk(self, said: Peeled, at: int) -> bool:
        """Notices where the model begins and ends to speak. True: this line is its first, and nothing but its words."""
        body = said.body
        spoken = _TEXT.match(body) if _SPEAKS.search(body, 0, 120) else None
        if spoken:
            self.move("generate", at, said.rank)
            rest = spoken["rest"].strip()
            quoted = len(rest) > 1 and rest[0] in "'\"" and rest[-1] == rest[0]
            self.note_generated(at, said.text)
            self.talking, self.talker = not quoted, said.shape
            return True
        if self.talking and (self.logged(said) or _STRUCTURE.match(body)):
            self.close_text(body)
        return False

    def logged(self, said: Peeled) -> bool:
        """Whether a logger other than the one that prints the model's text wrote this line."""
        return bool(said.level) or (said.dated and said.shape != self.talker)

    def note_generated(self, at: int, text: str) -> None:
        self.counts["generated"] = self.counts.get("generated", 0) + 1
        self.facts.setdefault("generated_line", text[:WIDTH])

    def close_text(self, text: str) -> None:
        """The model's text is over: what looked like faults in it was data, unless the next line says that the process failed."""
        self.talking = False
        failed = re.search(r"exit(?:ed)?(?: code| status|code)?[ :=(]+-?[1-9]|Traceback|ERROR", text)
        for key in [k for k in self.hits if k[2]]:
            hit = self.hits.pop(key)
            if failed:
                self.hits.setdefault((key[0], key[1], False), replace(hit, suspect=False))

    def move(self, phase: str, at: int, rank: int | None) -> None:
        self.phase = phase
        self.onward[rank] = at

    def record(self, find: Find, said: Peeled, at: int) -> None:
        """Takes note of what a rule found: counts, facts of the run, the phase, and the entry of its rule and class."""
        rule = find.rule
        if rule.counts:
            self.counts[rule.id] = self.counts.get(rule.id, 0) + 1
        if rule.kind is LineWeight.NOISE:
            for key, value in find.facts.items():
                self.facts.setdefault(key, value)
            return
        self.note_run(find, said)
        if rule.phase and not self.talking:
            self.phase = rule.phase
            if rule.onward and rule.kind in (LineWeight.PROGRESS, LineWeight.RESULT) and rule.id != "fail":
                self.onward[said.rank] = at
        place = (rule.id, find.cls if rule.key != "code" else f"{find.cls}:{find.facts.get('code')}", self.talking)
        hit = self.hits.get(place)
        if hit is not None:
            hit.add(find, said, at)
        elif len(self.hits) <= MOST_HITS:
            self.hits[place] = hit = Hit.first_of(find, said, at, self.phase, self.talking)
            if rule.kind >= LineWeight.WAITING:
                self.surround(hit)

    def note_run(self, find: Find, said: Peeled) -> None:
        """What a line of progress says of the whole run: ranks, Python, the longest row of dots, who waits and who compiles."""
        if find.rule.kind is LineWeight.PROGRESS:
            for key in RUN_FACTS & find.facts.keys():
                self.facts.setdefault(key, find.facts[key])
        if find.rule.id == "dots":
            self.dots = max(self.dots, find.window.count("."))
        if find.rule.id in ("rx", "compile-call") and (pid := _PID.search(said.text, 0, 200)):
            pids = self.pids.setdefault(find.rule.id, set())
            if len(pids) < 64:
                pids.add(int(pid[1]))


def understood(rule: Rule, match: re.Match[str] | None, window: str, answer: str) -> Find | None:
    """What a matching rule says of a line, None if on a second look it says nothing: a count that is no shortfall, a question
    without an answer, a code that its table leaves to others."""
    facts = groups(match)
    if rule.key == "less" and not facts.get("matched", 0) < facts.get("of", 0):
        return None
    if rule.key == "idle" and (facts.get("cpu", 0) >= 1 or facts.get("elapsed", "") < "01:00:00"):
        return None
    if rule.asks:
        if not answer.lstrip("-").isdigit():
            return None
        facts[rule.asks] = int(answer)
    cls = rule.cls
    if rule.table:
        value = str(facts.get(rule.key, ""))
        cls = rule.table.get(stem(value) if rule.key == "code" else value, rule.cls)
        if not cls:
            return None
    return Find(rule, cls, facts, match, window)


def deciding(finds: list[Find], said: Peeled) -> list[Find]:
    """Of what the rules found in one line, what counts beside the rest of it."""
    if said.body.startswith("{") and any(find.rule.id == "pass" for find in finds):
        return [
            find for find in finds if find.rule.kind <= LineWeight.RESULT
        ]  # a row with its notes: data, but for its result
    if said.quiet or (len(finds) > 1 and any(unconditional(find.rule) for find in finds)):
        return [find for find in finds if not find.rule.alone]
    return finds


def unconditional(rule: Rule) -> bool:
    """Whether a line of this rule says by itself what went wrong."""
    return rule.kind >= LineWeight.WARNING and not (rule.alone or rule.phases or rule.near)
