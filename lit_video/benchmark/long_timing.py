"""Time and memory of training and inference against the frames of a clip, with fitted exponents."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from math import log
from statistics import linear_regression, median
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from lit_video.benchmark.models import Clip, schemes
from lit_video.benchmark.timing import Times, allocated_peak, rounds, rounds_done
from lit_video.modules.optimization import Optimization, make_optimizer
from lit_video.network.block import Checkpointing, checkpoint_layers
from lit_video.network.vit import SIZES, SizeName
from lit_video.utils.environment import provenance
from lit_video.utils.text_tables import text_table

HR = "T+S, twice the side"  # TimeSformer-HR has 16 frames of 448 pixels where -L has 96 of 224
FITTED = ("forward_seconds", "train_seconds", "train_memory")
Actions = dict[str, Callable[[], object]]
Row = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """What is measured.

    Args:
        size: of the ViT.
        image_size: side in pixels.
        frames: of the clips, ascending.
        batch: clips of a step.
        dtype: ``float32``, or ``bfloat16`` by autocast.
        activation_checkpointing: of the training steps.
        repeats: rounds.
    """

    size: SizeName
    image_size: int
    frames: tuple[int, ...]
    batch: int
    dtype: str
    activation_checkpointing: Checkpointing
    repeats: int


def measure(setting: Setting, device: torch.device, command: str) -> Iterator[Row]:
    """The result so far: after the memory of each length, then after each round of times in random order.

    A network takes all lengths, so that its weights are on the device once; a length that does not fit says so in its
    row. Memory is what a training step takes beyond weights, gradients and momentum, as the allocator gave it out.
    """
    torch.manual_seed(0)
    result: Row = provenance(command, device) | asdict(setting) | {"rounds": 0, "rows": []}
    actions: Actions = {}
    for name, side, lengths in _plan(setting):
        network = schemes(SIZES[setting.size], Clip(lengths[0], side))["T+S" if name == HR else name]().network
        checkpoint_layers(network.to(device), setting.activation_checkpointing)
        for frames in lengths:
            row: Row = {"model": name, "frames": frames, "image_size": side}
            forward, train = _steps(network, frames, side, setting, device)
            result["rows"].append(row)
            if reason := _start(row, network, forward, train, device):
                row["left_out"] = reason
            else:
                actions |= {f"{name}, {frames} frames, forward": forward, f"{name}, {frames} frames, train": train}
            yield result
    for times in rounds(actions, setting.repeats, device, first=1):
        result["rows"] = [_timed(row, times) for row in result["rows"]]
        result["exponents"] = exponents(result["rows"])
        result["rounds"] += 1
        yield result


def _plan(setting: Setting) -> list[tuple[str, int, tuple[int, ...]]]:
    """Model, side and lengths; at twice the side up to a quarter of the longest clip, which has as many patches."""
    short = tuple(t for t in setting.frames if 4 * t <= max(setting.frames)) or setting.frames[:1]
    side = setting.image_size
    return [("X-ViT", side, setting.frames), ("T+S", side, setting.frames), (HR, 2 * side, short)]


def _steps(
    network: nn.Module, frames: int, side: int, setting: Setting, device: torch.device
) -> tuple[Callable[[], None], Callable[[], None]]:
    """Inference, and a training step with SGD, in which clips are made on the device."""
    optimizer = make_optimizer(Optimization(lr=1e-6), network)
    shape = (setting.batch, 3, frames, side, side)

    def logits() -> torch.Tensor:
        clip = torch.zeros(shape, device=device)
        with torch.autocast(device.type, torch.bfloat16, setting.dtype == "bfloat16"):
            return network(clip)

    def forward() -> None:
        network.eval()
        with torch.inference_mode():
            logits()

    def train() -> None:
        network.train()
        output = logits().float()
        optimizer.zero_grad()
        torch.autograd.backward(F.cross_entropy(output, torch.zeros_like(output[:, 0], dtype=torch.long)))
        optimizer.step()

    return forward, train


def _gradients(network: nn.Module) -> int:
    return sum(parameter.nbytes for parameter in network.parameters())


def _start(
    row: Row, network: nn.Module, forward: Callable[[], None], train: Callable[[], None], device: torch.device
) -> str:
    """Run both and measure memory; returns why this length cannot run."""
    try:
        train()  # makes the optimizer's state
        network.zero_grad()

        def steps() -> None:  # the first makes the gradients
            train()
            train()

        peak = allocated_peak(steps, device)
        row["train_memory"] = peak - _gradients(network)
        forward()
    except (torch.OutOfMemoryError, RuntimeError) as error:
        if not isinstance(error, torch.OutOfMemoryError) and "allocate memory" not in str(error):
            raise
        if device.type == "cuda":
            torch.cuda.empty_cache()
        return "out of memory"
    return ""


def _timed(row: Row, times: Times) -> Row:
    if "left_out" in row:
        return row
    name = f"{row['model']}, {row['frames']} frames"
    return row | {f"{mode}_seconds": median(times[f"{name}, {mode}"]) for mode in ("forward", "train")}


def exponents(rows: list[Row]) -> dict[str, dict[str, float]]:
    """Of each model, k in ``y = c frames^k``, fitted to the logarithms; of times and memory that are there."""
    fitted: dict[str, dict[str, float]] = {}
    for name in dict.fromkeys(row["model"] for row in rows):
        fitted[name] = {}
        for key in FITTED:
            points = [(log(r["frames"]), log(r[key])) for r in rows if r["model"] == name and r.get(key)]
            if len(points) > 1:
                fitted[name][key] = linear_regression(*zip(*points, strict=True)).slope
    return fitted


def render(result: Row) -> str:
    """The result as a table, and the exponents below."""
    header = ["model", "frames", "side", "forward s", "train s", "memory, GB"]
    body = [_cells(row) for row in result["rows"]]
    title = (
        f"ViT-{result['size']}/16, batch {result['batch']}, {result['dtype']}, checkpointing "
        f"{result['activation_checkpointing']}, {result['device']}, medians of {rounds_done(result)}"
    )
    lines = ["memory: what a training step takes beyond weights, gradients and momentum", "exponents of the frames:"]
    for name, fitted in result.get("exponents", {}).items():
        lines.append(f"  {name}: " + ", ".join(f"{key.replace('_', ' ')} {k:.3f}" for key, k in fitted.items()))
    return text_table(title, header, body) + "\n" + "\n".join(lines)


def _cells(row: Row) -> list[str]:
    times = [f"{row[key]:.4g}" if key in row else row.get("left_out", "") for key in FITTED[:2]]
    memory = [f"{row[key] / 1e9:.3f}" if row.get(key) else "" for key in FITTED[2:]]
    return [row["model"], str(row["frames"]), str(row["image_size"]), *times, *memory]
