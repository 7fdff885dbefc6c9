"""Python loads this in every process of a run (its folder is on PYTHONPATH). It imports nothing and waits for the libraries
that are worth observing; then it loads `trnui_probe` from beside it. If that fails the run goes on without."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
WATCHED = {
    "huggingface_hub.file_download",
    "torch.distributed.distributed_c10d",
    "torch._dynamo.callback",
    "torch._dynamo.output_graph",
    "transformers.modeling_utils",
    "transformers.generation.utils",
    "transformers.models.auto.auto_factory",
    "transformers.tokenization_utils_base",
}


class Finder:
    """First in sys.meta_path; it has a say about the watched names only."""

    @staticmethod
    def find_spec(name, path=None, target=None):  # type: ignore[no-untyped-def]  # typing would import a module
        if name not in WATCHED:
            return None
        WATCHED.discard(name)  # once; a reload is left alone
        try:
            return probe().find(Finder, name, path, target)  # type: ignore[no-untyped-call]
        except Exception as error:  # then the other finders do what they always do
            WATCHED.clear()
            try:
                with open(f"{os.environ['TRNUI_RUN_DIR']}/events/{os.getpid()}.jsonl", "a") as file:
                    file.write('{"event":"notice","text":"probe: %s"}\n' % type(error).__name__)
            except Exception:
                pass
        return None


def probe():  # type: ignore[no-untyped-def]
    """The package beside this file, under a name that is nobody else's."""
    if "trnui_probe" not in sys.modules:
        from importlib.util import module_from_spec, spec_from_file_location

        folder = os.path.join(HERE, "trnui_probe")
        spec = spec_from_file_location(
            "trnui_probe", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )
        module = sys.modules["trnui_probe"] = module_from_spec(spec)  # type: ignore[arg-type]
        module.place = place  # type: ignore[attr-defined]
        try:
            spec.loader.exec_module(module)  # type: ignore[union-attr]
        except BaseException:
            del sys.modules["trnui_probe"]
            raise
    return sys.modules["trnui_probe"]


def place(rank):  # type: ignore[no-untyped-def]
    """Gives a rank the core that the run has leased for it, unless its script has chosen one: TorchNeuron takes core RANK else."""
    cores = os.environ.get("TRNUI_RANK_CORES", "").split(",")
    if cores[0] and str(rank).isdecimal() and int(rank) < len(cores) and not os.environ.get("NEURON_RT_VISIBLE_CORES"):
        os.environ["NEURON_RT_VISIBLE_CORES"] = cores[int(rank)]


if os.environ.get("TRNUI_RUN_DIR"):
    place(os.environ.get("LOCAL_RANK"))  # type: ignore[no-untyped-call]  # torchrun and the like: known before torch
    sys.meta_path.insert(0, Finder)
sys.path[:] = [p for p in sys.path if os.path.abspath(p) != HERE]
_me = sys.modules.pop(__name__, None)
try:
    import sitecustomize  # type: ignore[import-not-found]  # noqa: F401  the next one on the path, as if this one were not there
except ImportError as error:
    if error.name != "sitecustomize":
        raise
finally:
    if _me is not None:
        sys.modules.setdefault(__name__, _me)
