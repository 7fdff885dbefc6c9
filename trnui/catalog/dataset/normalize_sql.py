"""SQL that folds a file's own words into status, kind, device, task and parallelism, once, while a row is loaded.

Each constant is an expression over the canonical columns. A word that is none of the known ones stays visible as OTHER;
it is never taken for a failure, and marks such as `PASS (CPU)` count as PASS only where the device stands beside them.
"""

from __future__ import annotations

from typing import Final

from trnui_runner.common.dataset_schema import PICTURE_CLASSES

PASSED: Final = ("pass", "passed", "passing", "success", "succeeded", "ok", "true")
FAILED: Final = (
    "fail", "failed", "failing", "failure", "error", "errors", "false", "fail_to_run", "model_fail_to_load", "fail_accuracy",
    "incorrect_result", "mismatch", "failed_fe_compilation", "failed_ttmlir_compilation", "failed_runtime", "oom", "timeout",
)  # fmt: skip
LEFT_OUT: Final = ("skip", "skipped", "excluded", "not_supported_skip", "unsupported", "pass_due_to_skip")
NOT_RUN: Final = (
    "untested",
    "not tested",
    "not_tested",
    "not_started",
    "not started",
    "unknown",
    "none",
    "null",
    "nan",
    "n/a",
    "-",
    "–",
)
# Tasks of the Hub that a `runner` may name.
TASK_NAMES: Final = (
    "image-text-to-text", "text-to-image", "text-to-video", "image-text-to-video", "image-to-text", "image-to-image",
    "image-to-video", "video-text-to-text", "audio-text-to-text", "visual-question-answering", "document-question-answering",
    "text-to-speech", "text-to-audio", "automatic-speech-recognition", "audio-classification", "audio-to-audio",
    "sentence-similarity", "feature-extraction", "image-feature-extraction", "text-ranking", "zero-shot-image-classification",
    "zero-shot-object-detection", "zero-shot-classification", "text-classification", "token-classification",
    "table-question-answering", "question-answering", "image-classification", "video-classification", "image-segmentation",
    "object-detection", "depth-estimation", "keypoint-detection", "mask-generation", "fill-mask", "text2text-generation",
    "text-generation", "summarization", "translation", "any-to-any", "time-series-forecasting", "other",
)  # fmt: skip
# What the class that a script loads says about its task.
TASK_OF_CLASS: Final[dict[str, str]] = {
    "AutoModelForCausalLM": "text-generation",
    **dict.fromkeys(PICTURE_CLASSES, "image-text-to-text"),
    "AutoModelForSeq2SeqLM": "text2text-generation",
    "AutoModelForMaskedLM": "fill-mask",
    "AutoModelForSequenceClassification": "text-classification",
    "AutoModelForTokenClassification": "token-classification",
    "AutoModelForQuestionAnswering": "question-answering",
    "AutoModelForSpeechSeq2Seq": "automatic-speech-recognition",
    "AutoModelForCTC": "automatic-speech-recognition",
    "AutoModelForImageClassification": "image-classification",
    "DiffusionPipeline": "text-to-image",
    "SentenceTransformer": "sentence-similarity",
}
_SYNONYMS: Final = {"text": "text-generation", "multimodal": "image-text-to-text", "causal-lm": "text-generation"}
OWN_MARK: Final = r"^(PASS|FAIL) \((CPU|stand-in)\)$"

ENUMS: Final[dict[str, tuple[str, ...]]] = {
    "status": ("PASS", "FAIL", "OTHER", "UNTESTED", "EXCLUDED"),  # the order in which they sort
    "kind": ("cpu-match", "english"),
    "device": ("neuron", "cpu", "stand-in"),
    "parallelism": ("none", "tp", "ep"),
    "task": TASK_NAMES,
}


def _list(words: tuple[str, ...]) -> str:
    return "(" + ", ".join("'" + w.replace("'", "''") + "'" for w in words) + ")"


def lowered(sql: str) -> str:
    """A text in lower case as Python has it: DuckDB's own makes one letter of İ, and a search for it would find every i."""
    return f"lower(replace({sql}, 'İ', 'i̇'))"


