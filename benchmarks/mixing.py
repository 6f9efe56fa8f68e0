"""What space-time mixing costs over spatial attention: one layer of ViT-B/16, 8 frames of 224 pixels, on the CPU.

    python benchmarks/mixing.py

Variants take turns in one process, medians of 15 rounds; read the ratios, not the times. ``slices`` is the same
window-1 layer with the move written as slice assignments that autograd records, which is what the autograd function
in ``lit_video/attention/mixing.py`` replaces.
"""

from __future__ import annotations

import json
import time
from statistics import median

import torch
from torch import Tensor

from lit_video.attention import Grid, Mixing, MixingPlan, Scheme, Space, mixing
from lit_video.utils.environment import commit, device_name, versions

GRID = Grid(8, 14, 14)
ROUNDS = 15


def recorded(x: Tensor, offsets: tuple[int, ...], fold: int) -> Tensor:
    """The move as slice assignments."""
    out = x.clone()
    for i, k in enumerate(offsets):
        lent = slice(i * fold, (i + 1) * fold)
        out[..., lent] = 0
        here, there = (slice(None, -k), slice(k, None)) if k > 0 else (slice(-k, None), slice(None, k))
        out[:, here, ..., lent] = x[:, there, ..., lent]
    return out


class Slices(Mixing):
    """Mixing whose move autograd records step by step."""

    def shift_channels(self, x: Tensor, t: int) -> Tensor:
        """Swap the move for the recorded one."""
        ours, mixing.shift_channels = mixing.shift_channels, recorded  # type: ignore[assignment]
        try:
            return super().shift(x, t)
        finally:
            mixing.shift_channels = ours


def seconds(layer: Scheme, backward: bool) -> float:
    """Time of one pass."""
    x = torch.randn(1, GRID.t * (1 + GRID.h * GRID.w), 768, requires_grad=backward)
    start = time.perf_counter()
    with torch.set_grad_enabled(backward):
        out = layer(x, GRID)
        if backward:
            out.sum().backward()
    return time.perf_counter() - start


def main() -> None:
    """Print medians and ratios to spatial attention as JSON."""
    layers: dict[str, Scheme] = {"space": Space(768, 12)}
    for window in (1, 2):
        layers[f"window {window}"] = Mixing(768, 12, MixingPlan(window=window))
    layers["slices"] = Slices(768, 12, MixingPlan(window=1))
    rows = {}
    for mode in ("forward", "forward + backward"):
        times: dict[str, list[float]] = {name: [] for name in layers}
        for i in range(ROUNDS + 2):
            for name, layer in layers.items():
                took = seconds(layer, backward=mode != "forward")
                if i >= 2:  # the first rounds warm up
                    times[name].append(took)
        medians = {name: median(values) for name, values in times.items()}
        rows[mode] = {n: {"ms": round(1e3 * t, 1), "ratio": round(t / medians["space"], 3)} for n, t in medians.items()}
    facts = {"command": "python benchmarks/mixing.py", "commit": commit(), "device": device_name()} | versions()
    print(json.dumps(facts | {"rounds": ROUNDS} | rows, indent=2))


if __name__ == "__main__":
    main()
