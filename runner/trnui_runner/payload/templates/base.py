"""What the run.py of every task shares: ranks, placement, static cache, compilation, generation, what is printed.

request/render_script.py joins it with a task's part (text_generation.py, say) into one self-contained script: the part's
docstring stands in the place of this one, the part's settings over those of the same name here, and `load` below.
"""

from __future__ import annotations

import copy
import ctypes
import dataclasses
import datetime
import inspect
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

# --- settings
MODEL = "Qwen/Qwen3-0.6B"  # Hub id or folder
REVISION: str | None = None  # branch, tag or commit of the Hub repository
DEVICE = "neuron"  # "neuron" or "cpu"
CORES = 1  # one process a core; at most 16
PARALLELISM = "none"  # "none", "tp" (tensor parallel) or "ep" (expert parallel)
DTYPE = "auto"  # "auto" is the checkpoint's own
PROMPT = "The compiler turns every graph into"
NEW_TOKENS = 32
BACKEND = "neuron"  # of torch.compile: "neuron" on Trainium; "aot_eager" or "inductor" on a CPU
COMPILE_PREFILL = True  # send the prompt through the compiled forward too, in one chunk
WARM = False  # generate once more with everything compiled, timed apart
TRUST_REMOTE_CODE = False  # True runs Python code that comes with the checkpoint
RANK_TIMEOUT_S = 1800  # a rank that waits longer for the others gives up
# --- end of settings

# A folder that holds a copy of MODEL (no Hub needed): set by the program that starts this run, or by you.
SOURCE = os.environ.get("TRNUI_CHECKPOINT") or MODEL
GRACE_S = 2.0  # after the first failure, for the other ranks to say their own error
# What a rank says when another one has gone: never the cause.
SECONDARY = ("Connection closed by peer", "Connection reset", "Timed out waiting", "Broken pipe", "closed by remote peer",
             "Socket Timeout", "Stop_waiting", "recvValue failed")  # fmt: skip
# What chunked prefill makes of a model that cannot do it, and what is a fault of compiler or device, and so the run's own.
CHUNK_ERRORS = ("prefill chunking", "index_copy_", "attribute 'cache'", "past_key_values", "cache_position")
DEVICE_ERRORS = ("NCC_", "neuronx-cc", "NRT", "NEFF", "nrt_", "out of memory")
# Of generation_config.json: what plain greedy decoding has no use for, or what needs more than a prompt.
ASIDE: dict[str, Any] = {
    "num_return_sequences": 1, "stop_strings": None, "dola_layers": None, "penalty_alpha": None, "guidance_scale": None,
    "prompt_lookup_num_tokens": None, "watermarking_config": None, "token_healing": False, "max_time": None,
}  # fmt: skip
Load = Callable[[], tuple[Any, Any, dict[str, Any]]]  # model on its device, tokenizer, encoded prompt


def main(load: Load) -> int:
    if CORES == 1 or "RANK" in os.environ:  # set by start_ranks below, or by torchrun
        return as_rank(load) if CORES > 1 else run(0, load)
    return start_ranks()


def tell(event: str, **data: Any) -> None:
    """One line for the program that watches this run, if any: $TRNUI_RUN_DIR/events/<pid>.jsonl."""
    folder = os.environ.get("TRNUI_RUN_DIR")
    if not folder:
        return
    rank = os.environ.get("RANK")
    head = {"t": round(time.time(), 4), "rank": int(rank) if rank else None, "pid": os.getpid(), "event": event}
    try:
        with open(f"{folder}/events/{os.getpid()}.jsonl", "ab", buffering=0) as file:
            file.write(json.dumps({**head, **data}).encode() + b"\n")
    except OSError:
        pass  # a full disk ends no run


def say(text: str) -> None:
    """From rank 0 only: the ranks share one stdout."""
    if os.environ.get("RANK", "0") == "0":
        print(text, flush=True)


