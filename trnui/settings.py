"""Settings as data: one entry each with its type, default and help. Read from TOML, environment and flags; written atomically."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, TypeVar

from trnui_runner.common.files import config_dir, private_dir, write_atomic

DATASET: Final = "aws-neuron/torch-neuronx-model-support"
Value = str | bool | float
Default = TypeVar("Default", str, bool, float)


@dataclass(frozen=True)
class Setting:
    """What a field of `Settings` says of itself; `choices` for a word out of several."""

    name: str
    kind: type
    default: Value
    help: str
    choices: tuple[str, ...] = ()


def _setting(default: Default, help: str, choices: tuple[str, ...] = ()) -> Default:
    """A field of `Settings` with the words of the documented file."""
    return field(default=default, metadata={"help": help, "choices": choices})


@dataclass(frozen=True)
class Settings:
    """The settings by name; where each came from; and what was wrong (shown, never raised: defaults stand in)."""

    dataset: str = _setting(DATASET, "Hub id, folder, Parquet file, or sample")
    python: str = _setting(
        "", "interpreter that runs the models; empty: the environment that has torch_neuronx, else this one"
    )
    hub_token: bool = _setting(
        False, "send the Hub token at hand (HF_TOKEN or the stored one) to the Hub in use and to runs"
    )
    hub_timeout_s: float = _setting(
        5.0, "seconds without an answer or a byte after which a request to the Hub is given up"
    )
    refresh_hours: float = _setting(
        6.0, "age of the snapshot after which the app refreshes it in the background; 0: never"
    )
    timeout_s: float = _setting(7200.0, "a run is ended after this many seconds; 0: never")
    silence_s: float = _setting(
        900.0, "a run that shows no sign of life for so long, with no compiler busy, is said to be silent"
    )
    grace_s: float = _setting(10.0, "seconds between asking a run to end and ending it")
    move_sharded: bool = _setting(
        True,
        "published sharded scripts run on whichever aligned cores are free; off: on cores 0 to n-1, one after the other",
    )
    judge: str = _setting("", "checkpoint (Hub id or folder) that judges English; empty: the runner's default")
    neff_cache: str = _setting(
        "", "folder of the NEFF caches, one sub-folder for each neuronx-cc version; empty: the user's cache"
    )
    neff_bucket: str = _setting("", "bucket with compiled graphs, as owner/name; empty: what the dataset names")
    neuron_index: str = _setting(
        "https://pip.repos.neuron.amazonaws.com", "package repository named in install commands"
    )
    price_per_hour: float = _setting(
        0.0,
        "US dollars for an hour of this host, for a batch's cost, or of the one named with --host; 0: the list price of its instance type, if one is known",
    )
    theme: str = _setting("trnui-dark", "trnui-dark, trnui-light, ansi-dark, ansi-light or any theme of Textual")
    mouse: str = _setting("auto", "auto: off over SSH", ("auto", "on", "off"))
    ascii: str = _setting("auto", "auto: on when the terminal's encoding is not UTF-8", ("auto", "on", "off"))
    clipboard: str = _setting("auto", "how text is copied", ("auto", "osc52", "tmux", "off"))
    run_ended: str = _setting(
        "off",
        "what the app sends to the terminal, besides its line, when a run ends: a bell, or a notification (OSC 9 or OSC 777)",
        ("off", "bell", "osc9", "osc777"),
    )
    spreadsheet_safe: bool = _setting(
        False, "exported csv and tsv guard cells that a spreadsheet would run as a formula"
    )
    keys: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    key_lines: Mapping[str, str] = field(default_factory=dict)  # action id → file and line of its [keys]
    origins: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def value(self, setting: Setting) -> Value:
        """For those that go through all of them (`trnui config`)."""
        found: Value = getattr(self, setting.name)
        return found


SETTINGS: Final = tuple(
    Setting(f.name, type(f.default), f.default, f.metadata["help"], f.metadata["choices"])
    for f in fields(Settings)
    if isinstance(f.default, str | bool | float)
)
TABLES: Final = {
    "keys": "action id = key, or several separated by commas; empty removes",
    "columns": "canonical column = name in the files",
}


def path() -> Path:
    return Path(os.environ.get("TRNUI_CONFIG") or config_dir() / "config.toml")


def load(flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] = os.environ) -> Settings:
    """Flag > TRNUI_<NAME> > file > default. A bad file or value becomes a problem that names file, key and nearest valid key."""
    values: dict[str, Any] = {s.name: s.default for s in SETTINGS}
    origins = dict.fromkeys(values, "default")
    problems: list[str] = []
    file = path()
    found, text = _read(file, problems)
    by_name = {s.name: s for s in SETTINGS}
    for name, value in found.items():
        if name in TABLES:
            continue
        setting = by_name.get(name)
        if setting is None:
            import difflib

            near = difflib.get_close_matches(name, [*by_name, *TABLES], 1)
            where = f"{file}{_line(text, '', name)}"
            problems.append(f"{where}: unknown key {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
            continue
        _take(setting, value, str(file), values, origins, problems, _line(text, "", name))
    for setting in SETTINGS:
        variable = f"TRNUI_{setting.name.upper()}"
        if variable in environ:
            _take(setting, _parsed(setting, environ[variable]), variable, values, origins, problems)
        flag = (flags or {}).get(setting.name)
        if flag is not None:
            values[setting.name], origins[setting.name] = flag, "command line"
    keys, columns = (_table(found.get(name), name, file, text, problems) for name in TABLES)
    lines = {name: f"{file}{_line(text, 'keys', name)}" for name in keys}
    return Settings(**values, keys=keys, columns=columns, key_lines=lines, origins=origins, problems=tuple(problems))


def _read(file: Path, problems: list[str]) -> tuple[dict[str, Any], str]:
    """(values, the text they were read from); nothing, with the reason among the problems, when it cannot be read."""
    if not file.exists():
        return {}, ""
    import tomllib

    try:
        owner = file.stat().st_uid
        if owner not in (os.getuid(), 0):
            problems.append(f"{file}: belongs to another user (uid {owner}); the defaults are used")
            return {}, ""
        text = file.read_text(encoding="utf-8")
        return tomllib.loads(text), text
    except FileNotFoundError:
        return {}, ""
    except (OSError, UnicodeDecodeError) as error:
        problems.append(f"{file}: cannot be read ({error}); the defaults are used")
    except tomllib.TOMLDecodeError as error:
        problems.append(f"{file}: {error}; the defaults are used")
    return {}, ""


def _line(text: str, table: str, key: str) -> str:
    """`:12`, the line that sets `key` in `[table]` ("" for the top of the file); nothing when it is not found."""
    here = ""
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[([^\[\]]+)\]", line)
        if header:
            here = header[1].strip()
        elif here == table and re.match(rf"""\s*(["']?){re.escape(key)}\1\s*=""", line):
            return f":{number}"
    return ""


def _parsed(setting: Setting, text: str) -> Any:
    if setting.kind is bool:
        return {
            "1": True,
            "true": True,
            "yes": True,
            "on": True,
            "0": False,
            "false": False,
            "no": False,
            "off": False,
        }.get(text.lower(), text)
    if setting.kind is float:
        try:
            return float(text)
        except ValueError:
            return text
    return text


def _take(
    setting: Setting,
    value: Any,
    origin: str,
    values: dict[str, Any],
    origins: dict[str, str],
    problems: list[str],
    line: str = "",
) -> None:
    if setting.kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    words = {str: "text", bool: "true or false", float: "a number"}[setting.kind]
    if not isinstance(value, setting.kind):
        problems.append(f"{origin}{line}: {setting.name} takes {words}, not {value!r}; {setting.default!r} is used")
    elif setting.choices and value not in setting.choices:
        problems.append(
            f"{origin}{line}: {setting.name} takes {', '.join(setting.choices)}, not {value!r}; {setting.default!r} is used"
        )
    else:
        values[setting.name], origins[setting.name] = value, origin


def _table(value: Any, name: str, file: Path, text: str, problems: list[str]) -> dict[str, str]:
    """The table's lines; one that is of no use is named with its line and left out, the others count."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        problems.append(f"{file}{_line(text, '', name)}: {name} is a table: [{name}], then lines {TABLES[name]}")
        return {}
    kept: dict[str, str] = {}
    for key, found in _flat(value):
        if isinstance(found, str):
            kept[key] = found
        else:
            problems.append(
                f"{file}{_line(text, name, key)}: [{name}] {key} takes text in quotes, not {toml(found)}; it is left out"
            )
    return kept


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """`list.run = "x"` without quotes around the id is a table in a table in TOML; here it is the id that was meant."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def template() -> str:
    """The documented settings file with every default, as comments."""
    lines = ["# trnui settings. Remove the # before a line to change it."]
    for s in SETTINGS:
        lines += [
            "",
            f"# {s.help}" + (f" ({', '.join(s.choices)})" if s.choices else ""),
            f"# {s.name} = {toml(s.default)}",
        ]
    for name, words in TABLES.items():
        lines += ["", f"# {words}", f"# [{name}]"]
    return "\n".join(lines) + "\n"


def toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def write_template() -> Path:
    """Writes the documented file if there is none. Raises OSError."""
    file = path()
    if not file.exists():
        private_dir(file.parent)
        write_atomic(file, template())
    return file
