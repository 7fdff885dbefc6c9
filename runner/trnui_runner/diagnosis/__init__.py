"""What an error means and what to do next: from the text of a run, a log, a row's error or a live stream to a class, a summary, a
hint, evidence and facts. Rules are data (rules/), the engine is a pure function of text and `Facts`."""

from __future__ import annotations

from trnui_runner.diagnosis.dataset_row import diagnose_row
from trnui_runner.diagnosis.engine import Stream, advise, diagnose
from trnui_runner.diagnosis.model import CLASSES, Answer, Diagnosis, Facts, Holder

__all__ = ["CLASSES", "Answer", "Diagnosis", "Facts", "Holder", "Stream", "advise", "diagnose", "diagnose_row"]