def start_ranks() -> int:
    """One process a core; ends the others soon after the first failure. Returns 0 if every rank did."""
    if not 1 < CORES <= 16:
        raise SystemExit(f"CORES = {CORES}: 1 to 16 cores")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    cores = visible_cores()
    with tempfile.TemporaryDirectory(prefix="ranks-") as errors:
        ranks: list[subprocess.Popen[bytes]] = []
        try:
            for rank in range(CORES):
                env = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(CORES),
                       "LOCAL_WORLD_SIZE": str(CORES), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                       "RANK_ERRORS": errors, "RANK_PARENT": str(os.getpid())}  # fmt: skip
                env.setdefault("OMP_NUM_THREADS", str(max(1, len(os.sched_getaffinity(0)) // CORES)))
                if cores:  # a value shared by all ranks would give them all the same core
                    env["NEURON_RT_VISIBLE_CORES"] = str(cores[rank])
                ranks.append(subprocess.Popen([sys.executable, os.path.abspath(__file__)], env=env))
            wait(ranks)
        finally:
            for process in ranks:
                if process.poll() is None:
                    process.kill()
            for process in ranks:
                process.wait()
        return report([process.returncode for process in ranks], errors)


def visible_cores() -> list[int]:
    """The cores this run may use, from NEURON_RT_VISIBLE_CORES ("4-7" or "0,2"); empty: the runtime's own choice."""
    found: list[int] = []
    for part in os.environ.get("NEURON_RT_VISIBLE_CORES", "").split(","):
        if part.strip():
            first, _, last = part.partition("-")
            found += range(int(first), int(last or first) + 1)
    if found and len(found) < CORES:
        raise SystemExit(f"NEURON_RT_VISIBLE_CORES names {len(found)} cores, this run needs {CORES}")
    return found


def wait(ranks: list[subprocess.Popen[bytes]]) -> None:
    """Until all ranks have ended, or GRACE_S after the first that failed."""
    failed = None
    while any(process.poll() is None for process in ranks):
        if failed is None and any(process.poll() for process in ranks):
            failed = time.monotonic()
        if failed is not None and time.monotonic() - failed > GRACE_S:
            return
        time.sleep(0.02)


def report(codes: list[int], errors: str) -> int:
    """The ranks' errors on stderr, the cause first: the first rank to exit is often not the one at fault."""
    if not any(codes):
        return 0
    said: list[dict[str, Any]] = []
    for rank, code in enumerate(codes):
        try:
            with open(f"{errors}/{rank}.json", encoding="utf-8") as file:
                said.append(json.load(file))
        except (OSError, ValueError):
            if code < 0 and code != -signal.SIGKILL:
                how = f"ended by {signal.Signals(-code).name}"
                said.append({"rank": rank, "t": 0.0, "class": "Signal", "text": how})
    if all(secondary(error) for error in said):  # nobody has named a cause: killed from outside, or a silent exit
        spoke = {error["rank"] for error in said}
        for rank, code in enumerate(codes):
            if rank not in spoke:
                how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
                said.append({"rank": rank, "t": 0.0, "class": "RankLost", "text": f"{how} without an error of its own"})
    said.sort(key=lambda error: (secondary(error), error["t"]))
    for error in said:
        follows = " (follows from another rank's end)" if secondary(error) else ""
        words = " ".join(error["text"].split())[:400]  # the whole of it stands above, in the rank's traceback
        print(f"rank {error['rank']} of {CORES}: {error['class']}: {words}{follows}", file=sys.stderr)
    if said:
        tell("error", **{"rank": said[0]["rank"], "class": said[0]["class"], "text": said[0]["text"], "primary": True})
    return 1


def secondary(error: dict[str, Any]) -> bool:
    return any(words in error["text"] for words in SECONDARY)


def as_rank(load: Load) -> int:
    """`run` in a process group. An error is told to the parent, then the process ends without touching the group again."""
    rank = int(os.environ["RANK"])
    if sys.platform == "linux":  # no rank outlives its parent
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.environ.get("RANK_PARENT") not in (None, str(os.getppid())):
            return 1
    try:
        import torch
        import torch.distributed as dist

        if DEVICE == "neuron":
            use_neuron()
        timeout = datetime.timedelta(seconds=RANK_TIMEOUT_S)  # transformers' own would be two hours
        dist.init_process_group("neuron" if DEVICE == "neuron" else "gloo", timeout=timeout)
        if DEVICE == "neuron":  # after the group: until then the runtime must not have started
            torch.accelerator.set_device_index(int(os.environ.get("LOCAL_RANK", rank)))
        code = run(rank, load)
        dist.destroy_process_group()
    except BaseException as error:  # noqa: BLE001  whatever it is, the parent must hear of it
        folder = os.environ.get("RANK_ERRORS")
        if folder:
            with open(f"{folder}/{rank}.json", "w", encoding="utf-8") as file:
                told = {"rank": rank, "t": time.time(), "class": type(error).__name__, "text": str(error)[-4000:]}
                json.dump(told, file)
        sys.excepthook(type(error), error, error.__traceback__)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)  # an ordinary exit may hang in live collectives
    return code


def use_neuron() -> None:
    """torch loads TorchNeuron by itself where its entry point is installed; the import makes an absent one say so."""
    import torch_neuronx  # noqa: F401


def placement() -> dict[str, Any]:
    """Where from_pretrained puts the weights: all on one device, or this rank's shard of them."""
    if CORES == 1:
        return {"device_map": DEVICE}
    from transformers.distributed import DistributedConfig

    known = {field.name for field in dataclasses.fields(DistributedConfig)}
    split: dict[str, Any] = {"tp_size": CORES, "tp_plan": "auto"}
    if PARALLELISM == "ep":  # with a plan that shards nothing but the experts, this is expert parallelism alone
        split.update({"ep_size": CORES} if "ep_size" in known else {"enable_expert_parallel": True})
    return {"distributed_config": DistributedConfig(**split)}


def cache_options(model: Any, length: int) -> dict[str, Any]:
    """A static cache of `length` slots.

    A sliding layer counts its tokens in a Python int, which makes each step another graph. As long as everything fits
    into the window, a full layer gives the same answer with one graph.
    """
    config = model.config.get_text_config(decoder=True)
    kinds = getattr(config, "layer_types", None) or []
    window = getattr(config, "sliding_window", None)
    slides = "sliding_attention" in kinds or (window and not kinds)
    if not slides or not window or length > window or set(kinds) - {"sliding_attention", "full_attention"}:
        return {"cache_implementation": "static"}
    from transformers import StaticCache

    plain = copy.deepcopy(config)
    plain.layer_types = ["full_attention"] * config.num_hidden_layers
    plain.sliding_window = None
    name = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"
    return {name: StaticCache(config=plain, max_cache_len=length)}


def compile_options(model: Any, prompt_length: int, chunked: bool) -> dict[str, Any]:
    from transformers import CompileConfig

    config = CompileConfig(backend=BACKEND, mode="default", dynamic=False, fullgraph=False, options=None)
    if DEVICE == "cpu":
        config._compile_all_devices = True  # generate() compiles on accelerators only, unless told
    options: dict[str, Any] = {"compile_config": config}
    text = model.config.get_text_config(decoder=True)
    if chunked and getattr(text, "num_attention_heads", None):  # attention-free models have no chunks
        options["prefill_chunk_size"] = prompt_length
    return options


def generate(model: Any, tokenizer: Any, inputs: dict[str, Any], chunked: bool, streamer: Any = None) -> list[int]:
    """The new tokens, greedy. An end token is not allowed before the last one, so that there are always NEW_TOKENS."""
    import torch

    length = int(inputs["input_ids"].shape[1])
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    options = {"max_new_tokens": NEW_TOKENS, "min_new_tokens": NEW_TOKENS, "do_sample": False, "num_beams": 1, "use_cache": True,
               "pad_token_id": pad if pad is not None else 0}  # fmt: skip
    options.update(set_aside(model))
    options.update(cache_options(model, length + NEW_TOKENS))
    options.update(compile_options(model, length, chunked))
    # The inputs stay on the host: each step's growing list of tokens makes no graph on the device.
    with torch.no_grad():
        out = model.generate(**inputs, **options, streamer=streamer)
    return [int(token) for token in out[0, length:].tolist()]


def set_aside(model: Any) -> dict[str, Any]:
    """Options that undo what the checkpoint's generation_config.json asks for and greedy decoding of one prompt is not."""
    asked = {name: getattr(model.generation_config, name, None) for name in ASIDE}
    return {name: value for name, value in ASIDE.items() if asked[name] not in (None, False, 1, 1.0)}


def of_the_chunk(error: Exception) -> bool:
    """Whether chunked prefill, an option of this script and none of the model, may be what failed."""
    text = f"{type(error).__name__}: {error}"
    if type(error).__name__ in ("BackendCompilerFailed", "OutOfMemoryError") or any(
        w in text for w in (*DEVICE_ERRORS, *SECONDARY)
    ):
        return False
    return CORES == 1 or any(words in text for words in CHUNK_ERRORS)  # all ranks must decide alike


def streamer_for(tokenizer: Any) -> Any:
    """Tells each token as it comes; the text is what the token adds, held back while a character is not complete."""

    class Stream:
        def __init__(self) -> None:
            self.ids: list[int] = []
            self.shown, self.prompt, self.first = "", True, 0.0

        def put(self, value: Any) -> None:
            if self.prompt:  # the first call brings the prompt
                self.prompt = False
                return
            self.first = self.first or time.monotonic()
            self.ids += [int(token) for token in value.reshape(-1).tolist()]
            text = tokenizer.decode(self.ids, skip_special_tokens=False)
            new = "" if text.endswith("\ufffd") else text[len(self.shown) :]
            self.shown += new
            tell("token", id=self.ids[-1], text=new, n=len(self.ids))

        def end(self) -> None:
            pass

    return Stream()


def graphs() -> int:
    from torch._dynamo.utils import counters

    return int(counters["stats"].get("unique_graphs", 0))


def versions() -> str:
    from importlib.metadata import PackageNotFoundError, version

    found = [f"Python {sys.version.split()[0]}"]
    for name in ("torch", "torch-neuronx", "neuronx-cc", "transformers", "accelerate"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def run(rank: int, load: Load) -> int:
    """Load, generate, print. The same in every rank; only rank 0 prints."""
    started = time.monotonic()
    say(versions())
    if DEVICE == "neuron":
        os.environ.setdefault("HF_DEACTIVATE_ASYNC_LOAD", "1")  # weights are loaded one after the other
    say(f"model: {MODEL}" + (f" (from {SOURCE})" if SOURCE != MODEL else f" at {REVISION}" if REVISION else ""))
    import torch
    import transformers

    if DEVICE == "neuron":
        use_neuron()
        import torch_neuronx

        if getattr(torch_neuronx, "STANDIN", False):
            say("The device is a stand-in over CPU memory, not a Trainium.")
    transformers.utils.logging.disable_progress_bar()
    if DEVICE == "cpu" and CORES > 1 and "OMP_NUM_THREADS" in os.environ:
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    imported = time.monotonic()
    model, tokenizer, inputs = load()
    length = int(inputs["input_ids"].shape[1])
    if length == 0:
        raise ValueError(f"The prompt {PROMPT!r} encodes to 0 tokens: is the checkpoint's tokenizer there?")
    loaded = time.monotonic()
    times = f"{loaded - imported:.1f} s after {imported - started:.1f} s of imports"
    say(f"loaded {type(model).__name__} ({model.dtype}) on {CORES} x {DEVICE}, {times}")
    aside = ", ".join(sorted(set_aside(model)))
    if aside:
        words = f"set aside of generation_config.json: {aside}"
        say(words)
        if rank == 0:
            tell("notice", kind="set aside", text=words)
    chunked, stream, failed = COMPILE_PREFILL, streamer_for(tokenizer) if rank == 0 else None, ""
    ids: list[int] = []
    try:
        ids = generate(model, tokenizer, inputs, chunked, stream)
    except Exception as error:
        if not chunked or not of_the_chunk(error):
            raise
        failed = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    if failed:
        chunked, stream = False, streamer_for(tokenizer) if rank == 0 else None
        say(f"no chunked prefill ({failed}): once more without")
        ids = generate(model, tokenizer, inputs, chunked, stream)
    done = time.monotonic()
    first = stream.first if stream is not None and stream.first else done
    say(f"prompt: {length} tokens; new: {len(ids)} tokens")
    say(f"tokens: {ids}")
    say(f"text: {tokenizer.decode(ids, skip_special_tokens=True)!r}")
    times = f"first token after {first - loaded:.1f} s, all after {done - loaded:.1f} s (with compilation)"
    say(f"graphs compiled: {graphs()}; {times}")
    memory()
    if WARM:
        before, again = graphs(), time.monotonic()
        same = generate(model, tokenizer, inputs, chunked) == ids
        took = time.monotonic() - again
        tell("warm", seconds=round(took, 4), tokens=len(ids), new_graphs=graphs() - before, same_tokens=same)
        words = "the same" if same else "OTHER"
        say(f"warm: {len(ids)} tokens in {took:.2f} s, {graphs() - before} new graphs, {words} tokens")
    return 0


def memory() -> None:
    """Peak device memory of this rank's tensors, as torch.neuron counts it; the runtime's own comes on top."""
    if DEVICE != "neuron":
        return
    import torch

    torch.neuron.synchronize()  # without it only finished work is counted
    say(f"peak tensor memory of rank 0: {torch.neuron.max_memory_allocated() / 2**30:.3f} GiB")
