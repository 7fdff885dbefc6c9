"""The parts of a fetch besides the dataset: rankings, the inference catalog, an organisation's or a collection's models, one model.
Each says how it ended, and none stops the others."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from trnui.catalog.dataset import snapshot
from trnui.catalog.hub import hub_errors
from trnui.catalog.hub.fetch_pulse import Pulse, failed
from trnui.catalog.hub.hub_errors import HubError
from trnui_runner.common.text import one_line

if TYPE_CHECKING:
    from huggingface_hub import HfApi


def rankings_of(tasks: tuple[str, ...], api: HfApi | None, pulse: Pulse, error: HubError | None) -> None:
    from trnui.catalog.dataset import rankings

    if api is None or (error is not None and error.kind in hub_errors.SAME_FOR_ALL):
        pulse.say("rankings", **failed(error or hub_errors.offline()))
        return
    told = []
    for task in tasks:
        pulse.at = f"asking for the rankings of {task}"
        try:
            told.append(f"{task} {rankings.fetch(api, task, pulse.beat)}")
        except Exception as failure:  # noqa: BLE001  # the library raises many kinds: each is put into words
            found = hub_errors.from_exception(failure, snapshot.endpoint(), f"the rankings of {task}")
            pulse.say("rankings", **failed(found))
            return
    pulse.say("rankings", state="new", words=", ".join(told))


def recipes(api: HfApi | None, pulse: Pulse, error: HubError | None) -> None:
    from trnui.catalog.hub import inference_catalog

    pulse.at = "asking for the inference catalog"
    try:
        if api is None or (error is not None and error.kind in hub_errors.SAME_FOR_ALL):
            raise error or hub_errors.offline()
        pulse.say("recipes", state="new", words=inference_catalog.fetch(api, pulse.beat))
    except Exception as failure:  # noqa: BLE001  # the library raises many kinds: each is put into words
        pulse.say("recipes", **failed(hub_errors.from_exception(failure, snapshot.endpoint(), "the inference catalog")))


def listing(kind: str, name: str, api: HfApi | None, pulse: Pulse) -> None:
    from trnui.catalog.hub import model_lists

    pulse.at = f"asking for {kind} {one_line(name)}"
    try:
        if api is None:
            raise hub_errors.offline()
        pulse.say("listing", state="new", words=model_lists.fetch(api, kind, name, pulse.beat))
    except Exception as failure:  # noqa: BLE001  # the library raises many kinds: each is put into words
        found = hub_errors.from_exception(failure, snapshot.endpoint(), f"{kind} {name}")
        pulse.say("listing", **failed(found))


def lookup(model: str, api: HfApi | None, pulse: Pulse, error: HubError | None) -> None:
    from trnui.catalog.dataset import rankings

    pulse.at = f"asking for {one_line(model)}"
    try:
        if api is None:
            raise error or hub_errors.offline()
        pulse.say("model", state="new", info=asdict(rankings.lookup(api, model)))
    except Exception as failure:  # noqa: BLE001  # the library raises many kinds: each is put into words
        pulse.say("model", **failed(hub_errors.from_exception(failure, snapshot.endpoint(), f"model {model}")))
