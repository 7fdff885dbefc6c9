"""A batch as Kubernetes Jobs, printed for `kubectl apply -f -`: one a row, by the Neuron device plugin's resources. Not watched.

The image is the user's: it has trnui, the Neuron stack and a way to the dataset. Results are kept where the claim is mounted.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any, Final

from trnui_runner.batch.batch_file import Batch, BatchRow
from trnui_runner.common.text import slug
from trnui_runner.host.core_blocks import CORES_PER_DEVICE, block_size

CORE, DEVICE = "aws.amazon.com/neuroncore", "aws.amazon.com/neuron"
MOUNT: Final = "/trnui-state"


def manifests(batch: Batch, image: str, claim: str | None = None) -> str:
    """YAML documents, each a Job in JSON, which is YAML. claim: a PersistentVolumeClaim for the run folders."""
    jobs = (job_of(batch, row, image, claim) for row in batch.rows if row.device != "cpu")
    return "".join(f"---\n{json.dumps(job, indent=1)}\n" for job in jobs)


def job_of(batch: Batch, row: BatchRow, image: str, claim: str | None) -> dict[str, Any]:
    container: dict[str, Any] = {
        "name": "run",
        "image": image,
        "command": ["sh", "-c", f"trnui sync && {command(batch, row)}"],
        "resources": {"limits": resources(row.cores)},
    }
    pod: dict[str, Any] = {"restartPolicy": "Never", "containers": [container]}
    if claim:
        container["env"] = [{"name": "TRNUI_STATE_DIR", "value": MOUNT}]
        container["volumeMounts"] = [{"name": "state", "mountPath": MOUNT}]
        pod["volumes"] = [{"name": "state", "persistentVolumeClaim": {"claimName": claim}}]
    name = _dns(f"trnui-{batch.id}-{row.n}-{slug(row.model, 24)}")
    labels = {"trnui/batch": _dns(batch.id), "trnui/row": str(row.n)}
    metadata = {"name": name, "labels": labels, "annotations": {"trnui/model": row.model}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        # a FAIL is an answer: it is not paid for again
        "spec": {"backoffLimit": 0, "template": {"metadata": {"labels": labels}, "spec": pod}},
    }


def command(batch: Batch, row: BatchRow) -> str:
    """The row's run, by the stack that the batch was made for."""
    dataset = ["--dataset", batch.dataset] if batch.dataset else []
    return shlex.join(["trnui", *dataset, "run", row.model, "--yes", "--device", "neuron", "--cores", str(row.cores)])


def resources(cores: int) -> dict[str, int]:
    """Whole devices from one device's cores on, so that a group never shares one; the plugin takes one kind of resource."""
    size = block_size(cores)
    return {CORE: size} if size < CORES_PER_DEVICE else {DEVICE: -(-size // CORES_PER_DEVICE)}


def _dns(text: str) -> str:
    """A label of Kubernetes: lower-case letters, digits and dashes, at most 63."""
    return "".join(_characters(text.lower())).strip("-")[:63].strip("-")


def _characters(text: str) -> Iterator[str]:
    for character in text:
        yield character if character.isascii() and (character.isalnum() or character == "-") else "-"
