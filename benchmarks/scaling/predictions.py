"""The plan's numbers: strong and weak scaling, memory, data. Imports no torch."""

from dataclasses import dataclass

from inputs import GB, Assumptions, Inputs

from lit_video.costs.memory import SHARE
from lit_video.costs.scaling import Strategy, step

COUNTS = [2**i for i in range(11)]
MEMORIES = (24, 40, 80, 141)  # GB of a device
HOUR = 3600.0


@dataclass(frozen=True)
class Prediction:
    """A model on a number of GPUs.

    Args:
        gpus: how many.
        clips: of a GPU in a pass.
        passes: accumulated to an optimizer step.
        rate: clips/s of all GPUs.
        epoch: hours.
        gpu_hours: of the paper's whole training.
        efficiency: rate per GPU over that of one GPU.
    """

    gpus: int
    clips: int
    passes: int
    rate: float
    epoch: float
    gpu_hours: float
    efficiency: float


def room(memory: float) -> float:
    """Bytes of a device of so many GB that predicted ones may fill."""
    return SHARE * memory * GB


def per_pass(inputs: Inputs, name: str, share: int, memory: float) -> int:
    """Clips of a pass: the most that divide a GPU's share of the batch and fit; 0 if not one does."""
    footprint = inputs.footprints[name]
    fit = footprint.clips(footprint.ddp(), room(memory))
    return max((clips for clips in range(1, share + 1) if share % clips == 0 and clips <= fit), default=0)


def strong(inputs: Inputs, a: Assumptions, name: str, gpus: int, strategy: Strategy = "ddp") -> Prediction | None:
    """At the paper's global batch, against one GPU that accumulates it; ``None`` where no clip is left or fits."""
    batch = inputs.counts["models"][name]["global_batch"]
    most = per_pass(inputs, name, batch, a.gpu.memory)
    clips = per_pass(inputs, name, batch // gpus, a.gpu.memory)
    if not clips:
        return None
    return _predict(inputs, a, name, strategy, Batch(gpus, clips, batch // gpus // clips, most))


def weak(inputs: Inputs, a: Assumptions, name: str, gpus: int, strategy: Strategy = "ddp") -> Prediction | None:
    """At the clips per GPU of the paper's batch on eight, or what fits: the global batch grows."""
    clips = per_pass(inputs, name, inputs.counts["models"][name]["global_batch"] // 8, a.gpu.memory)
    return _predict(inputs, a, name, strategy, Batch(gpus, clips, 1, clips)) if clips else None


@dataclass(frozen=True)
class Batch:
    """An optimizer step's clips: GPUs, clips of a pass, passes; and clips of a pass of the one GPU beside it."""

    gpus: int
    clips: int
    passes: int
    alone: int


def _predict(inputs: Inputs, a: Assumptions, name: str, strategy: Strategy, batch: Batch) -> Prediction:
    model = inputs.models[name]
    seconds = step(strategy, model, batch.gpus, batch.clips, batch.passes, a.cluster).seconds
    rate = batch.gpus * batch.clips * batch.passes / seconds
    alone = batch.alone / model.compute(batch.alone)
    epoch = a.videos / rate / HOUR
    hours = batch.gpus * epoch * inputs.counts["models"][name]["epochs"]
    return Prediction(batch.gpus, batch.clips, batch.passes, rate, epoch, hours, rate / batch.gpus / alone)


@dataclass(frozen=True)
class Demand:
    """What a GPU's training asks of the data path, and what the machine gives.

    Args:
        rate: clips/s of a GPU.
        cores: CPU cores that keep it busy, by kind of videos.
        bytes: read per second.
        by_cores: share of its rate that a node's cores allow, by kind of videos; 1 at most.
        by_storage: GPUs that the storage keeps busy.
    """

    rate: float
    cores: dict[str, float]
    bytes: float
    by_cores: dict[str, float]
    by_storage: float


def demand(inputs: Inputs, a: Assumptions, name: str) -> Demand:
    """Of a model at its clips per GPU; each clip reads its video once, whole."""
    alone = weak(inputs, a, name, 1)
    rate = alone.rate if alone else 0.0
    rows = inputs.clips["rows"]
    cores = {row["videos"]: rate * row["cpu_seconds"][name] for row in rows}
    read = rate * rows[0]["video_bytes"]
    shares = {kind: min(1.0, a.cores / a.node / each) if each else 1.0 for kind, each in cores.items()}
    return Demand(rate, cores, read, shares, a.storage * GB / read if read else 0.0)
