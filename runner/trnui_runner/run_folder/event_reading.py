"""A line of events becomes an `Event`. Scripts may write anything there: every value is taken by its type and cleaned, an absent
or odd one that nothing depends on is None, and an event without what makes it one is an `OtherEvent`."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Literal, TypeVar

from trnui_runner.common.text import Safe, clean, one_line
from trnui_runner.run_folder.events import (
    NONE,
    Body,
    CheckEvent,
    CompileEvent,
    CompilersEvent,
    CoresEvent,
    DiagnosisEvent,
    DiskEvent,
    DownloadEvent,
    DynamoEvent,
    EnvironmentEvent,
    ErrorEvent,
    Event,
    ExitEvent,
    ForwardEvent,
    GenerateEnd,
    GenerateStart,
    GroupEvent,
    LoadedEvent,
    LockEnd,
    LockStart,
    MemoryEvent,
    NeffEvent,
    NoticeEvent,
    OtherEvent,
    ProcessEvent,
    ResultEvent,
    StageEvent,
    StepEnd,
    StepStart,
    TokenEvent,
    WarmEvent,
)
from trnui_runner.run_folder.fields import Damaged, cleaned
from trnui_runner.run_folder.outcome import KINDS, OUTCOMES, STAGES, VERDICTS
from trnui_runner.run_folder.progress_types import number, whole

Given = Mapping[str, Any]
Word = TypeVar("Word", bound=str)
STACK: Final = ("python", "torch", "torch_neuronx", "transformers")  # packages that a process tells the versions of
_OF_A_PROCESS: Final = frozenset(("process", "group", "dynamo", "compile"))
_STATES: Final[tuple[Literal["start", "end", "failed"], ...]] = ("start", "end", "failed")
_NEFF: Final[tuple[Literal["hit", "miss", "new"], ...]] = ("hit", "miss", "new")
_WRONG: Final = (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError)


def read_event(line: bytes) -> Event | None:
    """None for a line that is no JSON object with an event's name."""
    try:
        raw = json.loads(str(line, "utf-8", "surrogatepass"))  # bytes would have their encoding guessed
    except (ValueError, RecursionError):
        return None
    return event_of(raw) if isinstance(raw, dict) and isinstance(raw.get("event"), str) else None


def event_of(raw: Given) -> Event:
    """The typed event of a line's object. Never raises."""
    get = raw.get
    told, pid, rank = get("event"), get("pid"), get("rank")
    name = told if isinstance(told, str) else ""
    pid = pid if type(pid) is int else whole(pid)
    reader = _READERS.get(name)
    body: Body
    try:
        body = OtherEvent(one_line(name, 40)) if reader is None else reader(raw)
        if pid is None and name in _OF_A_PROCESS:
            raise ValueError("pid")
    except _WRONG:
        body = OtherEvent(one_line(name, 40), wrong=True)
    return Event(body, number(get("s")), pid, rank if type(rank) is int else whole(rank), raw)


def _text(raw: Given, key: str) -> Safe | None:
    value = raw.get(key)
    return clean(value) if isinstance(value, str) else None


def _line(raw: Given, key: str) -> Safe:
    """Of whatever it is, for names; empty where there is none."""
    value = raw.get(key)
    return NONE if value is None else clean(value) if isinstance(value, str) else one_line(value)


def _named(raw: Given, key: str) -> Safe:
    """Raises ValueError where there is none."""
    value = raw[key]
    if not isinstance(value, str | int):
        raise ValueError(key)
    return clean(value)


def _word(raw: Given, key: str, known: Collection[Word]) -> Word | None:
    value = raw.get(key)
    return next((word for word in known if word == value), None)


def _count(raw: Given, key: str) -> int:
    """Raises ValueError where there is none."""
    value = whole(raw[key])
    if value is None:
        raise ValueError(key)
    return value


def _object(raw: Given, key: str) -> dict[str, Any] | None:
    value = raw.get(key)
    try:
        return cleaned(value) if isinstance(value, dict) else None
    except Damaged as error:
        raise ValueError(key) from error


def _numbers(raw: Given, key: str) -> tuple[int, ...] | None:
    """Raises ValueError for a list with anything else in it."""
    value = raw.get(key)
    if not isinstance(value, list):
        return None
    if not all(isinstance(v, int) for v in value):
        raise ValueError(key)
    return tuple(value)


def _fault(raw: Given) -> ErrorEvent:
    text = raw.get("text") or raw.get("message")
    return ErrorEvent(_line(raw, "class"), Safe("") if text is None else clean(text), _line(raw, "where"))


def _failed(raw: Given) -> ErrorEvent | None:
    return _fault(raw) if raw.get("state") == "failed" else None


def _step(raw: Given) -> Body:
    if raw["state"] == "start":
        return StepStart(_line(raw, "name"), _word(raw, "stage", STAGES), whole(raw.get("child")))
    return StepEnd(_named(raw, "name"), whole(raw.get("code")), number(raw.get("cpu_s")), _numbers(raw, "left") or ())


def _environment(raw: Given) -> Body:
    values = _object(raw, "values")
    if values is None:
        raise ValueError("values")
    return EnvironmentEvent(_line(raw, "step"), values)


def _process(raw: Given) -> Body:
    return ProcessEvent({name: text for name in STACK if (text := _text(raw, name)) is not None})


def _group(raw: Given) -> Body:
    return GroupEvent(whole(raw.get("world_size")), _text(raw, "backend"), _line(raw, "state"), _failed(raw))


