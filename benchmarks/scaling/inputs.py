"""What the plan is computed from: assumptions, each with its source, and stored measurements. Imports no torch."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lit_video.costs.memory import Footprint
from lit_video.costs.scaling import Cluster, Model
from lit_video.errors import UserError

GB = 1e9


@dataclass(frozen=True)
class Gpu:
    """A device of the market: rate of dense bfloat16 products in FLOP/s, memory in GB, both by its data sheet."""

    name: str
    peak: float
    memory: float
    source: str


GPUS = {
    "A100": Gpu("A100 80 GB SXM", 312e12, 80, "NVIDIA A100 data sheet"),
    "H100": Gpu("H100 SXM", 989e12, 80, "NVIDIA H100 data sheet, half of its figure with sparsity"),
    "H200": Gpu("H200 SXM", 989e12, 141, "NVIDIA H200 data sheet, half of its figure with sparsity"),
}


def _option(default: float | int | None, text: str) -> Any:
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class Assumptions:
    """What is assumed; every one but the device is a flag of ``write``."""

    gpu: Gpu
    utilisation: float = _option(0.35, "share of the peak that training reaches, where no GPU was measured")
    operator: float = _option(10.0, "microseconds to start an operator, where no GPU was measured")
    node: int = _option(8, "GPUs of a node")
    link: float = _option(450.0, "GB/s of a GPU to those of its node, each direction")
    network: float = _option(400.0, "GB/s of a node to the others, each direction")
    reached: float = _option(0.8, "share of both that a collective reaches")
    overlap: float = _option(0.8, "share of the computation in which communication costs nothing")
    videos: int = _option(240_000, "training videos of an epoch")
    cores: int = _option(112, "CPU cores of a node")
    storage: float = _option(10.0, "GB/s that storage gives all nodes together")
    price: float | None = _option(None, "of a GPU-hour, in your currency")

    @property
    def cluster(self) -> Cluster:
        """NVLink's and the network's latencies are NCCL's (src/graph/tuning.cc, ring, "Simple")."""
        return Cluster(self.node, self.link * GB, self.network * GB, self.reached, 3.4e-6, 14e-6, overlap=self.overlap)


@dataclass(frozen=True)
class Inputs:
    """Stored measurements.

    Args:
        counts: of ``measure counts``.
        clips: of ``measure clips``.
        processes: of ``measure processes``.
        device: of ``measure device`` on a GPU; ``None`` where there is none.
        models: for the predictions, by name.
        footprints: their memory, by name.
    """

    counts: dict[str, Any]
    clips: dict[str, Any]
    processes: dict[str, Any]
    device: dict[str, Any] | None
    models: dict[str, Model]
    footprints: dict[str, Footprint]


def read_inputs(results: Path, assumptions: Assumptions) -> Inputs:
    """Read them.

    Raises:
        UserError: one was not measured.
    """
    counts, clips, processes = (
        _read(results / "scaling" / f"{name}.json") for name in ("counts", "clips", "processes")
    )
    device = _device(results / "gpu" / "training.json", assumptions.gpu)
    models, footprints = {}, {}
    for name, row in counts["models"].items():
        shape = row["parameters"], row["largest_block"]
        taken = _measured(name, device) if device else _estimated(row, assumptions)
        models[name] = Model(*shape, row["blocks"], *taken)
        footprints[name] = Footprint(*shape, row["kept_bytes"], row["clip_bytes"], row["checkpointed_bytes"])
    return Inputs(counts, clips, processes, device, models, footprints)


def _read(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UserError(f"{path}: not there, or damaged; python benchmarks/scaling measure {path.stem}") from None
    return content


def _device(path: Path, gpu: Gpu) -> dict[str, Any] | None:
    """A measurement on this very kind of GPU, if there is one."""
    stored = _read(path) if path.exists() else None
    return stored if stored and stored["gpu"] and gpu.name.split()[0] in stored["device"] else None


def _estimated(row: dict[str, Any], assumptions: Assumptions) -> tuple[float, float]:
    """Seconds per clip, and of a step at least: 3 passes' worth of 2 FLOP per multiply-add; operators one by one."""
    seconds = 6 * row["macs"] / (assumptions.utilisation * assumptions.gpu.peak)
    return seconds, row["operators"] * assumptions.operator * 1e-6


def _measured(name: str, device: dict[str, Any]) -> tuple[float, float]:
    """The same from measured steps: the largest batch's time per clip, the smallest's whole time."""
    rows = sorted((row for row in device["rows"] if row["model"] == name), key=lambda row: row["batch"])
    if not rows:
        raise UserError(f"{name} is not among the measured models; python benchmarks/scaling measure device")
    return rows[-1]["train_seconds"] / rows[-1]["batch"], rows[0]["train_seconds"]
