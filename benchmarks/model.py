"""Time the forward pass and a training step of every scheme and of other packages' models.

    python -m benchmarks.model
    python -m benchmarks.model --models spatial-only,X-ViT,T+S --frames 16 --dtype bf16 -o model.json
    python -m benchmarks.model --models X-ViT,T+S --compile      # adds a compiled twin of each of our models

Models run in rounds of random order. Read the ratios: throughput over that of the model under "against", as medians
over rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

import torch
from torch import Tensor, nn

from benchmarks.harness import (
    DTYPES,
    FORWARD,
    GIB,
    TRAIN,
    Actions,
    Measurement,
    Result,
    Row,
    Table,
    Times,
    add_size,
    first_steps,
    left_out,
    number,
    parser,
    ran,
    steps,
    weights,
)
from benchmarks.models import PUBLISHED, Model, line_up, schemes
from lit_video.network.multiply_adds import count_params_and_macs
from lit_video.network.vit import SIZES

MATMUL, PRODUCTS = "matrix products", 4
HEADER = ["model", "frames", "GMACs", "forward s", "clips/s", "of peak", "train s", "clips/s", "of peak"]
HEADER += ["memory", "against", "forward x", "train x", "logits diff."]


def start(measurement: Measurement, networks: dict[str, nn.Module], build: Callable[[], Model], row: Row) -> Actions:
    """Build a model, count its costs, compare its logits with those of its peer of equal weights, and run it once."""
    given, device, model = measurement.arguments, measurement.device, build()
    row |= {"frames": model.num_frames, "note": model.note, "against": model.against}
    row["params"], row["macs"] = count_params_and_macs(model.network, model.num_frames, given.image_size)
    networks[row["name"]] = network = model.network.to(device)
    shape = (given.batch, 3, model.num_frames, given.image_size, given.image_size)
    for other in measurement.rows if row["name"].startswith("HF") else ():
        if other.get("against") == row["name"]:
            clip = torch.randn(1, *shape[1:], device=device)
            other["logits_difference"] = largest_difference(networks[other["name"]], network, clip)
    actions = first_steps(row, steps(network, shape, given.dtype, device), device)
    if row["train_memory"] is not None:
        row["train_memory"] += weights(network)
    return actions


def largest_difference(ours: nn.Module, theirs: nn.Module, clip: Tensor) -> float | None:
    """Return the largest difference of a clip's logits; ``None`` if the shapes differ (S of transformers)."""
    with torch.no_grad():
        a, b = ours.eval()(clip), theirs.eval()(clip)
    return (a - b).abs().max().item() if a.shape == b.shape else None


def products(side: int, dtype: str, device: torch.device) -> Callable[[], list[Tensor]]:
    """Return an action of square matrix products, the peak rate of the device in this precision."""
    a, b = (torch.randn(side, side, device=device, dtype=DTYPES[dtype]) for _ in range(2))
    return lambda: [a @ b for _ in range(PRODUCTS)]


def rates(measurement: Measurement, side: int, row: Row, times: Times) -> Row:
    """Return a row's clips per second, and its share of the rate of matrix products."""
    rate = PRODUCTS * side**3 / median(times[f"{MATMUL}, {FORWARD}"])
    measurement.result["matmul_flops"] = 2 * rate
    found: Row = {}
    # a backward pass has twice the multiplications of the forward pass
    for mode, passes in ((FORWARD, 1), (TRAIN, 3)):
        found[f"{mode}_clips_per_second"] = measurement.arguments.batch / row[f"{mode}_seconds"]
        found[f"{mode}_of_peak"] = passes * row["macs"] * found[f"{mode}_clips_per_second"] / rate
    return found


def tables(result: Result) -> Iterator[Table]:
    """Yield the result as a table, with notes on single models."""
    title = (
        f"ViT-{result['size']}/16, {result['image_size']} px, batch {result['batch']}, {result['dtype']}, "
        f"{result['device']}, medians of {result['rounds']}"
    )
    rows = [row for row in result["rows"] if "left_out" not in row]
    notes = [f"{row['name']}: {row['note']}" for row in rows if row.get("note")]
    yield Table(title, HEADER, [cells(row) for row in rows], notes + left_out(result))


def cells(row: Row) -> list[str]:
    """Return a model's row of the table."""
    memory = number(row, "train_memory", ".2f", GIB)
    times = [
        number(row, f"{mode}_{key}", form)
        for mode in (FORWARD, TRAIN)
        for key, form in (("seconds", ".3f"), ("clips_per_second", ".4g"), ("of_peak", ".0%"))
    ]
    times = [text.replace("%", " %") for text in times]
    compared = [row["against"] if "forward_ratio" in row else ""]
    compared += [number(row, "forward_ratio", ".2f"), number(row, "train_ratio", ".2f")]
    start = [row["name"], str(row["frames"]), number(row, "macs", ".3g", 1e9)]
    return [*start, *times, memory and f"{memory} GiB", *compared, number(row, "logits_difference", ".0e")]


def main() -> int:
    """Measure all models in one run; return 1 if one fails."""
    made = parser("model", __doc__, repeats=9)
    known = [*schemes(SIZES["Ti"], 8, 224), *PUBLISHED]
    made.add_argument("--models", default=",".join(known), help="names with commas (default: all)")
    add_size(made)
    made.add_argument("--dtype", choices=list(DTYPES), default="fp32", help="bf16 and fp16 by autocast")
    made.add_argument("--compile", action="store_true", help="add a compiled twin of each of our models")
    given = made.parse_args()
    names = given.models.split(",")
    if unknown := [name for name in names if name not in known]:
        made.error(f"--models: no model {unknown[0]!r}; models: {', '.join(known)}")
    measurement, networks = Measurement("model", given, "transformers"), dict[str, nn.Module]()
    for name, build in line_up(SIZES[given.size], given.frames, given.image_size, names, given.compile):
        measurement.add(name, partial(start, measurement, networks, build))
    side = 1024 if measurement.device.type == "cpu" else 8192
    measurement.actions[MATMUL] = {FORWARD: (product := products(side, given.dtype, measurement.device))}
    product()
    measurement.run(more=partial(rates, measurement, side))
    return measurement.show(tables)


if __name__ == "__main__":
    ran(main)