def _checked(column: str) -> str:
    """Whether this check is what a PASS stands on: the column says something, and does not say no."""
    return f"coalesce(lower({column}), '') NOT IN ('', 'false', 'no', '0')"


# Blanks of every kind, marks such as ✅ before or after, and a full stop are no part of the word.
_WORD = r"regexp_replace(regexp_replace(regexp_replace(lower(result), '^[^a-z0-9–-]+', ''), '[\s\x{a0}.!✅✔✓☑\x{fe0f}❌✗✘]+$', ''), '\s+', ' ', 'g')"
_FOLDED = (
    f"CASE WHEN {_WORD} IN {_list(PASSED)} THEN 'PASS' WHEN {_WORD} IN {_list(FAILED)} THEN 'FAIL' "
    rf"WHEN {_WORD} IN {_list(LEFT_OUT)} THEN 'EXCLUDED' WHEN {_WORD} IN {_list(NOT_RUN)} OR regexp_matches(result, '^[\s\x{{a0}}]*$') THEN 'UNTESTED' ELSE 'OTHER' END"
)
_LEFT_OUT = "exclusion IS NOT NULL AND trim(exclusion) <> ''"
STATUS: Final = (
    f"CASE WHEN {_LEFT_OUT} THEN 'EXCLUDED' WHEN result IN ('PASS', 'FAIL') THEN result "
    f"WHEN coalesce(result, '') = '' THEN 'UNTESTED' ELSE {_FOLDED} END"
)
"""Status for anyone who knows only the dataset's columns: `PASS (CPU)` is OTHER."""
OWN_STATUS: Final = (
    f"CASE WHEN {_LEFT_OUT} THEN 'EXCLUDED' WHEN result IN ('PASS (CPU)', 'PASS (stand-in)') THEN 'PASS' "
    f"WHEN result IN ('FAIL (CPU)', 'FAIL (stand-in)') THEN 'FAIL' ELSE {STATUS} END"
)
"""Status inside the sample and the view of own runs, where the device stands beside the word."""
KIND: Final = (
    f"CASE WHEN status <> 'PASS' THEN NULL WHEN {_checked('english')} AND (NOT {_checked('cpu_match')} OR tp > 1) THEN 'english' "
    f"WHEN {_checked('cpu_match')} THEN 'cpu-match' END"
)
"""What a PASS was checked by, as its row says it; NULL where the row does not. Needs `status`."""
DEVICE: Final = (
    "CASE WHEN runner = 'trnui/cpu' OR ends_with(result, '(CPU)') THEN 'cpu' "
    "WHEN runner = 'trnui/stand-in' OR ends_with(result, '(stand-in)') THEN 'stand-in' "
    "WHEN status NOT IN ('EXCLUDED', 'UNTESTED') THEN 'neuron' END"
)
"""Where a row's result was seen; NULL for a row without one. Needs `status`."""
_RUNNER_TASK = f"nullif(regexp_extract(replace(lower(runner), '_', '-'), '{'|'.join(sorted(TASK_NAMES, key=len, reverse=True))}'), '')"
TASK: Final = (
    f"coalesce(CASE WHEN runner IN {_list(TASK_NAMES)} THEN runner ELSE {_RUNNER_TASK} END, "
    + "CASE lower(task) "
    + " ".join(f"WHEN '{word}' THEN '{task}'" for word, task in _SYNONYMS.items())
    + " WHEN '' THEN NULL ELSE lower(task) END)"
)
"""The task that `runner`, or a column of its own, names; scripts.py asks the script where neither does."""
PARALLELISM: Final = (
    f"CASE WHEN tp = 1 THEN 'none' WHEN parallelism IS NULL AND runner IN {_list(TASK_NAMES)} THEN NULL WHEN tp > 1 THEN CASE "
    r"WHEN regexp_matches(lower(concat_ws(' ', parallelism, runner)), '\b(ep|expert[-_ ]?parallel\w*)\b') THEN 'ep' "
    r"WHEN regexp_matches(lower(concat_ws(' ', parallelism, runner)), '\b(tp|tensor[-_ ]?parallel\w*)\b') THEN 'tp' END END"
)
"""How a model was sharded, where the row says it; NULL is unknown."""
