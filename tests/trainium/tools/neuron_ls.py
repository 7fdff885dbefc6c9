"""Stand-in for neuron-ls: the list of `-j` or the object of `--output-format json`, absent, failing or hanging. ROOT is set by the builder."""

import json
import os
import sys
import time


def alive(process):
    try:
        with open(f"/proc/{process['pid']}/stat") as file:
            return file.read().rpartition(")")[2].split()[19] == process.get("born")
    except OSError:
        return False


def holders(host):
    """{core: [process]}: who holds it, by the shape or alive in the run folder."""
    found = {}
    for core, owner in host["busy"].items():
        found.setdefault(int(core), []).append({"pid": owner["pid"], "command": owner["command"]})
    folder = os.path.join(ROOT, "run", "processes")  # noqa: F821
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".json"):
            continue
        with open(os.path.join(folder, name)) as file:
            process = json.load(file)
        if not alive(process):
            continue
        for core in process["cores"]:
            found.setdefault(core, []).append({"pid": process["pid"], "command": process["command"]})
    return found


def main(arguments):
    with open(os.path.join(ROOT, "host.json")) as file:  # noqa: F821
        host = json.load(file)
    how = host["neuron_ls"]
    if how == "hanging":
        time.sleep(3600)
    if how == "failing" or not host["driver"]:
        print("neuron-ls: error: No neuron device found (stand-in)", file=sys.stderr)
        return 1
    if how == "empty":
        print("[]")
        return 0
    new = "--output-format" in arguments or any(a.startswith("--output-format=") for a in arguments)
    old = "-j" in arguments or "--json-output" in arguments
    if (new and how == "old") or (old and how != "old") or not (new or old):
        print(f"neuron-ls: error: unknown flag {arguments[0] if arguments else ''}", file=sys.stderr)
        return 2
    held = holders(host)
    devices = []
    for n in range(host["devices"]):
        cores = list(range(n * host["cores_per_device"], (n + 1) * host["cores_per_device"]))
        processes = {p["pid"]: dict(p, neuron_runtime_version="2.35.30") for c in cores for p in held.get(c, [])}
        device = {
            "neuron_device": n,
            "bdf": f"0000:{0x33 + n:02x}:00.0",
            "cpu_affinity": "0-11",
            "numa_node": "0",
            "connected_to": None if host["devices"] == 1 else [m for m in range(host["devices"]) if m != n][:4],
            "nc_count": host["cores_per_device"],
            "logical_neuroncore_config": host["lnc"],
            "memory_size": host["device_bytes"],
            "neuroncore_ids": cores,
            "neuron_processes": list(processes.values()),
            "stand_in": True,
        }
        if how == "odd":  # what an unknown release might leave out or write differently
            for name in ("logical_neuroncore_config", "bdf", "cpu_affinity"):
                del device[name]
            device["neuron_processes"] = None
            device["memory_size"] = str(host["device_bytes"])
            device["something_new"] = {"a": [1]}
        devices.append(device)
    if new:
        print(
            json.dumps(
                {
                    "instance": {"instance_type": host["instance_type"], "instance_id": "stand-in"},
                    "ultraserver": None,
                    "neuron_devices": devices,
                }
            )
        )
    else:
        print(json.dumps([dict(d, instance_type=host["instance_type"]) for d in devices]))
    return 0


sys.exit(main(sys.argv[1:]))
