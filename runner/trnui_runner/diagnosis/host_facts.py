"""What this host can add to a diagnosis: only the facts that the class's hint uses are asked for, and none of them is needed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from trnui_runner.diagnosis import Diagnosis, Facts, Holder, advise

_DEVICE: Final = frozenset({"cores_busy", "core_count", "no_device", "hbm_oom", "hbm_oom_compile"})
_COMPILERS: Final = frozenset({"cache_lock_wait", "timeout_hang"})
_TOKEN: Final = frozenset({"hub_gated", "hub_not_found", "hub_rate_limit"})
_OFFLINE: Final = frozenset({"hub_offline", "hub_network"})
_ROW_VERSIONS: Final = {"neuronx_cc": "neuronx-cc", "torch_neuronx": "torch-neuronx", "torch": "torch", "transformers": "transformers", "python": "python", "neuron_driver": "driver"}  # fmt: skip


def advised(diagnosis: Diagnosis, **known: Any) -> Diagnosis:
    """The diagnosis with its hint made concrete by this host and by what else is `known` (fields of Facts)."""
    return advise(diagnosis, facts_here(diagnosis.cls, **known))


def facts_here(cls: str, environ: Mapping[str, str] = os.environ, **known: Any) -> Facts:
    """This host's facts for a class. What cannot be had is left out."""
    found: dict[str, Any] = {}
    if cls in _DEVICE:
        found |= _devices()
    if cls in _COMPILERS:
        from trnui_runner.host.compiler_processes import compilers_here

        found["compilers_alive"] = len(compilers_here())
    if cls == "disk_full":
        from trnui_runner.common.hub_env import hub_cache
        from trnui_runner.host.system_info import free_space

        found["disk_free"] = free_space(hub_cache(environ))
    if cls == "host_oom":
        found["ram_total"] = _ram()
    if cls in _TOKEN:
        from trnui_runner.common.hub_env import has_token

        found["token"] = has_token(environ)
    if cls in _OFFLINE:
        from trnui_runner.common.hub_env import is_offline

        found["offline"] = is_offline(environ)
    return Facts(**(found | known))


def versions(values: Mapping[str, Any] | None) -> dict[str, str]:
    """A row's or a stack's versions by distribution name."""
    return {name: str(values[key]) for key, name in _ROW_VERSIONS.items() if values and values.get(key)}


def _devices() -> dict[str, Any]:
    from trnui_runner.host.devices import devices, find_nodes

    if not find_nodes():
        return {"cores_total": 0, "cores_free": ()}
    here = devices()
    owners = {owner.pid: owner for core in here.cores for owner in core.owners}
    holders = tuple(
        Holder(o.pid, o.command, o.age_s, o.leftover, o.cores or ()) for o in (*owners.values(), *here.unplaced)
    )
    return {"cores_total": len(here.cores), "cores_free": here.free, "holders": holders, "hbm_per_core": here.core_hbm}


def _ram() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None
