"""Texts as users meet them, written from the public documentation of Neuron, PyTorch, huggingface_hub, Transformers, pip and
DuckDB: what each means, and what it must never be taken for. All names, hosts and numbers are made up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    id: str
    cls: str
    text: str
    must_not: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    severity: str = ""
    evidence: tuple[str, ...] = ()


def nrt(where: str, words: str, level: str = "ERROR", pid: int = 3141) -> str:
    return f"2026-Oct-03 14:07:51.402117 {pid}:{pid + 9} {level:5}  {where:<40} {words}\n"


def wrapper(words: str, level: str = "INFO", pid: int = 3141) -> str:
    return f"2026-10-03 14:07:12.000311:  {pid}  {level} ||NEURON_CC_WRAPPER||: {words}\n"


def call(n: int = 1) -> str:
    return wrapper(
        f"Call compiler with cmd: neuronx-cc compile --framework=XLA /tmp/u/work/model.MODULE_{n}11+a1b2c3d4.hlo_module.pb --target=trn2 --output /tmp/u/work/model.MODULE_{n}11+a1b2c3d4.neff"
    )


def trace(error: str, *frames: str) -> str:
    lines = ["Traceback (most recent call last):", '  File "/srv/job/run.py", line 41, in <module>', "    main()"]
    for frame in frames:
        lines += [f'  File "{frame}", line 312, in inner', "    return fn(*args)"]
    return "\n".join([*lines, error, ""])


def ranked(rank: int, text: str) -> str:
    return "".join(f"[rank{rank}]: {line}\n" for line in text.rstrip("\n").split("\n"))


def bar(what: str, percent: int, of: str = "2/4") -> str:
    return f"\r{what}: {percent:3}%|{'█' * (percent // 10):<10}| {of} [00:05<00:05,  1.20s/it]"


LOAD = bar("Loading checkpoint shards", 50) + bar("Loading checkpoint shards", 100, "4/4") + "\n"
TORCHRUN = """E1003 14:09:02.101 311 torch/distributed/elastic/multiprocessing/api.py:882] failed (exitcode: 1) local_rank: 1 (pid: 3150) of binary: /opt/venv/bin/python3
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
run.py FAILED
Root Cause (first observed failure):
  rank      : 1 (local_rank: 1)
  exitcode  : 1 (pid: 3150)
