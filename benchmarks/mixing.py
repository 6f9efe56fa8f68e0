"""What space-time mixing costs over spatial attention: one layer of ViT-B/16, clips of 8 frames of 224 pixels.

    python -m benchmarks.mixing
    python -m benchmarks.mixing --device cuda --dtype bf16 --batch 32

Variants take turns in one process, in an order of each round's own; ratios are medians over rounds, and what is to be
read. ``slices`` is the window-1 layer with the move written as slice assignments that autograd records, which the
autograd function in ``lit_video/attention/mixing.py`` replaces. On a GPU a kernel moves channels in place
(``lit_video/attention/mixing_kernel.py``), and ``plain`` is the layer without it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

import torch
from torch import Tensor

from lit_video.attention import Grid, Mixing, MixingPlan, Scheme, Space
from lit_video.benchmark.timing import interleaved, peak_memory
from lit_video.utils.command_line import recorded_command
from lit_video.utils.environment import choose_device, provenance

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


class Plain(Mixing):
    """Mixing without its kernel."""

    @staticmethod
    def in_place(qkv: Tensor, frames: int) -> bool:
        """Nowhere."""
        return False


class Slices(Plain):
    """Mixing whose move autograd records step by step."""

    def move(self, x: Tensor) -> Tensor:
        """Channels of ``x (b, t, m, a, c)`` as slice assignments."""
        out = x.clone()
        for i, k in enumerate(self.offsets):
            lent = slice(i * self.fold, (i + 1) * self.fold)
            out[..., lent] = 0
            here, there = (slice(None, -k), slice(k, None)) if k > 0 else (slice(-k, None), slice(None, k))
            out[:, here, ..., lent] = x[:, there, ..., lent]
        return out


def layers(device: torch.device) -> dict[str, Scheme]:
    """What is timed, by name; all but ``space`` with the same weights."""
    made: dict[str, Scheme] = {"space": Space(768, 12)}
    for window in (1, 2):
        made[f"window {window}"] = Mixing(768, 12, MixingPlan(window=window))
    made["causal"] = Mixing(768, 12, MixingPlan(causal=True))
    made["slices"] = Slices(768, 12, MixingPlan())
    if device.type == "cuda":
        made["plain"] = Plain(768, 12, MixingPlan())
    for layer in made.values():
        layer.load_state_dict(made["space"].state_dict())
    return {name: layer.to(device) for name, layer in made.items()}


def step(layer: Scheme, x: Tensor, grid: Grid, dtype: torch.dtype, backward: bool) -> Tensor:
    """One pass."""
    with torch.set_grad_enabled(backward), torch.autocast(x.device.type, dtype, enabled=dtype != torch.float32):
        out = layer(x, grid)
        if backward:
            torch.autograd.backward(out.float().sum())
        return out.detach()


def compared(
    actions: dict[str, Callable[[], Tensor]], rounds: int, device: torch.device, mode: str
) -> Iterator[dict[str, object]]:
    """Times, memory beyond what was there before, and ratios to spatial attention."""
    times = interleaved(actions, rounds, device, mode)
    for name, action in actions.items():
        with peak_memory(device) as peak:
            action()
        ratio = median(ours / space for ours, space in zip(times[name], times["space"], strict=True))
        yield {
            "layer": name,
            "mode": mode,
            "ms": round(1e3 * median(times[name]), 3),
            "ratio": round(ratio, 3),
            "peak_bytes": sum(peak) or None,
        }


def main() -> None:
    """Print medians and ratios to spatial attention as JSON."""
    parser = argparse.ArgumentParser(description="Mixing beside spatial attention; ratios.")
    parser.add_argument("--device", choices=["cpu", "cuda"])
    parser.add_argument("--dtype", choices=list(DTYPES), default="fp32", help="bf16 by autocast")
    parser.add_argument("--batch", type=int, default=1, help="clips")
    parser.add_argument("--side", type=int, default=14, help="patches of a row")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    device, grid = choose_device(arguments.device), Grid(8, arguments.side, arguments.side)
    torch.manual_seed(0)
    x = torch.randn(arguments.batch, grid.t * (1 + grid.h * grid.w), 768, device=device, requires_grad=True)
    made = layers(device)
    with torch.no_grad():
        expected = made["window 1"](x, grid)
        for name in {"slices", "plain"} & set(made):  # what is compared computes the same
            torch.testing.assert_close(made[name](x, grid), expected, atol=1e-4, rtol=1e-4)
    result = vars(arguments) | provenance(recorded_command(sys.argv[1:], "benchmarks.mixing"), device) | {"rows": []}
    for mode in ("forward", "forward + backward"):
        actions = {
            name: partial(step, layer, x, grid, DTYPES[arguments.dtype], mode != "forward")
            for name, layer in made.items()
        }
        result["rows"] += compared(actions, arguments.rounds, device, mode)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
