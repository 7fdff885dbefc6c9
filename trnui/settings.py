"""Settings as data: one entry each with its type, default and help. Read from TOML, environment and flags; written atomically."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from trnui_runner.common.files import config_dir, private_dir, write_atomic

DATASET: Final = "aws-neuron/torch-neuronx-model-support"


@dataclass(frozen=True)
class Setting:
    """`choices` for a word out of several; a default of None means "not set"."""

    name: str
    kind: type
    default: Any
    help: str
    choices: tuple[str, ...] = ()


SETTINGS: Final = (
    Setting("dataset", str, DATASET, "Hub id, folder, Parquet file, or sample"),
    Setting(
        "python",
        str,
        "",
        "interpreter that runs the models; empty: the environment that has torch_neuronx, else this one",
    ),
    Setting(
        "hub_token",
        bool,
        False,
        "send the Hub token at hand (HF_TOKEN or the stored one) to the Hub in use and to runs",
    ),
    Setting(
        "hub_timeout_s", float, 5.0, "seconds without an answer or a byte after which a request to the Hub is given up"
    ),
    Setting(
        "refresh_hours", float, 6.0, "age of the snapshot after which the app refreshes it in the background; 0: never"
    ),
    Setting("timeout_s", float, 7200.0, "a run is ended after this many seconds; 0: never"),
    Setting(
        "silence_s",
        float,
        900.0,
        "a run that shows no sign of life for so long, with no compiler busy, is said to be silent",
    ),
    Setting("grace_s", float, 10.0, "seconds between asking a run to end and ending it"),
    Setting(
        "move_sharded",
        bool,
        True,
        "published sharded scripts run on whichever aligned cores are free; off: on cores 0 to n-1, one after the other",
    ),
    Setting("judge", str, "", "checkpoint (Hub id or folder) that judges English; empty: the runner's default"),
    Setting(
        "neff_cache",
        str,
        "",
        "folder of the NEFF caches, one sub-folder for each neuronx-cc version; empty: the user's cache",
    ),
    Setting("neff_bucket", str, "", "bucket with compiled graphs, as owner/name; empty: what the dataset names"),
    Setting(
        "neuron_index", str, "https://pip.repos.neuron.amazonaws.com", "package repository named in install commands"
    ),
    Setting(
        "price_per_hour",
        float,
        0.0,
        "US dollars for an hour of this host, for a batch's cost, or of the one named with --host; 0: the list price of its "
        "instance type, if one is known",
    ),
    Setting("theme", str, "trnui-dark", "trnui-dark, trnui-light, ansi-dark, ansi-light or any theme of Textual"),
    Setting("mouse", str, "auto", "auto: off over SSH", ("auto", "on", "off")),
    Setting("ascii", str, "auto", "auto: on when the terminal's encoding is not UTF-8", ("auto", "on", "off")),
    Setting("clipboard", str, "auto", "how text is copied", ("auto", "osc52", "tmux", "off")),
    Setting(
        "spreadsheet_safe", bool, False, "exported csv and tsv guard cells that a spreadsheet would run as a formula"
    ),
)
TABLES: Final = {
    "keys": "action id = key, or several separated by commas; empty removes",
    "columns": "canonical column = name in the files",
}


@dataclass(frozen=True)
class Settings:
    """Values by name, where each came from, and what was wrong (shown, never raised: defaults stand in)."""

    values: Mapping[str, Any]
    origins: Mapping[str, str]
    keys: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


def path() -> Path:
    return Path(os.environ.get("TRNUI_CONFIG") or config_dir() / "config.toml")


def load(flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] = os.environ) -> Settings:
    """Flag > TRNUI_<NAME> > file > default. A bad file or value becomes a problem that names file, key and nearest valid key."""
    values: dict[str, Any] = {s.name: s.default for s in SETTINGS}
    origins = dict.fromkeys(values, "default")
    problems: list[str] = []
    file = path()
    found = _read(file, problems)
    by_name = {s.name: s for s in SETTINGS}
    for name, value in found.items():
        if name in TABLES:
            continue
        setting = by_name.get(name)
        if setting is None:
            import difflib

            near = difflib.get_close_matches(name, [*by_name, *TABLES], 1)
            problems.append(f"{file}: unknown key {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
            continue
        _take(setting, value, str(file), values, origins, problems)
    for setting in SETTINGS:
        variable = f"TRNUI_{setting.name.upper()}"
        if variable in environ:
            _take(setting, _parsed(setting, environ[variable]), variable, values, origins, problems)
        flag = (flags or {}).get(setting.name)
        if flag is not None:
            values[setting.name], origins[setting.name] = flag, "command line"
    tables = {name: _table(found.get(name), name, file, problems) for name in TABLES}
    return Settings(values, origins, tables["keys"], tables["columns"], tuple(problems))


def _read(file: Path, problems: list[str]) -> dict[str, Any]:
    if not file.exists():
        return {}
    import tomllib

    try:
        owner = file.stat().st_uid
        if owner not in (os.getuid(), 0):
            problems.append(f"{file}: belongs to another user (uid {owner}); the defaults are used")
            return {}
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        problems.append(f"{file}: cannot be read ({error}); the defaults are used")
    except tomllib.TOMLDecodeError as error:
        problems.append(f"{file}: {error}; the defaults are used")
    return {}


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
    setting: Setting, value: Any, origin: str, values: dict[str, Any], origins: dict[str, str], problems: list[str]
) -> None:
    if setting.kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    words = {str: "text", bool: "true or false", float: "a number"}[setting.kind]
    if not isinstance(value, setting.kind):
        problems.append(f"{origin}: {setting.name} takes {words}, not {value!r}; {setting.default!r} is used")
    elif setting.choices and value not in setting.choices:
        problems.append(
            f"{origin}: {setting.name} takes {', '.join(setting.choices)}, not {value!r}; {setting.default!r} is used"
        )
    else:
        values[setting.name], origins[setting.name] = value, origin


def _table(value: Any, name: str, file: Path, problems: list[str]) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
        problems.append(f"{file}: [{name}] takes lines of the form {TABLES[name]}; it is left out")
        return {}
    return {str(k): v for k, v in value.items()}


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
