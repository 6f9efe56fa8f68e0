"""Every step of attention under every kernel that a device has, interleaved; the model's choice beside them."""

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from statistics import median
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from lit_video.attention import Grid
from lit_video.benchmark.attention_steps import AttentionStep, attention_steps, block_mask, flex_attention, flex_branch
from lit_video.benchmark.timing import interleaved
from lit_video.network.vit import SIZES, SizeName
from lit_video.utils.environment import provenance
from lit_video.utils.text_tables import text_table

BACKENDS = {
    "math": SDPBackend.MATH,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "flash": SDPBackend.FLASH_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}
KERNELS = ("ours", *BACKENDS, "flex")
MODES = ("forward", "train")


@dataclass(frozen=True)
class Setting:
    """What is timed: one layer of a ViT on clips of ``frames``."""

    size: SizeName = "B"
    frames: int = 8
    image_size: int = 224
    batch: int = 1
    dtype: str = "float32"
    repeats: int = 5


def measure(
    setting: Setting,
    names: list[str] | None,
    device: torch.device,
    command: str,
    keep: Callable[[dict[str, Any]], None],
) -> dict[str, Any]:
    """Time the steps of these names, or all; ``keep`` gets the result after each, with the rows there are."""
    torch.manual_seed(0)
    side = setting.image_size // 16
    grid = Grid(setting.frames, side, side)
    result = provenance(command, device) | asdict(setting) | {"rows": []}
    for name, step in attention_steps(SIZES[setting.size], grid).items():
        if names is None or name in names:
            result["rows"].append(_row(name, step, setting, grid, device))
            keep(result)
    return result


def _row(name: str, step: AttentionStep, setting: Setting, grid: Grid, device: torch.device) -> dict[str, Any]:
    """Seconds by kernel, or why there are none, and ratios of throughput to the model's own choice."""
    step.module.to(device)
    width = step.heads.qkv.in_features
    x = torch.randn(setting.batch, grid.t * grid.h * grid.w, width, device=device, requires_grad=True)
    row: dict[str, Any] = {"step": name, "missing": {}}
    for mode in MODES:
        actions = {}
        for kernel, branch in _branches(step, x.shape[1], device).items():
            action = partial(_run, branch, x, getattr(torch, setting.dtype), kernel, mode == "train")
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # PyTorch's reasons, one by one; the last is in the error
                    action()
            except (RuntimeError, NotImplementedError) as error:
                row["missing"][f"{kernel}, {mode}"] = str(error).splitlines()[0]
            else:
                actions[kernel] = action
        times = interleaved(actions, setting.repeats, device, f"{name}, {mode}")
        row[f"{mode}_seconds"] = {kernel: median(taken) for kernel, taken in times.items()}
        row[f"{mode}_ratio"] = {
            kernel: median(own / other for own, other in zip(times["ours"], taken, strict=True))
            for kernel, taken in times.items()
            if "ours" in times  # which may not fit into the device's memory either
        }
    return row


def _branches(step: AttentionStep, tokens: int, device: torch.device) -> dict[str, Callable[[Tensor], Tensor]]:
    """The step under every kernel that may be here; FlexAttention where it is compiled for, on a GPU."""
    branches = dict.fromkeys(("ours", *BACKENDS), step.branch)
    if step.sees is not None and device.type == "cuda":
        mask = block_mask(step, tokens, device)
        torch.compiler.reset()  # of the steps before: Dynamo keeps eight versions of a function, then leaves it eager
        compiled = torch.compile(flex_attention, dynamic=False, fullgraph=True)
        branches["flex"] = lambda x: flex_branch(step, x, mask, compiled)
    return branches


def _run(branch: Callable[[Tensor], Tensor], x: Tensor, dtype: torch.dtype, kernel: str, train: bool) -> None:
    chosen = sdpa_kernel(BACKENDS[kernel]) if kernel in BACKENDS else nullcontext()
    with chosen, torch.set_grad_enabled(train), torch.autocast(x.device.type, dtype, enabled=dtype != torch.float32):
        y = branch(x)
        if train:
            torch.autograd.backward(y, torch.ones_like(y))


def render(result: dict[str, Any]) -> str:
    """The result as a table."""
    header = ["step", *(f"{kernel} {'ms' if kernel == 'ours' else 'x'}" for kernel in KERNELS)]
    body = [
        [f"{row['step']}, {mode}", f"{1e3 * seconds['ours']:.2f}" if "ours" in seconds else "-"]
        + [f"{row[f'{mode}_ratio'][name]:.2f}" if name in row[f"{mode}_ratio"] else "" for name in KERNELS[1:]]
        for row in result["rows"]
        for mode, seconds in ((mode, row[f"{mode}_seconds"]) for mode in MODES)
    ]
    title = (
        f"ViT-{result['size']}/16, {result['frames']} frames of {result['image_size']} px, batch {result['batch']}, "
        f"{result['dtype']}, {result['device']}, medians of {result['repeats']}"
    )
    legend = (
        "steps with norm and projections, without class tokens; ours: as the model computes it, by PyTorch's choice;\n"
        "x: throughput over that, median of the rounds; empty: the device has no such kernel for the step"
    )
    return text_table(title, header, body) + "\n" + legend
