"""Stand-in for neuronx-cc: takes the host's time, writes the NEFF it is asked for, or fails as told. ROOT is set by the builder."""

import json
import os
import sys
import time


def main(arguments):
    with open(os.path.join(ROOT, "host.json")) as file:  # noqa: F821
        host = json.load(file)
    if "--version" in arguments:
        print(
            f"NeuronX Compiler version {host['neuronx_cc']}+standin\n\nPython version 3.12.3\nHWM version NPU, stand-in\nNumPy version 2.1.0"
        )
        return 0
    source = next((a for a in arguments if a.endswith(".mlir")), None)
    target = arguments[arguments.index("--output") + 1] if "--output" in arguments else None
    if arguments[:1] != ["compile"] or source is None or target is None:
        print("usage: neuronx-cc compile MODULE --framework XLA --target trn2 --output NEFF", file=sys.stderr)
        return 2
    with open(source) as file:
        text = file.read()
    began = time.time()
    time.sleep(host["compile_s"])
    code = 0
    if host["fail_op"]:
        bad = [line for line in text.splitlines() if line.startswith("// op ") and host["fail_op"] in line]
        if bad:
            code = 70
            name = host["fail_op"]
            print(f"[ERROR] [NCC_EVRF029] Operation {name} is not supported on trn2. (stand-in)", file=sys.stderr)
    if host["compiler_exit"] and not code:
        code = host["compiler_exit"]
        print(f"[INTERNAL_ERROR] [{host['compiler_code']}] told to fail (stand-in)", file=sys.stderr)
    with open(os.path.join(ROOT, "run", "compiles.jsonl"), "a") as log:  # noqa: F821
        log.write(json.dumps({"t": began, "pid": os.getpid(), "exit": code, "arguments": arguments}) + "\n")
    if code == 0:
        with open(target, "wb") as file:
            file.write(b"NEFF stand-in\n" + text.encode()[:4096])
    return code


sys.exit(main(sys.argv[1:]))
