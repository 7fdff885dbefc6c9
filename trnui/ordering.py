"""From the command line's options and the settings to the runner's order, with or without a row to reproduce."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from runner.judge import WORD_ORDER
from runner.order import Order
from runner.steps import Terms
from trnui.settings import Settings
from trnui.starting import order_of

if TYPE_CHECKING:
    from trnui.catalog.answers import Detail, Provenance


def order_for(
    model: str,
    settings: Settings,
    detail: Detail | None = None,
    provenance: Provenance | None = None,
    *,
    offline: bool = False,
    **options: Any,
) -> Order:
    """`options` are fields of Order; None means "as usual". Raises UserError when a sample's file is damaged."""
    from trnui.sample.models import folder_of
    from trnui.sample.models import name_of as is_sample

    given = {name: value for name, value in options.items() if value is not None}
    if detail is not None:
        order = order_of(detail, provenance, settings)
    else:
        order = Order(
            model,
            checkpoint=folder_of(model),
            python=settings["python"] or None,
            timeout_s=settings["timeout_s"] or None,
            judge=settings["judge"] or None,
        )
    if order.judge is None and is_sample(model):
        given.setdefault("judge", WORD_ORDER)  # these models say English by heart, and need no download to be judged
    return dataclasses.replace(order, terms=terms_of(settings, offline), **given)


def terms_of(settings: Settings, offline: bool = False) -> Terms:
    return Terms(
        grace_s=settings["grace_s"],
        silence_s=settings["silence_s"],
        neff_cache=settings["neff_cache"] or None,
        token=settings["hub_token"],
        offline=offline,
    )
