"""Stand-in for neuron-monitor: NDJSON of the processes alive in the run folder, with gaps, zeros for foreign cores and odd shapes.

ROOT is set by the builder."""

import json
import os
import re
import sys
import time


def seconds(text):
    found = re.fullmatch(r"([0-9.]+)(ms|s|m)?", str(text))
    return float(found[1]) * {"ms": 1e-3, "s": 1, "m": 60, None: 1}[found[2]] if found else 5.0


def alive(process):
    try:
        with open(f"/proc/{process['pid']}/stat") as file:
            return file.read().rpartition(")")[2].split()[19] == process.get("born")
    except OSError:
        return False


def processes(host):
    folder = os.path.join(ROOT, "run", "processes")  # noqa: F821
    for name in sorted(os.listdir(folder)):
        if name.endswith(".json"):
            with open(os.path.join(folder, name)) as file:
                process = json.load(file)
            if alive(process):
                yield process


def runtime(process, host, period):
    """One runtime's report; cores that are not its own are there, with zeros."""
    usage, counters = {}, {}
    for core in range(host["cores"]):
        tensors = process["memory"].get(str(core), 0)
        usage[str(core)] = {
            "constants": 0,
            "model_code": (96 << 20) if tensors else 0,
            "model_shared_scratchpad": 0,
            "runtime_memory": (1 << 20) if tensors else 0,
            "tensors": tensors,
        }
        if core in process["cores"]:
            counters[str(core)] = {
                "neuroncore_utilization": 37.5,
                "effective_flops": 0,
                "v3d": {f"nc_v3.{core * 2}": {"neuroncore_utilization": 40.0}},
            }
    total = sum(sum(parts.values()) for parts in usage.values())
    return {
        "pid": process["pid"],
        "address": "",
        "neuron_runtime_tag": process["tag"],
        "error": "",
        "report": {
            "neuroncore_counters": {"period": period, "neuroncores_in_use": counters, "error": ""},
            "memory_used": {
                "period": period,
                "neuron_runtime_used_bytes": {
                    "host": 1 << 20,
                    "neuron_device": total,
                    "usage_breakdown": {"host": {}, "neuroncore_memory_usage": usage},
                },
                "loaded_models": [],
                "error": "",
            },
        },
    }


def main(arguments):
    with open(os.path.join(ROOT, "host.json")) as file:  # noqa: F821
        host = json.load(file)
    how = host["neuron_monitor"]
    if how == "failing":
        print("neuron-monitor: could not connect to the driver (stand-in)", file=sys.stderr)
        return 1
    config = {}
    for flag in ("-c", "--config-file"):
        if flag in arguments:
            with open(arguments[arguments.index(flag) + 1]) as file:
                config = json.load(file)
    period = seconds(config.get("period", "5s"))
    filters = [r.get("tag_filter", ".*") for r in config.get("neuron_runtimes", [])] or [".*"]
    n = 0
    while True:
        if how == "hanging":
            time.sleep(3600)
        time.sleep(period)
        n += 1
        record = {
            "neuron_runtime_data": [
                runtime(p, host, period) for p in processes(host) if any(re.search(f, p["tag"]) for f in filters)
            ],
            "system_data": {},
            "instance_info": {"instance_type": host["instance_type"], "error": ""},
            "neuron_hardware_info": {
                "neuron_device_type": "trainium2 (stand-in)",
                "neuroncore_version": "v3d",
                "neuron_device_count": host["devices"],
                "neuron_device_memory_size": host["device_bytes"],
                "neuroncore_per_device_count": host["cores_per_device"],
                "logical_neuroncore_config": host["lnc"],
                "error": "",
            },
            "stand_in": True,
        }
        if how == "gaps" and n % 2:
            record["neuron_runtime_data"] = None
        if how == "odd" and n % 3 == 1:
            sys.stdout.write('neuron-monitor: warming up\n{"neuron_runtime_data": [{"pid": "x"}, 7, null]}\n[]\n')
        if how == "odd" and n % 3 == 2:
            for one in record["neuron_runtime_data"]:
                one["report"]["memory_used"] = {"period": period, "error": "Failed to read memory"}
        sys.stdout.write(json.dumps(record) + "\n")
        sys.stdout.flush()


try:
    sys.exit(main(sys.argv[1:]))
except BrokenPipeError:
    os._exit(0)
except KeyboardInterrupt:
    sys.exit(130)
