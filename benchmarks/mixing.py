"""Measure the cost of space-time mixing over spatial attention: one layer of ViT-B/16, 8 frames of 224 pixels.

    python -m benchmarks.mixing
    python -m benchmarks.mixing --device cuda --dtype bf16 --batch 32

Read the ratios: time over that of spatial attention, as medians over rounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch

from benchmarks.harness import (
    DTYPES,
    FORWARD,
    TRAIN,
    Actions,
    Measurement,
    Result,
    Row,
    Table,
    number,
    parser,
    peak_memory,
    ran,
)
from lit_video.attention import Grid, Mixing, MixingPlan, Scheme, Space

MODES = {FORWARD: "forward", TRAIN: "forward + backward"}


def layers() -> dict[str, Scheme]:
    """Return the layers to time by name, all with the same weights."""
    made: dict[str, Scheme] = {"space": Space(768, 12)}
    for name, plan in (("window 1", {"window": 1}), ("window 2", {"window": 2}), ("causal", {"causal": True})):
        made[name] = Mixing(768, 12, MixingPlan(**plan))
        made[name].load_state_dict(made["space"].state_dict())
    return made


def start(measurement: Measurement, layer: Scheme, row: Row) -> Actions:
    """Run a layer once in each mode, and measure its memory."""
    given, device, grid = measurement.arguments, measurement.device, Grid(8, *2 * [measurement.arguments.side])
    layer = layer.to(device)
    x = torch.randn(given.batch, grid.t * (1 + grid.h * grid.w), 768, device=device, requires_grad=True)

    def step(backward: bool) -> None:
        with torch.set_grad_enabled(backward), torch.autocast(device.type, DTYPES[given.dtype], given.dtype != "fp32"):
            out = layer(x, grid)
            if backward:
                torch.autograd.backward(out.float().sum())

    actions = {FORWARD: partial(step, False), TRAIN: partial(step, True)}
    for mode, action in actions.items():
        action()
        row[f"{mode}_memory"] = peak_memory(action, device)
    return actions


def tables(result: Result) -> Iterator[Table]:
    """Yield a table with a row per layer."""
    clips = f"8 x {16 * result['side']}, batch {result['batch']}, {result['dtype']}, {result['device']}"
    header = ["layer"]
    for mode in MODES.values():
        header += [f"{mode}, ms", f"{mode}, x", f"{mode}, MB"]
    body = []
    for row in result["rows"]:
        body.append([row["name"]])
        for mode in MODES:
            body[-1] += [
                number(row, f"{mode}_seconds", ".3f", 1e-3),
                f"{1 / row[f'{mode}_ratio']:.3f}" if f"{mode}_ratio" in row else "",
                number(row, f"{mode}_memory", ".1f", 1e6),
            ]
    about = f"ViT-B/16, {clips}, medians of {result['rounds']}; x: time over that of spatial attention"
    yield Table(about, header, body, [])


def main() -> int:
    """Measure all layers in one run."""
    made = parser("mixing", __doc__, repeats=15)
    made.add_argument("--dtype", choices=["fp32", "bf16"], default="fp32", help="bf16 by autocast")
    made.add_argument("--batch", type=int, default=1, help="clips")
    made.add_argument("--side", type=int, default=14, help="patches of a row")
    measurement = Measurement("mixing", made.parse_args())
    for name, layer in layers().items():
        measurement.add(name, partial(start, measurement, layer), against="space")
    measurement.run()
    return measurement.show(tables)


if __name__ == "__main__":
    ran(main)
