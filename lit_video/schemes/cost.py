"""Cost of an attention scheme: parameters, multiply-adds, memory and time of a layer, and how they grow."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import log2
from statistics import median
from typing import Any

import torch
from torch import Tensor

from lit_video.attention import Grid, Scheme
from lit_video.network.cost import multiply_adds
from lit_video.schemes.sight import places
from lit_video.utils.environment import seconds

CLIP = Grid(16, 8, 8)  # 16 frames of 64 pixels in patches of 8
LARGE = Grid(32, 16, 16)  # from which, and twice which, growth is measured
WIDTH, HEADS, CLIPS, ROUNDS = 96, 4, 2, 5


@dataclass(frozen=True)
class Cost:
    """Cost of one layer of a scheme for a clip on ``CLIP``, of width ``WIDTH``."""

    name: str  # name of the scheme
    params: int  # number of parameters
    macs: int  # multiply-adds of a clip
    bytes: int  # bytes kept for the backward pass, per clip
    # seconds of a training step (forward and backward) per clip; the median of rounds in which schemes take turns
    seconds: float
    frames: float  # exponent of the multiply-adds in the frames, from LARGE to twice as many
    side: float  # likewise in the side of the picture


def costs(schemes: dict[str, Callable[[], Scheme]]) -> list[Cost]:
    """Measure schemes by name, side by side on this machine's CPU."""
    built = {name: make() for name, make in schemes.items()}
    times: dict[str, list[float]] = {name: [] for name in built}
    for _ in range(ROUNDS):
        for name, scheme in built.items():
            x = _tokens(scheme, CLIP, CLIPS)
            times[name].append(seconds(partial(_step, scheme, x), x.device))
    return [
        Cost(
            name,
            sum(parameter.numel() for parameter in scheme.parameters()),
            _macs(scheme, CLIP),
            _kept(scheme),
            median(times[name]) / CLIPS,
            *_growth(scheme),
        )
        for name, scheme in built.items()
    ]


def _tokens(scheme: Scheme, grid: Grid, clips: int, **where: Any) -> Tensor:
    return torch.ones(clips, len(places(scheme.class_tokens, grid)), WIDTH, **where)


def _step(scheme: Scheme, x: Tensor) -> None:
    scheme(x, CLIP).sum().backward()


def _kept(scheme: Scheme) -> int:
    """Return the bytes that autograd keeps of a clip, each storage once, parameters left out."""
    own = {parameter.untyped_storage().data_ptr() for parameter in scheme.parameters()}
    storages: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            storages[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        out = scheme(_tokens(scheme, CLIP, 1), CLIP)  # held, so that no address is given twice
    del out
    return sum(storages.values())


def _macs(scheme: Scheme, grid: Grid) -> int:
    return multiply_adds(scheme, _tokens(scheme, grid, 1, device="meta"), grid)


def _growth(scheme: Scheme) -> tuple[float, float]:
    """Return the exponents of the multiply-adds in frames and in the side."""
    t, h, w = LARGE
    here, longer, larger = (_macs(scheme, grid) for grid in (LARGE, Grid(2 * t, h, w), Grid(t, 2 * h, 2 * w)))
    return log2(longer / here), log2(larger / here)


HEADER = ["scheme", "params", "MMACs", "kept, MB", "ms", "~ frames", "~ side"]


def cells(found: Sequence[Cost]) -> list[list[str]]:
    """Return the cells of costs under ``HEADER``."""
    return [
        [
            one.name,
            f"{one.params:,}",
            f"{one.macs / 1e6:,.0f}",
            f"{one.bytes / 1e6:.1f}",
            f"{1e3 * one.seconds:.1f}",
            f"^{one.frames:.2f}",
            f"^{one.side:.2f}",
        ]
        for one in found
    ]