"""

CASES: tuple[Case, ...] = (
    # -- result
    Case("ok-quiet", "ok", LOAD + call() + "......\nCompiler status PASS\ntokens 32/32\nRESULT: PASS\n", ("in_progress", "eager_fallback"), {"graphs_compiled": 1}, "ok"),
    Case(
        "ok-noise-everywhere", "ok",
        "/opt/venv/lib/python3.12/site-packages/x.py:3: FutureWarning: `torch_dtype` is deprecated! Use `dtype` instead!\n"
        + "huggingface/tokenizers: The current process just got forked, after parallelism has already been used. Disabling parallelism to avoid deadlocks...\n"
        + nrt("CCOM", "NET/OFI Failed to initialize OFI plugin, no EFA found", "WARN") + LOAD + nrt("NRT:nrt_close", "Unexpected runtime state: NRT_STATE_START") + "RESULT: PASS\n"
        + "[rank0]:[W1003 ProcessGroup.cpp:1] Warning: destroy_process_group() was not called before program exit\n",
        ("distributed_comm", "unknown", "hw_error"),
    ),
    Case(
        "ok-after-retries", "ok",
        "'(ReadTimeoutError(\"HTTPSConnectionPool(host='huggingface.co', port=443): Read timed out. (read timeout=10)\"), '(Request ID: 7)')' thrown while requesting HEAD https://huggingface.co/example-org/M-1B/resolve/main/config.json\nRetrying in 1s [Retry 1/5].\n"
        + LOAD + call() + "...\nCompiler status PASS\nRESULT: PASS\n",
        ("hub_network",),
    ),
    Case("ok-model-writes-errors", "ok", LOAD + "prompt: Write a kernel log.\n===== generated =====\nOut of memory: Killed process 4242 (python3)\nNRT_RESOURCE status=4\n===== end =====\ntokens 32/32\njudge: fluent English = yes (0.93)\nRESULT: PASS\n", ("host_oom", "hbm_oom")),
    Case("ok-model-name-says-oom", "ok", "model: example-org/Killed-SIGKILL-No-space-left-7B\n" + LOAD + "RESULT: PASS\n", ("host_oom", "disk_full")),
    Case("progress-download", "in_progress", bar("model-00001-of-00004.safetensors", 12, "600M/4.9G") + bar("model-00001-of-00004.safetensors", 31, "1.5G/4.9G"), ("hub_lock_wait", "ok"), severity="info"),
    Case("progress-second-graph", "in_progress", LOAD + call() + "....\nCompiler status PASS\n" + call(2) + "...", ("timeout_hang", "ok"), {"graphs_compiled": 1}),
    Case("progress-generate", "in_progress", LOAD + bar("generate", 40, "13/32"), ("ok",)),
    Case("progress-http-404-is-normal", "in_progress", 'INFO:httpx:HTTP Request: HEAD https://huggingface.co/example-org/M/resolve/main/chat_template.jinja "HTTP/1.1 404 Not Found"\n' + LOAD, ("hub_not_found",)),
    Case("progress-rx-then-on", "in_progress", nrt("CCOM", "Timeout waiting for RX (waited 120 sec) - retrying", "WARN") + call() + "....\nCompiler status PASS\n" + bar("generate", 9, "3/32"), ("timeout_hang",)),
    Case("mismatch-tokens", "numerical_mismatch", LOAD + "match: 11/32\nfirst difference at token 11\nRESULT: FAIL (tokens differ from CPU)\n", ("ok", "unknown"), {"matched": 11, "of": 32}),
    Case("mismatch-sampling-nan", "numerical_mismatch", LOAD + trace("RuntimeError: probability tensor contains either `inf`, `nan` or element < 0"), ("ok", "graph_capture")),
    Case("mismatch-status-1003", "numerical_mismatch", nrt("NMGR:dlr_infer", "Inference completed with err: 1003. mode->h_nn=1001, lnc=0") + trace("RuntimeError: nrt_execute status=1003"), ("hw_error",), {"status": 1003}),
    Case("mismatch-own-check", "numerical_mismatch", "token 0 is '', not 'enou', which the CPU run prefers by 0.88 (float32, margin 0.5)\n", ("unknown",)),
    Case("mismatch-judge", "numerical_mismatch", LOAD + "output: aaaa aaaa ;; aaaa\njudge: not fluent (score 0.02)\nRESULT: FAIL\n", ("ok",)),
    Case("fallback-cpu-op", "eager_fallback", LOAD + "[2026-10-03 14:07:01.1] [WARNING] [DISPATCH] Operator 'aten::_fft_r2c' executed via CPU fallback\nRESULT: PASS\n", ("ok",), severity="warn"),
    Case("fallback-after-code", "eager_fallback", call() + "2026-10-03T14:07:01Z [NCC_ITEN404] Internal tensorizer error\n[WARNING] [BACKEND] Falling back to original GraphModule execution\n" + bar("generate", 100, "32/32") + "\nRESULT: PASS\n", ("ok",)),
    # -- compile
    Case("compiler-internal", "compiler_failure", call() + "....\n2026-10-03T14:08:01Z ERROR 77 [neuronxcc.driver.CommandDriver]:  An Internal Compiler Error has occurred\n2026-10-03T14:08:01Z USER 77 [neuronxcc.driver.CommandDriver]: [NCC_IBCG901] BIRCodeGen does not support broadcast patterns - Please open a support ticket\n" + trace("RuntimeError: neuronx-cc compilation failed with 70. Check compiler logs."), ("host_oom", "unsupported_op"), {"code": "NCC_IBCG901", "exit": 70}),
    Case("compiler-segfault", "compiler_failure", call() + "......\nSegmentation fault (core dumped)\n" + wrapper("Failed compilation with ['neuronx-cc', 'compile', '--target=trn2']: ", "ERROR") + trace("subprocess.CalledProcessError: Command '['neuronx-cc', 'compile']' returned non-zero exit status 139."), ("host_oom",), {"exit": 139}),
    Case("compiler-torchrun", "compiler_failure", ranked(1, trace("RuntimeError: neuronx-cc compilation failed with 70. Check compiler logs.")) + ranked(0, trace("RuntimeError: [../gloo/transport/tcp/pair.cc:534] Connection closed by peer [192.0.2.4]:4411")) + TORCHRUN, ("distributed_comm",), {"exit": 70, "rank": 1}),
    Case("op-native-eager", "unsupported_op", trace("NotImplementedError: Operation aten::histc is not implemented for Neuron and CPU fallback is disabled"), ("eager_fallback", "compiler_failure"), {"op": "aten::histc"}),
    Case("op-sort", "unsupported_op", call() + "..\n[ERROR] [NCC_EVRF029] Operation sort is not supported on trn2. Use topk or a NKI kernel instead.\n" + trace("RuntimeError: neuronx-cc compilation failed with 70. Check compiler logs."), ("compiler_failure",), {"code": "NCC_EVRF029", "op": "sort"}),
    Case("op-custom-call", "unsupported_op", "[NCC_EHCA005] The compiler encountered a custom call instruction with a target name that is not recognized: MyFusedThing\n", ("compiler_failure",), {"code": "NCC_EHCA005"}),
    Case("dtype-complex", "unsupported_dtype", call() + ".\n[NCC_EVRF004] Complex data types are not supported on the Neuron device.\n" + trace("RuntimeError: neuronx-cc compilation failed with 70. Check compiler logs."), ("unsupported_op", "compiler_failure"), {"code": "NCC_EVRF004"}),
    Case("dtype-int64-allreduce", "unsupported_dtype", "[NCC_EVRF061] AllReduce performs its reduction compute in floating point (f32) and does not support 32-bit or 64-bit integer operands on this target\n", ("unsupported_op",), {"code": "NCC_EVRF061"}),
    Case("dtype-native-float8", "unsupported_dtype", trace("RuntimeError: float8_e4m3fn is not supported in neuronxcc. Use float8_e4m3 or bfloat16."), ("compiler_failure", "unknown")),
    Case("capture-item", "graph_capture", trace("torch._dynamo.exc.Unsupported: Unsupported Tensor.item() call with capture_scalar_outputs=False", "/opt/venv/torch/_dynamo/eval_frame.py") + "\nfrom user code:\n   File \"/opt/venv/transformers/models/ex/modeling_ex.py\", line 118, in forward\n    n = mask.sum().item()\n", ("compiler_failure",), {"file": "modeling_ex.py", "line": 118}),
    Case("capture-dynamic", "graph_capture", trace("ValueError: Dynamic shapes detected in the model, but torch-neuronx requires static shapes. Found 2 dynamic dimension(s): input_ids[1], attention_mask[1]"), ("compiler_failure", "unknown")),
    Case("capture-recompiles", "graph_capture", LOAD + "W1003 14:08:00.1 torch/_dynamo/convert_frame.py:1358] torch._dynamo hit config.recompile_limit (8)\nW1003    function: 'forward' (modeling_ex.py:92)\nW1003    last reason: 0/7: cache.cumulative_length == 41\n", ("ok", "in_progress"), {"limit": 8}),
    Case("capture-code", "graph_capture", "[NCC_EMOD025] Dynamic shape is not supported: instruction 'add.3' has shape 'f32[?,64]'. The Neuron compiler requires all tensor dimensions to be statically sized.\n", ("compiler_failure",), {"code": "NCC_EMOD025"}),
    Case("large-code", "graph_too_large", call() + "...........\n2026-10-03T15:00:00Z [NCC_EBVF030] The number of instructions generated exceeds the limit. Consider applying model parallelism\n" + trace("RuntimeError: neuronx-cc compilation failed with 70. Check compiler logs."), ("compiler_failure", "hbm_oom_compile"), {"code": "NCC_EBVF030"}),
    Case("large-internal-letter", "graph_too_large", "2026-10-03T15:00:00Z [NCC_IXTP002] Number of instructions (11453027) is over the threshold (10000000). Tiling could potentially do a better job. - Please open a support ticket\n", ("compiler_failure",), {"instructions": 11453027, "limit": 10000000}),
    # -- memory
    Case("predicted-activation", "hbm_oom_compile", call() + "....\n[NCC_EVRF009] Size of total input and output tensors exceeds HBM limit of Trainium2. Needed 33285996544 bytes (31 GB) vs. available 25769803776 bytes (24 GB).\n" + trace("RuntimeError: neuronx-cc compilation failed with 70. Check compiler logs."), ("hbm_oom", "compiler_failure"), {"code": "NCC_EVRF009"}),
    Case("predicted-old", "hbm_oom_compile", "RuntimeError: Failed compilation with ['neuronx-cc', '--target=trn1']: 2026-10-03T23:47:40Z [XCG815]  Estimated peak HBM usage (22.84) exceeds 16GB. Neff won't be able to load on chip - Please open a support ticket\n", ("hbm_oom", "compiler_failure"), {"need_gb": 22.84, "have_gb": 16}),
    Case("hbm-tensor", "hbm_oom", LOAD + nrt("TDRV:dmem_alloc_internal", "Failed to alloc DEVICE memory: 180355072") + nrt("TDRV:log_dev_mem", "Failed to allocate 172.000MB (usage: tensors) on ND 1:NC 2, current utilization:") + trace("RuntimeError: NRT allocation failed for size 180355072 (OOM)"), ("host_oom", "hbm_oom_compile"), {"nd": 1, "nc": 2, "asked": "172.000MB"}),
    Case("hbm-resource", "hbm_oom", nrt("NRT:nrt_infodump", "Failure: NRT_RESOURCE in nrt_load()") + trace("RuntimeError: Failed to load NEFF. Status: 4"), ("host_oom",), {"status": 4}),
    Case("hbm-torch", "hbm_oom", LOAD + ranked(3, trace("torch.OutOfMemoryError: Neuron out of memory. Tried to allocate 2.00 GiB")) + ranked(0, trace("RuntimeError: Connection reset by peer")), ("distributed_comm", "host_oom"), {"rank": 3}),
    Case("host-compiler-killed", "host_oom", call() + "......\n" + wrapper("[F137] neuronx-cc was forcibly killed - This most commonly occurs due to insufficient system memory. Using a smaller data type, dimensions, batch size, or a larger instance type may help.", "ERROR") + trace("RuntimeError: neuronx-cc compilation failed with -9. Check compiler logs."), ("compiler_failure", "interrupted"), {"code": "F137"}),
    Case("host-torchrun-9", "host_oom", LOAD + "E1003 14:09:02.1 311 torch/distributed/elastic/multiprocessing/api.py:882] failed (exitcode: -9) local_rank: 2 (pid: 3152) of binary: /opt/venv/bin/python3\ntorch.distributed.elastic.multiprocessing.errors.ChildFailedError:\nRoot Cause (first observed failure):\n  rank      : 2 (local_rank: 2)\n  exitcode  : -9 (pid: 3152)\n  traceback : Signal 9 (SIGKILL) received by PID 3152\n", ("distributed_comm", "interrupted", "unknown"), {"exit": -9}),
    Case("host-dmesg", "host_oom", "$ dmesg | tail -1\n[8123.4] Out of memory: Killed process 3141 (neuronx-cc) total-vm:140000000kB, anon-rss:62000000kB\n", ("compiler_failure",)),
    Case("disk-neff", "disk_full", LOAD + call() + "....\n" + trace("OSError: [Errno 28] No space left on device: '/tmp/neff_cache/ab/cd/abcd.neff.tmp.XJ2K1m'"), ("compiler_failure", "hub_network")),
    Case("disk-xet", "disk_full", bar("model-00002-of-00009.safetensors", 71) + "\n" + trace("RuntimeError: Data processing error: CAS service error : IO Error: No space left on device (os error 28)"), ("hub_network",)),
    Case("disk-before-compiler", "disk_full", call() + "..\nOSError: [Errno 28] No space left on device\n" + trace("RuntimeError: neuronx-cc compilation failed with 70. Check compiler logs."), ("compiler_failure",)),
    # -- device
    Case("device-none", "no_device", nrt("NRT:nrt_init", "Unable to read compatible Driver version.") + nrt("NRT:nrt_init", "Please check /dev/neuron# is accessible. If you're using containers, please ensure Neuron Devices are passed to the container by specifying `--device /dev/neuron#`.") + trace("RuntimeError: Failed to initialize Neuron Runtime: status code 1"), ("driver_mismatch", "cores_busy")),
    Case("device-permission", "no_device", nrt("TDRV:tdrv_init_mla_phase1", "Could not open the nd0") + nrt("TDRV:tdrv_destroy", "TDRV not initialized") + "open /dev/neuron0: Permission denied\n", ("cores_busy", "core_count")),
    Case("driver-min", "driver_mismatch", nrt("NRT:nrt_init", "This runtime requires Neuron Driver version 2.29 or greater. Please upgrade aws-neuronx-dkms package."), ("no_device", "version_mismatch")),
    Case("driver-opcode", "driver_mismatch", nrt("TDRV:translate_one_pseudo_instr_v2", "Unsupported hardware operator code 214 found in neff.") + nrt("TDRV:translate_one_pseudo_instr_v2", "Please make sure to upgrade to latest aws-neuronx-runtime-lib and aws-neuronx-collective; for detailed installation instructions visit Neuron documentation"), ("unsupported_op", "hw_error")),
    Case("busy-logical", "cores_busy", nrt("NRT:nrt_allocate_neuron_cores", "Logical Neuron Core(s) not available - Requested:lnc0-lnc3 Available:0 Logical Core size:2 (cores busy, ret=-16)") + trace("RuntimeError: Neuron runtime cannot be initialized; cannot determine the number of available NeuronCores"), ("no_device", "core_count")),
    Case("busy-status", "cores_busy", trace("RuntimeError: nrt_execute status=1005 Neuron core busy/locked by another model/process"), ("hw_error",), {"status": 1005}),
    Case("count-status-9", "core_count", trace("RuntimeError: Failed to load NEFF. Status: 9, Not enough NCs for loading NEFF"), ("hbm_oom",), {"status": 9}),
    Case("count-second-device", "core_count", nrt("TDRV:tdrv_init_mla_phase1", "Could not open the nd1") + nrt("NRT:nrt_init", "Failed to initialize devices, error:1"), ("no_device", "hw_error")),
    Case("count-env", "core_count", trace("ValueError: invalid NEURON_RT_VISIBLE_CORES '0-15': this host has cores 0-3"), ("no_device",)),
    Case("hw-sram", "hw_error", nrt("TDRV:exec_wait", "(FATAL-RT-UNDEFINED-STATE) [ND 3][NC 1] Uncorrectable memory error is detected, metadata: 0x16. Please terminate or stop/start this instance to prevent future impact from the hardware error.") + trace("RuntimeError: nrt_execute status=1202"), ("hbm_oom", "timeout_hang"), {"nd": 3}),
    Case("hw-timeout-first", "hw_error", nrt("TDRV:exec_consume_infer_status_notifications", "(FATAL-RT-UNDEFINED-STATE) execution timeout (30000 ms) on Neuron Device 2 NC 0, model g.neff, waiting for execution completion notification") + nrt("TDRV:dma", "[MLA 2][NC 0] DMA TX engine 4 is in an abort state") + trace("RuntimeError: nrt_execute status=5"), ("timeout_hang",)),
    Case("hw-left-running", "hw_error", nrt("TDRV:tpb_eng_init_hals_v2", "CRITICAL HW ERROR: One or more engines are running. Please restart device by reloading driver:") + nrt("TDRV:tdrv_init_one_mla_phase2", "nd0 nc0 HAL init failed. error:1"), ("no_device", "cores_busy")),
    Case("oob-dge", "index_oob", nrt("TDRV:exec_process_custom_notification", "nd0:nc3:h_model.id1001: Received notification generated at runtime: failed to run scatter/gather (indirect memory copy via vector DGE), due to out-of-bound access") + trace("RuntimeError: nrt_execute status=1006"), ("hw_error",), {"status": 1006, "nc": 3}),
    Case("oob-cpu-embedding", "index_oob", LOAD + trace("IndexError: index out of range in self", "/opt/venv/torch/nn/functional.py"), ("unknown", "graph_capture")),
    # -- cache
    Case("lock-fresh", "cache_lock_wait", wrapper("Another process must be compiling /var/tmp/neuron-compile-cache/neuronxcc-2.28.7631.0+aa/MODULE_77+f00d/model.hlo_module.pb, been waiting for: 3.0 minutes"), ("timeout_hang", "in_progress"), {"minutes": 3}, "wait"),
    Case("lock-over", "ok", wrapper("Another process must be compiling /var/tmp/neuron-compile-cache/neuronxcc-2.28.7631.0+aa/MODULE_77+f00d/model.hlo_module.pb, been waiting for: 3.0 minutes") + wrapper("Using a cached neff at /var/tmp/neuron-compile-cache/neuronxcc-2.28.7631.0+aa/MODULE_77+f00d/model.neff. Exiting with a successfully compiled graph.") + "RESULT: PASS\n", ("cache_lock_wait",)),
    Case("failed-entry", "cache_failed_entry", wrapper("Got a cached failed neff at /var/tmp/neuron-compile-cache/neuronxcc-2.28.7631.0+aa/MODULE_77+f00d/model.neff. Will skip compilation, please set --retry_failed_compilation for recompilation: ", "ERROR") + "2026-09-30T08:00:00Z [NCC_INLA001] Unhandled exception with message: x\n" + trace("RuntimeError: neuronx-cc compilation failed with 1. Check compiler logs."), ("compiler_failure",), {"code": "NCC_INLA001"}),
    Case("neff-old", "cache_version_mismatch", nrt("NEFF:neff_parse", "NEFF version mismatch supported: 1.1 received: 2.0") + trace("RuntimeError: Failed to load NEFF. Status: 10, Unsupported NEFF version"), ("driver_mismatch", "core_count"), {"status": 10}),
    Case("neff-arch", "cache_version_mismatch", nrt("TDRV:kbl_model_add", "Attempting to load an incompatible model! Set NEURON_RT_ALLOW_LEGACY_NEFF=1 to load models compiled for trn1") + trace("RuntimeError: nrt_load status=2"), ("driver_mismatch", "hw_error")),
    Case("miss-optimum", "cache_miss", "neuronxcc-2.28.7631.0+aa/MODULE_a7b0+39f1/model.neff not found in aws-neuron/optimum-neuron-cache: the corresponding graph will be recompiled. This may take up to one hour for large models.\n" + call() + "....", ("compiler_failure", "hub_not_found"), severity="info"),
    Case("miss-after-sync", "cache_miss", "$ aws s3 sync s3://example-bucket/neff/2.26.6360.0 /tmp/neff_cache\n" + "".join(f"[2026-10-03 14:07:0{n}.1] [INFO] [NEFF_CACHE] [NEFF_CACHE] Cache MISS for key: {n}f3c\n" for n in range(3)) + call() + "...", ("compiler_failure", "ok"), {"misses": 3}),
    Case("miss-first-run-passes", "ok", "".join(f"[2026-10-03 14:07:0{n}.1] [INFO] [NEFF_CACHE] [NEFF_CACHE] Cache MISS for key: {n}f3c\n" for n in range(3)) + "RESULT: PASS\n", ("cache_miss",)),
    # -- hub
    Case("gated-401", "hub_gated", trace("huggingface_hub.errors.GatedRepoError: 401 Client Error. (Request ID: Root=1-5)") + "\nCannot access gated repo for url https://huggingface.co/example-org/Locked-3B/resolve/main/config.json.\nAccess to model example-org/Locked-3B is restricted. You must have access to it and be authenticated to access it. Please log in.\n", ("hub_not_found", "hub_network"), {"status": 401, "repo": "example-org/Locked-3B"}),
    Case("gated-bad-token", "hub_gated", trace("huggingface_hub.errors.HfHubHTTPError: 401 Client Error: Unauthorized for url: https://huggingface.co/api/models/example-org/Open-1B (Request ID: 3)\n\nInvalid credentials in Authorization header"), ("hub_not_found", "hub_network")),
    Case("missing-repo", "hub_not_found", trace("OSError: example-org/Nowhere-9B is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'\nIf this is a private repository, make sure to pass a token having permission to this repo either by logging in with `hf auth login` or by passing `token=<your_token>`"), ("hub_gated", "hub_network"), {"repo": "example-org/Nowhere-9B"}),
    Case("missing-file", "hub_not_found", trace("OSError: example-org/Half-1B does not appear to have a file named model.safetensors.index.json. Checkout 'https://huggingface.co/example-org/Half-1B/tree/main' for available files."), ("tokenizer", "hub_offline")),
    Case("missing-revision", "hub_not_found", trace("huggingface_hub.errors.RevisionNotFoundError: 404 Client Error. (Request ID: Root=1-9)\n\nRevision Not Found for url: https://huggingface.co/example-org/M-1B/resolve/v9/config.json.\nInvalid rev id: v9"), ("hub_gated",), {"status": 404}),
    Case("limit", "hub_rate_limit", trace("huggingface_hub.errors.HfHubHTTPError: \n\n429 Too Many Requests: you have reached your 'api' rate limit.\nRetry after 271 seconds (0/1000 requests remaining in current 300s window).\nUrl: https://huggingface.co/api/models/example-org/M-1B."), ("hub_network", "hub_offline"), {"status": 429}),
    Case("limit-got-over", "in_progress", "HTTP Error 429 thrown while requesting GET https://huggingface.co/example-org/M-1B/resolve/main/config.json\nRate limited. Waiting 12.0s before retry [Retry 1/5].\n" + LOAD, ("hub_rate_limit",)),
    Case("network-dns", "hub_network", trace("httpx.ConnectError: [Errno -3] Temporary failure in name resolution") + "\nThe above exception was the direct cause of the following exception:\n\n" + trace("huggingface_hub.errors.LocalEntryNotFoundError: An error happened while trying to locate the file on the Hub and we cannot find the requested files in the local cache. Please check your connection and try again or make sure your Internet connection is on."), ("hub_offline", "distributed_comm")),
    Case("network-tls", "hub_network", trace("httpx.ConnectError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate in certificate chain (_ssl.c:1006)"), ("distributed_comm", "hub_offline")),
    Case("network-503", "hub_network", trace("huggingface_hub.errors.HfHubHTTPError: 503 Server Error: Service Unavailable for url: https://huggingface.co/api/models/example-org/M-1B/revision/main"), ("hub_not_found",), {"status": 503}),
    Case("offline-transformers", "hub_offline", "HF_HUB_OFFLINE=1\n" + trace("OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files.\nCheck your internet connection or see how to run the library in offline mode at 'https://huggingface.co/docs/transformers/installation#offline-mode'."), ("hub_network",)),
    Case("offline-local-only", "hub_offline", trace("huggingface_hub.errors.LocalEntryNotFoundError: Cannot find an appropriate cached snapshot folder for the specified revision on the local disk and outgoing traffic has been disabled. To enable repo look-ups and downloads online, pass 'local_files_only=False' as input."), ("hub_network", "hub_not_found")),
    Case("offline-set-but-fine", "ok", "export HF_HUB_OFFLINE=1\n" + LOAD + "RESULT: PASS\n", ("hub_offline",)),
    Case("hub-lock", "hub_lock_wait", "Still waiting to acquire lock on /data/hf/hub/.locks/models--example-org--M-1B/0a1b.lock (elapsed: 240.1 seconds)\n", ("cache_lock_wait", "file_lock"), {"seconds": 240.1}, "wait"),
    Case("hub-no-bytes", "hub_lock_wait", bar("model-00001-of-00002.safetensors", 12, "600M/4.9G") + "\rmodel-00001-of-00002.safetensors:  12%|█         | 600M/4.9G [31:04<?, ?B/s]", ("ok",), severity="wait"),
    # -- model
    Case("remote-refused", "remote_code", trace("ValueError: The repository example-org/Odd-7B contains custom code which must be executed to correctly load the model. You can inspect the repository content at https://hf.co/example-org/Odd-7B .\n You can inspect the repository content at https://hf.co/example-org/Odd-7B.\nPlease pass the argument `trust_remote_code=True` to allow custom code to be run."), ("hub_not_found", "unknown")),
    Case("remote-prompt", "remote_code", "The repository example-org/Odd-7B contains custom code which must be executed to correctly load the model. You can inspect the repository content at https://hf.co/example-org/Odd-7B .\nYou can avoid this prompt in future by passing the argument `trust_remote_code=True`.\n\nDo you wish to run the custom code? [y/N] ", ("in_progress", "timeout_hang")),
    Case("remote-flash", "remote_code", trace("ImportError: This modeling file requires the following packages that were not found in your environment: flash_attn. Run `pip install flash_attn`"), ("version_mismatch",), {"name": "flash_attn"}),
    Case("tokenizer-sentencepiece", "tokenizer", trace("ImportError: \nLlamaTokenizer requires the SentencePiece library but it was not found in your environment. Check out the instructions on the\ninstallation page of its repo"), ("version_mismatch", "unknown")),
    Case("tokenizer-enum", "tokenizer", trace("Exception: data did not match any variant of untagged enum ModelWrapper at line 757443 column 3"), ("unknown", "data_schema")),
    Case("processor", "tokenizer", trace("OSError: Can't load image processor for 'example-org/See-4B'. If you were trying to load it from 'https://huggingface.co/models', make sure you don't have a local directory with the same name."), ("hub_not_found", "hub_network")),
    Case("model-class", "model_unknown", trace("ValueError: Unrecognized configuration class <class 'transformers.models.ex.configuration_ex.ExConfig'> for this kind of AutoModel: AutoModelForCausalLM.\nModel type should be one of ApertusConfig, ArceeConfig."), ("remote_code", "hub_not_found")),
    Case("model-import", "model_unknown", trace("ImportError: cannot import name 'Qwen9ForCausalLM' from 'transformers' (/opt/venv/lib/python3.12/site-packages/transformers/__init__.py)"), ("remote_code",)),
    Case("shard-heads", "sharding", ranked(0, trace("ValueError: The number of attention heads (14) must be divisible by the tensor parallel size (4).")), ("graph_capture", "distributed_comm")),
    Case("shard-plan", "sharding", ranked(2, trace("ValueError: GPT2LMHeadModel has no `tp_plan`; tensor parallelism is not supported for this model.")) + TORCHRUN, ("distributed_comm", "unknown")),
    Case("shard-experts", "sharding", "RuntimeError: num_experts (60) is not divisible by ep_size (8)\n", ("unknown",)),
    # -- environment
    Case("resolver", "version_mismatch", "ERROR: pip's dependency resolver does not currently take into account all the packages that are installed.\nneuronx-cc 2.28.7631.0 requires numpy<=2.3, but you have numpy 2.4.0 which is incompatible.\n", ("python_version",)),
    Case("undefined-symbol", "version_mismatch", trace("ImportError: /opt/venv/lib/python3.12/site-packages/torch_neuronx/_C.cpython-312-x86_64-linux-gnu.so: undefined symbol: _ZN3c1011SymbolicInt"), ("remote_code", "compiler_failure")),
    Case("xla-package", "version_mismatch", trace("RuntimeError: Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, privateuseone device type at start of device string: neuron"), ("no_device", "unknown")),
    Case("no-compiler", "version_mismatch", trace("RuntimeError: neuronx-cc not found in PATH"), ("compiler_failure",)),
    Case("python-requires", "python_version", "ERROR: Ignored the following versions that require a different python version: 2.14.3.0 Requires-Python >=3.12,<3.15\nERROR: Could not find a version that satisfies the requirement torch-neuronx==2.14.* (from versions: 1.0.0)\nERROR: No matching distribution found for torch-neuronx==2.14.*\n", ("hub_network",)),
    Case("python-wheel", "python_version", "ERROR: neuronx_cc-2.28.7631.0-cp312-cp312-linux_x86_64.whl is not a supported wheel on this platform.\n", ("version_mismatch", "unknown")),
    Case("python-syntax", "python_version", '  File "/srv/job/run.py", line 12\n    type Batch = dict[str, list[int]]\n         ^^^^^\nSyntaxError: invalid syntax\n', ("unknown",)),
    # -- process
    Case("peer-only", "distributed_comm", ranked(0, trace("RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [192.0.2.4]:51234")), ("hub_network", "unknown")),
    Case("rendezvous", "distributed_comm", ranked(1, trace("torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 3/4 clients joined.")), ("timeout_hang", "hub_network")),
    Case("bootstrap", "distributed_comm", nrt("ENC:ncclBootstrapRecv", "failed neuronBootstrapRecv request to NCCL") + nrt("CCOM", "Connect to 192.0.2.8:48620 failed : Connection refused", "WARN"), ("hub_network", "hw_error")),
    Case("exec-timeout", "timeout_hang", nrt("TDRV:exec_consume_tpb_status_notifications", "Missing infer_status notification: (end:4)") + nrt("TDRV:exec_consume_infer_status_notifications", "(FATAL-RT-UNDEFINED-STATE) inference timeout (600000 ms) on Neuron Device 4 NC 1, waiting for execution completion notification") + nrt("NMGR:dlr_infer", "Inference completed with err: 5"), ("hw_error", "index_oob"), {"nd": 4, "nc": 1}),
    Case("watchdog", "timeout_hang", "[rank2]:[E1003 14:40:00.1 ProcessGroupNeuron.cpp:632] [Rank 2] Watchdog caught collective operation timeout: Work(SeqNum=91, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1800021 milliseconds before timing out.\n", ("distributed_comm",)),
    Case("dots-for-hours", "timeout_hang", call() + "." * 700, ("ok", "compiler_failure"), severity="wait"),
    Case("ctrl-c-with-fallout", "interrupted", call() + "....^C" + "\n" + trace("KeyboardInterrupt") + "[neuronx-cc] ERROR: Exception in compilation caught: \nRuntimeError: neuronx-cc compilation failed with -2. Check compiler logs.\n", ("compiler_failure", "host_oom"), severity="info"),
    Case("sighup", "interrupted", LOAD + "torch.distributed.elastic.multiprocessing.api.SignalException: Process 3141 got signal: 1\n", ("distributed_comm", "unknown")),
    Case("terminated", "interrupted", LOAD + call() + "...\nTerminated\n$ echo $?\n143\n", ("host_oom", "in_progress")),
    Case("fault-then-ctrl-c", "graph_capture", ranked(1, trace("torch._dynamo.exc.Unsupported: Dynamic control flow is not supported at the moment")) + ranked(0, "^C" + trace("KeyboardInterrupt")), ("interrupted",)),
    # -- data
    Case("parquet-magic", "data_schema", trace("pyarrow.lib.ArrowInvalid: Parquet magic bytes not found in footer. Either the file is corrupted or this is not a parquet file."), ("unknown", "file_lock")),
    Case("parquet-duckdb", "data_schema", "Invalid Input Error: No magic bytes found at end of file '/data/2.28/results.parquet'\n", ("unknown",)),
    Case("parquet-types", "data_schema", trace('duckdb.BinderException: Binder Error: Referenced column "exclusion" not found in FROM clause!'), ("unknown",)),
    Case("lock-duckdb", "file_lock", trace('duckdb.IOException: IO Error: Could not set lock on file "/home/u/own.duckdb": Conflicting lock is held in /usr/bin/python3.12 (PID 812).'), ("cache_lock_wait", "hub_lock_wait"), {"holder_pid": 812}),
    Case("lock-sqlite", "file_lock", trace("sqlite3.OperationalError: database is locked"), ("cache_lock_wait",)),
    Case("empty-controls", "empty", " \t\r\n\x00\x1b[0m\x1b]0;t\x07\n", ("unknown",)),
    Case("empty-nothing", "empty", "", ("unknown", "ok")),
    Case("unknown-plain", "unknown", trace("TypeError: forward() missing 1 required positional argument: 'pixel_values'"), ("graph_capture", "version_mismatch", "sharding")),
    Case("unknown-launcher", "unknown", TORCHRUN, ("distributed_comm", "host_oom")),
    Case("unknown-words", "unknown", "something failed somewhere, error, see above\n", ("compiler_failure", "host_oom")),
    # -- more of the same kinds: wrappers, torn lines, traps
    Case("alloc-out-of-bound-is-internal", "compiler_failure", "2026-10-03T00:04:00Z USER 5521 [neuronxcc.driver.CommandDriver]: [NLA001]  Unhandled exception with message: Allocated memory out of bound {maximum.11_VN_0}@SB<0,185856>(756257x10376)#Internal DebugInfo - Please open a support ticket\n", ("index_oob", "hbm_oom"), {"code": "NLA001"}),
    Case("access-pattern-is-internal", "compiler_failure", call() + "..\n=== BIR verification failed ===\nReason: Access pattern out of bound\n" + trace("RuntimeError: neuronx-cc failed with -1"), ("index_oob", "interrupted")),
    Case("torn-code", "compiler_failure", "[rank1]: RuntimeError: [NCC_IXC[rank0]: waiting for the others\nG856] MATCH_REPLACE8 Instruction expects at least 8 input elements per partition\n[rank0]: RuntimeError: Connection closed by peer [192.0.2.9]:3\n", ("distributed_comm",), {"code": "NCC_IXCG856", "rank": 1}),
    Case("engine-core", "version_mismatch", "(EngineCore_DP0 pid=11100) ERROR 01-13 01:00:20 [core.py:708] EngineCore failed to start.\n(EngineCore_DP0 pid=11100) ERROR 01-13 01:00:20 [core.py:708] Traceback (most recent call last):\n(EngineCore_DP0 pid=11100) ERROR 01-13 01:00:20 [core.py:708] ModuleNotFoundError: No module named 'neuronx_distributed_inference'\nRuntimeError: Engine core initialization failed. See root cause above.\n", ("distributed_comm", "unknown"), {"name": "neuronx_distributed_inference"}),
    Case("mpirun-9", "host_oom", LOAD + "mpirun noticed that process rank 3 with PID 0 on node trn2-a exited on signal 9 (Killed).\n", ("distributed_comm", "unknown")),
    Case("slurm-oom", "host_oom", LOAD + "slurmstepd: error: Detected 1 oom_kill event in StepId=77.0. Some of the step tasks have been OOM Killed.\nsrun: error: trn2-a: task 0: Out Of Memory\n", ("interrupted",)),
    Case("spawn-9", "host_oom", trace("torch.multiprocessing.spawn.ProcessExitedException: process 2 terminated with signal SIGKILL"), ("distributed_comm", "unknown"), {"exit": -9}),
    Case("only-exit-code", "host_oom", LOAD + "$ echo $?\n137\n", ("unknown", "in_progress"), {"exit": 137}),
    Case("cpu-allocator", "host_oom", trace("RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 131072000000 bytes. Error code 12 (Cannot allocate memory)"), ("hbm_oom",)),
    Case("hub-reset", "hub_network", "Traceback (most recent call last):\n  File \"/opt/venv/lib/python3.12/site-packages/huggingface_hub/file_download.py\", line 461, in http_get\n    for chunk in r.iter_content():\nConnectionResetError: [Errno 104] Connection reset by peer\n", ("distributed_comm",)),
    Case("hub-aborted", "hub_network", trace("requests.exceptions.ConnectionError: ('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))"), ("distributed_comm",)),
    Case("hub-consistency", "hub_network", trace("OSError: Consistency check failed: file should be of size 4976698672 but has size 1201 (model-00001-of-00002.safetensors).\nThis is usually due to network issues while downloading the file. Please retry with `force_download=True`."), ("disk_full", "data_schema")),
    Case("hub-filelock", "hub_lock_wait", trace("filelock._error.Timeout: The file lock '/home/u/.cache/huggingface/hub/.locks/models--e--M/ab.lock' could not be acquired."), ("file_lock", "cache_lock_wait"), severity="wait"),
    Case("recompiled-then-pass", "eager_fallback", LOAD + "W1003 torch/_dynamo/convert_frame.py:1358] torch._dynamo hit config.recompile_limit (8)\n" + bar("generate", 100, "32/32") + "\nRESULT: PASS\n", ("ok",)),
    Case("cpu-instead", "eager_fallback", "WARNING: Neuron device not found, using CPU\n" + LOAD + "RESULT: PASS\n", ("ok", "no_device")),
    Case("unsupported-op-then-pass", "ok", call() + "[NCC_EVRF001] An unsupported operator was used: sort\nretrying this graph with the decomposed operator\n" + call(2) + "..\nCompiler status PASS\nRESULT: PASS\n", ("unsupported_op",)),
    Case("oom-then-smaller", "in_progress", "'(MaxRetryError(\"HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded\"))' thrown while requesting GET https://huggingface.co/e/M/resolve/main/a.json\nRetrying in 2s [Retry 2/5].\n" + bar("model.safetensors", 44, "1G/2G"), ("hub_network",)),
    Case("text-with-inner-quotes", "ok", LOAD + "generated: 'RuntimeError: NRT_RESOURCE, [NCC_EVRF001], Killed'\njudge: fluent English = yes\nRESULT: PASS\n", ("hbm_oom", "unsupported_op", "host_oom")),
    Case("crash-after-text", "hw_error", LOAD + "generated: The river runs\n" + nrt("TDRV:exec", "[ND 1][NC 0] DMA RX engine 2 is in an abort state") + trace("RuntimeError: nrt_execute status=1203"), ("ok", "in_progress"), {"status": 1203}),
    Case("result-fail-unsaid", "numerical_mismatch", LOAD + bar("generate", 100, "32/32") + "\ntokens 32/32\nRESULT: FAIL\n", ("ok",)),
    Case("english-no", "numerical_mismatch", LOAD + "english=False score=0.11\nRESULT: FAIL\n", ("ok", "unknown")),
    Case("torch-testing", "numerical_mismatch", trace("AssertionError: Tensor-likes are not close!\n\nMismatched elements: 31 / 32 (96.9%)\nGreatest absolute difference: 12.5 at index (0, 7)"), ("unknown",)),
    Case("torchvision-nms", "version_mismatch", trace("RuntimeError: operator torchvision::nms does not exist"), ("unsupported_op",)),
    Case("tokenizers-range", "version_mismatch", trace("ImportError: tokenizers>=0.22.0,<=0.23.0 is required for a normal functioning of this module, but found tokenizers==0.21.4."), ("tokenizer",)),
    Case("libnccom", "version_mismatch", nrt("ENC:enc_load", "Error opening libnccom.so, cannot use collective operations! Please set LD_LIBRARY_PATH to library location. Error: libnccom.so: cannot open shared object file: No such file or directory"), ("distributed_comm", "no_device")),
    Case("glibc", "version_mismatch", trace("ImportError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by /opt/venv/lib/python3.12/site-packages/neuronxcc/x.so)"), ("python_version",)),
    Case("dynamo-python", "python_version", trace("RuntimeError: Dynamo is not supported on Python 3.15+"), ("graph_capture",)),
    Case("distutils", "python_version", trace("ModuleNotFoundError: No module named 'distutils'"), ("version_mismatch",)),
    Case("remote-module", "remote_code", "Traceback (most recent call last):\n  File \"/home/u/.cache/huggingface/modules/transformers_modules/example-org/Odd-7B/ab12/modeling_odd.py\", line 9, in <module>\n    from flash_attn import flash_attn_func\nModuleNotFoundError: No module named 'flash_attn'\n", ("version_mismatch",), {"name": "flash_attn"}),
    Case("remote-attribute", "remote_code", "Traceback (most recent call last):\n  File \"/home/u/.cache/huggingface/modules/transformers_modules/odd/modeling_odd.py\", line 301, in forward\n    past = cache.get_usable_length(n)\nAttributeError: 'DynamicCache' object has no attribute 'get_usable_length'\n", ("unknown",)),
    Case("config-keyerror", "model_unknown", bar("config.json", 100, "1k/1k") + "\nTraceback (most recent call last):\n  File \"/opt/venv/lib/python3.12/site-packages/transformers/models/auto/configuration_auto.py\", line 1017, in from_pretrained\n    config_class = CONFIG_MAPPING[config_dict[\"model_type\"]]\nKeyError: 'ex_next'\n", ("unknown",), {"model_type": "ex_next"}),
    Case("keyerror-elsewhere", "unknown", trace("KeyError: 'model.layers.0.mlp.weight'"), ("model_unknown",)),
    Case("view-sharded", "sharding", ranked(0, trace("RuntimeError: Attempted to flatten sharded dimension 2, which is disallowed without an explicit redistribution")), ("graph_capture",)),
    Case("no-strategy", "sharding", ranked(1, trace("NotImplementedError: Operator aten.histc.default does not have a sharding strategy registered.")), ("unsupported_op",)),
    Case("shape-one-core", "unknown", trace("RuntimeError: shape '[1, 8, -1, 16]' is invalid for input of size 11392"), ("sharding",)),
    Case("jinja", "tokenizer", trace("jinja2.exceptions.TemplateError: Conversation roles must alternate user/assistant/user/assistant/..."), ("unknown",)),
    Case("tiktoken", "tokenizer", trace("ValueError: `tiktoken` is required to read a `tiktoken` file. Install it with `pip install tiktoken`."), ("unknown",)),
    Case("lnc-mismatch", "core_count", nrt("NRT:nrt_load", "NEFF was compiled with LNC=1 but the runtime is configured with LNC=2, LNC mismatch"), ("cache_version_mismatch", "hw_error")),
    Case("ordinal", "core_count", trace("RuntimeError: invalid device ordinal neuron:4: device index 4 out of range, 4 devices visible"), ("no_device",)),
    Case("too-few", "core_count", trace("RuntimeError: world_size 16 exceeds the 4 visible NeuronCores of this host"), ("cores_busy",)),
    Case("modprobe", "no_device", "modprobe: FATAL: Module neuron not found in directory /lib/modules/6.8.0-1029-aws\nls: cannot access '/dev/neuron*': No such file or directory\n", ("driver_mismatch",)),
    Case("status-1200", "hw_error", nrt("TDRV:exec", "(FATAL-RT-UNDEFINED-STATE) missing collectives status on Neuron Device 0 NC 0, model 0 - suspected hang in collectives operation 0 out of 100") + trace("RuntimeError: nrt_execute status=1200"), ("timeout_hang",), {"status": 1200}),
    Case("status-json", "hub_not_found", '{"error": "Repository not found", "status": 404, "url": "https://huggingface.co/api/models/e/Nope"}\n', ("unknown",), {"status": 404}),
    Case("native-lock", "cache_lock_wait", "[Neuron] [INFO] [PersistentCacheBackend.cpp:141] Acquiring compilation lock key= 5ad0 lock_path= /tmp/local_cache/locks/5ad0.lock\n[Neuron] [DEBUG] [PersistentCacheBackend.cpp:150] Lock contention, retrying key= 5ad0\n", ("hub_lock_wait", "in_progress"), severity="wait"),
    Case("native-lock-broken", "in_progress", "[Neuron] [DEBUG] [x.cpp:150] Lock contention, retrying key= 5ad0\n[Neuron] [WARNING] [x.cpp:143] Lock acquisition timed out, breaking stale lock path= /tmp/local_cache/locks/5ad0.lock\n[Neuron] [DEBUG] [x.cpp:9] Compiling IR to NEFF stream_id= 0 cache_key= 5ad0\n", ("cache_lock_wait",)),
    Case("failed-entry-native-words", "cache_failed_entry", wrapper("Got a cached failed neff at s3://example/cache/neuronxcc-2.28.7631.0+aa/MODULE_9+ee/model.neff. Will skip compilation, please set --retry_failed_compilation for recompilation.", "ERROR") + trace("RuntimeError: Compilation failed"), ("compiler_failure", "cache_miss")),
    Case("limit-ranks", "hub_rate_limit", "".join(ranked(n, "huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests for url: https://huggingface.co/example-org/M-1B/resolve/main/config.json") for n in range(8)) + TORCHRUN, ("hub_network", "distributed_comm"), {"status": 429, "ranks": 8}),
    Case("optimum-no-cache", "cache_miss", "WARNING: No cached version found for example-org/M-1B with neuronx-cc 2.28, compiling\n" + call() + "...", ("hub_not_found",)),
    Case("spot", "interrupted", LOAD + "EC2 spot interruption notice: this instance will be terminated in 2 minutes\nSIGTERM\n", ("hw_error", "unknown")),
    Case("ssh-dropped", "interrupted", call() + "....\nclient_loop: send disconnect: Broken pipe\n", ("distributed_comm", "in_progress")),
    Case("death-signal", "interrupted", "W1003 torch/distributed/elastic/agent/server/api.py:741] Received Signals.SIGTERM death signal, shutting down workers\nW1003 api.py:1010] Sending process 3150 closing signal SIGTERM\n", ("host_oom", "distributed_comm")),
    Case("exit-124", "timeout_hang", call() + "....\nrun.py: exited with code 124\n", ("interrupted", "in_progress")),
    Case("core-dump-fills-disk", "compiler_failure", call() + "..\n2026-10-03T14:08:01Z [INTERNAL_ERROR] [NCC_ILIN902] Crash in softmax backward\nSegmentation fault (core dumped)\nwrite error: No space left on device\n", ("disk_full",)),
    Case("json-lines-error", "hbm_oom", '{"level": "error", "rank": 2, "msg": "RuntimeError: nrt_load status=4 message=\\"Allocation Failure\\""}\n', ("unknown", "host_oom"), {"status": 4}),
    Case("fp8-quantizer", "unsupported_dtype", trace("RuntimeError: No GPU or XPU found. A GPU or XPU is needed for FP8 quantization."), ("no_device", "unknown")),
    Case("sqlite-in-hub", "unknown", "ValueError: too many values to unpack (expected 2)\n", ("graph_capture", "sharding")),
    # -- what decides nothing
    Case("benign-remarks", "in_progress", "".join(f"{line}\n" for line in (
        "Setting `pad_token_id` to `eos_token_id`:151645 for open-end generation.",
        "The following generation flags are not valid and may be ignored: ['temperature', 'top_p'].",
        "Flash attention 2 is not available, falling back to eager attention",
        "The fast path is not available because one of `(selective_state_update, causal_conv1d_fn)` is None. Falling back to the naive implementation.",
        "You are using a model of type ex_vl to instantiate a model of type ex. This is not supported for all configurations of models and can yield errors.",
        "Sliding Window Attention is enabled but not implemented for `sdpa`; unexpected results may be encountered.",
        "Token indices sequence length is longer than the specified maximum sequence length for this model (5000 > 2048). Running this sequence through the model will result in indexing errors",
        "Some weights of ExForCausalLM were not initialized from the model checkpoint at example-org/M-1B and are newly initialized: ['lm_head.weight']",
        "Using a slow image processor as `use_fast` is unset and a slow processor was saved with this model.",
        "Xet Storage is enabled for this repo, but the 'hf_xet' package is not installed. Falling back to regular HTTP download.",
        "[W1003 14:07:00.1 socket.cpp:755] [c10d] The client socket cannot be initialized to connect to [localhost]:29500 (errno: 97 - Address family not supported by protocol).",
        "Neuron backend does not support mode='max-autotune', falling back to default mode.",
        "WARN NRT:nrt_init NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS is no longer supported and will be ignored",
        "0 errors, 0 warnings; output contains no NaN",
        "notes: Killed last time, out of memory on 2026-10-01",
        "model: example-org/MemoryError-7B", "checkpoint /data/KeyboardInterrupt/INTERNAL_ERROR/ckpt",
    )) + LOAD, ("eager_fallback", "unsupported_op", "index_oob", "distributed_comm", "host_oom", "numerical_mismatch", "interrupted", "core_count")),
    Case("prompt-is-data", "in_progress", "prompt: What does [Errno 28] No space left on device mean?\n" + LOAD + call() + "...", ("disk_full",)),
    Case("client-retries-then-loads", "in_progress", "[W1003 14:07:00.1 socket.cpp:697] [c10d] The client socket has failed to connect to [localhost]:29500 (errno: 111 - Connection refused).\n" + LOAD, ("distributed_comm",)),
    Case("device-text-differs", "numerical_mismatch", LOAD + "device text: KeyboardInterrupt KeyboardInterrupt\ncpu    text: The river runs\nmatch: 0/32\nRESULT: FAIL (tokens differ from CPU)\n", ("interrupted",), {"matched": 0, "of": 32}),
)  # fmt: skip
