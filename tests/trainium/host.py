"""Builds a stand-in trn2 host in a folder. By hand: `eval "$(python tests/trainium/host.py FOLDER devices=1 compile_s=3)"`."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import sysconfig
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

if __package__:
    from .shape import Busy, Shape
    from .sysfs import write_sysfs
else:  # by hand, by file path
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from trainium.shape import Busy, Shape
    from trainium.sysfs import write_sysfs

HERE = Path(__file__).resolve().parent
TOOLS = {"neuron-ls": "opt/aws/neuron/bin", "neuron-monitor": "opt/aws/neuron/bin"}
VENV = "opt/aws_neuronx_venv_torch_neuronx_2_14_0"


@dataclass
class Host:
    """A built host. `environ` puts it around a process; `python` is its AWS-like environment's interpreter, which needs no PYTHONPATH."""

    root: Path
    shape: Shape

    @property
    def python(self) -> Path:
        return self.root / VENV / "bin" / "python"

    @property
    def neff_cache(self) -> Path:
        """Where its torch_neuronx caches when TORCH_NEURONX_NEFF_CACHE_DIR does not say."""
        return self.root / "tmp" / "neff_cache"

    @property
    def environ(self) -> dict[str, str]:
        path = os.environ.get("PATH", os.defpath)
        return {
            "TRNUI_HOST_ROOT": str(self.root),
            "PATH": os.pathsep.join([str(self.root / "opt/aws/neuron/bin"), str(self.python.parent), path]),
            "PYTHONPATH": str(self.root / "site"),
        }

    def change(self, **fields: Any) -> None:
        """Another shape from now on; processes that have started keep what they have read."""
        self.shape = replace(self.shape, **fields)
        _write(self.root, self.shape)

    def compiles(self) -> list[dict[str, Any]]:
        """One entry a call of its neuronx-cc, in order."""
        log = self.root / "run" / "compiles.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def build(root: Path, shape: Shape | None = None) -> Host:
    """A new host in the folder `root` (made, or made over)."""
    root.mkdir(parents=True, exist_ok=True)
    for name in ("run/cores", "run/processes", "tmp", "dev", "site", "opt/aws/neuron/bin"):
        (root / name).mkdir(parents=True, exist_ok=True)
    host = Host(root.resolve(), shape or Shape())
    for package in ("torch_neuronx", "neuronxcc"):
        _link(host.root / "site" / package, HERE / package)
    _venv(host.root)
    _write(host.root, host.shape)
    return host


def _write(root: Path, shape: Shape) -> None:
    part = root / "host.json.part"
    part.write_text(json.dumps(shape.to_json(), indent=1))
    part.replace(root / "host.json")
    present = {"neuron-ls": shape.neuron_ls, "neuron-monitor": shape.neuron_monitor}
    for tool, folder in TOOLS.items():
        _tool(root, root / folder / tool, present[tool] != "absent")
    _tool(root, root / VENV / "bin" / "neuronx-cc", shape.compiler != "absent")
    _distributions(root / "site", shape)
    for node in (root / "dev").glob("neuron*"):
        node.unlink()
    for n in range(shape.devices if shape.driver else 0):
        (root / "dev" / f"neuron{n}").touch()  # a plain file: making a device node takes root
    write_sysfs(root, shape)


def _tool(root: Path, path: Path, present: bool) -> None:
    """The tool as one executable file that finds its host beside it. `-I -S -E`: nothing of the run's own reaches it."""
    if not present:
        path.unlink(missing_ok=True)
        return
    source = (HERE / "tools" / (path.name.replace("-", "_") + ".py")).read_text()
    path.write_text(f"#!{os.path.realpath(sys.executable)} -ISE\nROOT = {str(root)!r}\n{source}")
    path.chmod(0o755)


def _distributions(site: Path, shape: Shape) -> None:
    """Installed-distribution folders: versions that say stand-in, and the entry points by which PyTorch finds the real one."""
    for old in site.glob("*.dist-info"):
        shutil.rmtree(old)
    points = (
        "[torch.backends]\ntorch_neuronx = torch_neuronx:_autoload\n\n"
        "[torch_dynamo_backends]\nneuron = torch_neuronx.compiler:compile_graph\n"
    )
    for name, version, entry in (
        ("torch-neuronx", shape.torch_neuronx, points),
        ("neuronx-cc", shape.neuronx_cc, ""),
        ("nki", shape.nki, ""),
    ):
        full = f"{version}+standin"
        folder = site / f"{name.replace('-', '_')}-{full}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {full}\nSummary: stand-in, not {name}\n"
        )
        if entry:
            (folder / "entry_points.txt").write_text(entry)


def _venv(root: Path) -> None:
    """An environment like AWS's, made of this interpreter's packages and the stand-in's."""
    venv = root / VENV
    site = venv / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    site.mkdir(parents=True, exist_ok=True)
    (venv / "bin").mkdir(exist_ok=True)
    base = os.path.realpath(sys.executable)
    (venv / "pyvenv.cfg").write_text(
        f"home = {os.path.dirname(base)}\ninclude-system-site-packages = false\n"
        f"version = {sys.version.split()[0]}\nexecutable = {base}\n"
    )
    for name in ("python", "python3"):
        _link(venv / "bin" / name, Path(base))
    (site / "standin.pth").write_text(f"{root / 'site'}\n{sysconfig.get_paths()['purelib']}\n")


def _link(path: Path, target: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def main(arguments: list[str]) -> None:
    """Prints the exports for a shell."""
    fields = {name: json.loads(value) for name, _, value in (a.partition("=") for a in arguments[1:])}
    if "busy" in fields:
        fields["busy"] = {int(core): Busy(**owner) for core, owner in fields["busy"].items()}
    host = build(Path(arguments[0]), Shape(**fields))
    for name, value in host.environ.items():
        print(f"export {name}={shlex.quote(value)}")


if __name__ == "__main__":
    main(sys.argv[1:])
