"""What an error means and what to do next: from the text of a run, a log, a row's error or a live stream to a class, a summary, a
hint, evidence and facts. Rules are data (rules/), the engine is a pure function of text and `Facts`."""

from __future__ import annotations

from trnui_runner.diagnosis.dataset_row import diagnose_row
from trnui_runner.diagnosis.engine import Stream, advise, diagnose
from trnui_runner.diagnosis.model import CLASSES, Diagnosis, Facts, Holder, LiveStatus

__all__ = ["CLASSES", "Diagnosis", "Facts", "Holder", "LiveStatus", "Stream", "advise", "diagnose", "diagnose_row"]