def _loaded(raw: Given) -> Body:
    return LoadedEvent(_text(raw, "model_class"), whole(raw.get("bytes")), number(raw.get("seconds")), _failed(raw))


def _dynamo(raw: Given) -> Body:
    return DynamoEvent(raw["state"] == "start", number(raw.get("seconds")))


def _compile(raw: Given) -> Body:
    state = _word(raw, "state", _STATES)
    if state is None:
        raise ValueError("state")
    return CompileEvent(
        state,
        _text(raw, "graph"),
        _text(raw, "name"),
        whole(raw.get("nodes")),
        _text(raw, "backend"),
        number(raw.get("seconds")),
        _failed(raw),
    )


def _compilers(raw: Given) -> Body:
    oldest, spent, share = number(raw.get("oldest_s")), number(raw.get("cpu_s")), number(raw.get("cpu"))
    return CompilersEvent(_count(raw, "alive"), oldest, spent, share)


def _neff(raw: Given) -> Body:
    kind = _word(raw, "kind", _NEFF) or _word(raw, "state", _NEFF)
    counts = (whole(raw.get(key)) for key in ("n", "hits", "misses", "new"))
    return NeffEvent(kind, _text(raw, "key"), *counts)


def _lock(raw: Given) -> Body:
    key = _named(raw, "key")
    if raw.get("state") == "end":
        return LockEnd(key)
    command, age = _text(raw, "holder_command"), number(raw.get("age_s"))
    return LockStart(key, whole(raw.get("holder")), _numbers(raw, "waiting") or (), command, age)


def _generate(raw: Given) -> Body:
    n, device = whole(raw.get("n")), _line(raw, "device")
    if raw["state"] == "start":
        return GenerateStart(n, device, whole(raw.get("prompt_tokens")), whole(raw.get("prefill_chunk")))
    return GenerateEnd(
        n,
        device,
        number(raw.get("seconds")),
        number(raw.get("first_s")),
        number(raw.get("median_s")),
        whole(raw.get("forwards")),
        _numbers(raw, "new_ids"),
        _text(raw, "text"),
        whole(raw.get("graphs")),
        _failed(raw),
    )


def _token(raw: Given) -> Body:
    return TokenEvent(whole(raw.get("n")), _line(raw, "text"))


def _forward(raw: Given) -> Body:
    return ForwardEvent(_count(raw, "n"))


def _warm(raw: Given) -> Body:
    same = raw.get("same_tokens")
    tokens, graphs = whole(raw.get("tokens")), whole(raw.get("new_graphs"))
    return WarmEvent(number(raw.get("seconds")), tokens, graphs, same if isinstance(same, bool) else None)


def _memory(raw: Given) -> Body:
    parts, process = raw.get("parts"), raw.get("process")
    return MemoryEvent(
        _line(raw, "source"),
        whole(raw.get("now")),
        whole(raw.get("peak")),
        whole(raw.get("capacity")),
        _text(raw, "scope"),
        whole(raw.get("core")),
        whole(process),
        _text(raw, "name"),
        {clean(k): v for k, v in parts.items() if isinstance(v, int)} if isinstance(parts, dict) else None,
        number(raw.get("busy")),
    )


def _download(raw: Given) -> Body:
    blob, state = _text(raw, "blob"), _word(raw, "state", _STATES)
    return DownloadEvent(_named(raw, "file"), blob, state, whole(raw.get("done")), whole(raw.get("total")))


def _check(raw: Given) -> Body:
    return CheckEvent(
        _word(raw, "outcome", OUTCOMES),
        _line(raw, "reason"),
        _word(raw, "kind", KINDS),
        _object(raw, "tokens"),
        _object(raw, "judge"),
        _object(raw, "stack") or {},
    )


def _result(raw: Given) -> Body:
    outcome = _word(raw, "outcome", OUTCOMES)
    if outcome is None:
        raise ValueError("outcome")
    kind, verdict = _word(raw, "kind", KINDS), _word(raw, "verdict", VERDICTS)
    spent = number(raw.get("watch_cpu_s"))
    return ResultEvent(outcome, kind, _line(raw, "device"), verdict, _line(raw, "reason"), spent)


_READERS: Final[dict[str, Callable[[Given], Body]]] = {
    "stage": lambda raw: StageEvent(_word({"name": raw["name"]}, "name", STAGES)),
    "step": _step,
    "environment": _environment,
    "cores": lambda raw: CoresEvent(_numbers(raw, "ids") or (), _line(raw, "visible")),
    "process": _process,
    "group": _group,
    "loaded": _loaded,
    "dynamo": _dynamo,
    "compile": _compile,
    "compilers": _compilers,
    "neff": _neff,
    "lock": _lock,
    "generate": _generate,
    "token": _token,
    "forward": _forward,
    "warm": _warm,
    "memory": _memory,
    "download": _download,
    "disk": lambda raw: DiskEvent(_named(raw, "place"), _count(raw, "free"), whole(raw.get("capacity"))),
    "notice": lambda raw: NoticeEvent(_line(raw, "text"), _text(raw, "kind")),
    "error": _fault,
    "exit": lambda raw: ExitEvent(whole(raw.get("code"))),
    "check": _check,
    "diagnosis": lambda raw: DiagnosisEvent(*(_line(raw, key) for key in ("class", "severity", "summary", "hint"))),
    "result": _result,
}
