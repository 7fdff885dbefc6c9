"""Every class has a title of its own."""

from __future__ import annotations

from trnui_runner.diagnosis.model import CLASSES
from trnui_runner.diagnosis.titles import TITLES, title


def test_every_class_has_a_title_of_its_own() -> None:
    assert set(TITLES) == set(CLASSES)
    assert len(set(TITLES.values())) == len(TITLES)
    assert all("_" not in words for words in TITLES.values())
    assert (title("hbm_oom"), title("new_class")) == ("device memory full", "new class")
