"""Measure time and memory by the frames of a clip: X-ViT, and TimeSformer's T+S at two sizes (-L, -HR).

python -m benchmarks.long
python -m benchmarks.long --dtype bf16 --checkpointing block -o long.json
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import log
from statistics import linear_regression

from torch import nn

from benchmarks.harness import (
    Actions,
    Measurement,
    Result,
    Row,
    Table,
    add_size,
    first_steps,
    number,
    parser,
    ran,
    steps,
    weights,
)
from benchmarks.models import schemes
from lit_video.network.block import set_grad_checkpointing
from lit_video.network.vit import SIZES

HR = "T+S, twice the side"  # TimeSformer-HR has 16 frames of 448 pixels where -L has 96 of 224
FITTED = ("forward_seconds", "train_seconds", "train_memory")


def start(measurement: Measurement, network: nn.Module, row: Row) -> Actions:
    """Run a length once; measure a training step's memory beyond weights and gradients."""
    given = measurement.arguments
    shape = (given.batch, 3, row["frames"], row["image_size"], row["image_size"])
    actions = first_steps(row, steps(network, shape, given.dtype, measurement.device), measurement.device)
    if row["train_memory"] is not None:
        row["train_memory"] -= weights(network)
    return actions


def exponents(rows: list[Row]) -> dict[str, dict[str, float]]:
    """Fit k of ``y = c frames^k`` to the logarithms of each model's measured times and memory."""
    fitted: dict[str, dict[str, float]] = {}
    for model in dict.fromkeys(row["model"] for row in rows):
        fitted[model] = {}
        for key in FITTED:
            points = [(log(r["frames"]), log(r[key])) for r in rows if r["model"] == model and r.get(key)]
            if len(points) > 1:
                fitted[model][key] = linear_regression(*zip(*points, strict=True)).slope
    return fitted


def tables(result: Result) -> Iterator[Table]:
    """Yield the result as a table, with the exponents below."""
    title = (
        f"ViT-{result['size']}/16, batch {result['batch']}, {result['dtype']}, checkpointing "
        f"{result['checkpointing']}, {result['device']}, medians of {result['rounds']}"
    )
    header = ["model", "frames", "side", "forward s", "train s", "memory, GB"]
    notes = ["memory: of a training step, beyond weights, gradients and the optimizer's state"]
    for model, fitted in exponents(result["rows"]).items():
        powers = ", ".join(f"{key.replace('_', ' ')} {k:.3f}" for key, k in fitted.items())
        notes.append(f"exponents of the frames, {model}: {powers}")
    yield Table(title, header, [_cells(row) for row in result["rows"]], notes)


def _cells(row: Row) -> list[str]:
    times = [number(row, key, ".4g") or row.get("left_out", "") for key in FITTED[:2]]
    return [row["model"], str(row["frames"]), str(row["image_size"]), *times, number(row, "train_memory", ".3f", 1e9)]


def main() -> int:
    """Measure all lengths in one run; one network takes them all, to keep its weights on the device once."""
    made = parser("long", __doc__, repeats=5)
    add_size(made, frames="8,16,32,64,96,128")
    made.add_argument("--dtype", choices=["fp32", "bf16"], default="fp32", help="bf16 by autocast")
    made.add_argument("--checkpointing", choices=["none", "attention", "block"], default="none")
    given = made.parse_args()
    measurement, side = Measurement("long", given), given.image_size
    # with twice the side, a quarter of the longest clip's frames has as many patches
    short = [t for t in given.frames if 4 * t <= max(given.frames)] or given.frames[:1]
    for model, pixels, lengths in (("X-ViT", side, given.frames), ("T+S", side, given.frames), (HR, 2 * side, short)):
        network = schemes(SIZES[given.size], lengths[0], pixels)["T+S" if model == HR else model]().network
        set_grad_checkpointing(network.to(measurement.device), given.checkpointing)
        for frames in lengths:
            run = partial(start, measurement, network)
            measurement.add(f"{model}, {frames} frames", run, model=model, frames=frames, image_size=pixels)
    measurement.run()
    measurement.show(tables)
    return 0  # a length that does not fit is a result, not a failure


if __name__ == "__main__":
    ran(main)
