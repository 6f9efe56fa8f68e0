"""Cost of an attention scheme: parameters, multiply-adds, memory and time of a layer."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from statistics import median
from typing import Any

import torch
from torch import Tensor

from lit_video.attention import Grid, Scheme
from lit_video.errors import fault_of
from lit_video.network.multiply_adds import multiply_adds
from lit_video.network.timesformer import build_scheme
from lit_video.schemes.sight import token_layout
from lit_video.utils.environment import seconds

CLIP = Grid(16, 8, 8)  # 16 frames of 64 pixels in patches of 8
LAYER_WIDTH = 96
_HEADS = 4
_CLIPS = 2
ROUNDS = 5


@dataclass(frozen=True)
class Cost:
    """Cost of a scheme's layer with width ``LAYER_WIDTH``, for a clip on the grid ``CLIP``."""

    name: str  # name of the scheme
    params: int  # number of parameters
    macs: int  # multiply-adds of a clip
    _: KW_ONLY
    bytes: int  # bytes that autograd keeps for the backward pass, per clip
    # seconds of a training step (forward and backward) per clip: median over rounds in which schemes take turns
    seconds: float


def refusals(schemes: dict[str, Callable[..., Scheme]]) -> dict[str, str]:
    """Return the schemes that cannot be measured on the grid ``CLIP``, by name, and the reason."""
    reasons: dict[str, str] = {}
    for name, kind in schemes.items():
        try:  # runs a user's code
            scheme = _layer(kind)
            scheme.check(CLIP)
            with torch.no_grad():
                scheme(_tokens(scheme, 1), CLIP)
        except Exception as error:
            reasons[name] = fault_of(error)
    return reasons


def costs(schemes: dict[str, Callable[..., Scheme]]) -> list[Cost]:
    """Measure schemes by name, side by side on this machine's CPU; :func:`refusals` has none of them."""
    built = {name: _layer(kind) for name, kind in schemes.items()}

    times: dict[str, list[float]] = defaultdict(list)
    for _ in range(ROUNDS):
        for name, scheme in built.items():
            x = _tokens(scheme, _CLIPS)
            times[name].append(seconds(partial(_step, scheme, x), x.device))

    measured: list[Cost] = []
    for name, scheme in built.items():
        params = sum(parameter.numel() for parameter in scheme.parameters())
        macs = multiply_adds(scheme, _tokens(scheme, 1, device="meta"), CLIP)
        measured.append(Cost(name, params, macs, bytes=_kept(scheme), seconds=median(times[name]) / _CLIPS))
    return measured


def _layer(kind: Callable[..., Scheme]) -> Scheme:
    return build_scheme(kind, LAYER_WIDTH, _HEADS, layer=0)


def _tokens(scheme: Scheme, clips: int, **where: Any) -> Tensor:
    return torch.ones(clips, len(token_layout(scheme.class_tokens, CLIP)[0]), LAYER_WIDTH, **where)


def _step(scheme: Scheme, x: Tensor) -> None:
    scheme(x, CLIP).sum().backward()


def _kept(scheme: Scheme) -> int:
    """Return the bytes that autograd keeps for one clip, without parameters."""
    own = {parameter.untyped_storage().data_ptr() for parameter in scheme.parameters()}
    storages: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            storages[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        out = scheme(_tokens(scheme, 1), CLIP)  # kept alive so that no address is reused
    del out
    return sum(storages.values())


SCHEME_HEADER = ["scheme", "params", "MMACs", "kept, MB", "ms"]


def scheme_cells(cost: Cost) -> list[str]:
    """Return a cost as the cells of a table row, in the order of ``SCHEME_HEADER``."""
    memory = f"{cost.bytes / 1e6:.1f}"
    time = f"{1e3 * cost.seconds:.1f}"
    return [cost.name, f"{cost.params:,}", f"{cost.macs / 1e6:,.0f}", memory, time]
