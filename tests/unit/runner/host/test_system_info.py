"""The host in a report: what can be read, never what cannot, and no maker's product name but EC2's."""

from __future__ import annotations

from pathlib import Path

import pytest

from trnui_runner import __version__
from trnui_runner.host.system_info import machine, machine_words


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRNUI_HOST_ROOT", str(tmp_path))
    for name, words in (
        ("etc/os-release", 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 24.04.3 LTS"\n'),
        ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some\x1b[1m CPU\nmodel name\t: other\n"),
        ("sys/devices/virtual/dmi/id/sys_vendor", "Amazon EC2\n"),
        ("sys/devices/virtual/dmi/id/product_name", "trn2.3xlarge\n"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(words)
    return tmp_path


def test_host_in_words(root: Path) -> None:
    words = dict(machine_words(machine()))
    assert words["trnui"] == __version__
    assert words["operating system"].startswith("Ubuntu 24.04.3 LTS, Linux")
    assert words["processor"].endswith(" × Some CPU")
    assert words["instance"] == "trn2.3xlarge"
    assert dict(machine_words(machine("trn2.48xlarge")))["instance"] == "trn2.48xlarge"


def test_another_makers_name_is_left_out(root: Path) -> None:
    (root / "sys/devices/virtual/dmi/id/sys_vendor").write_text("Acme\n")
    assert machine()["instance"] is None
    assert "instance" not in dict(machine_words(machine()))


def test_nothing_to_read_and_a_damaged_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRNUI_HOST_ROOT", str(tmp_path / "none"))
    assert machine()["os"] is None
    assert machine_words({"memory": "much", "os": 7, "cpu": None}) == [("operating system", "7")]
