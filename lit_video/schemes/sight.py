"""Sight of an attention scheme: which tokens see which, from the derivative of one layer with random weights."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar, get_args

import torch
from torch import Tensor, nn

from lit_video.attention import Grid, Scheme

SightOrder = Literal["seen", "near", "blind"]  # if layers differ, a network has the first of these
M = TypeVar("M", bound=nn.Module)
_NOTHING = 1e-12  # derivatives below this share of the largest one are rounding errors of double precision
_SPREADS = (0.1, 0.4)  # standard deviations of random weights; large weights make attention pick one token


def token_layout(class_tokens: Literal["clip", "frame", "none"], grid: Grid) -> tuple[Tensor, Tensor]:
    """Return two tensors ``(tokens,)``: a token's frame (-1: a class token of the clip), and whether it is a patch."""
    patches = grid.h * grid.w
    if class_tokens == "frame":
        frames = torch.arange(grid.t).repeat_interleave(1 + patches)
        return frames, torch.arange(len(frames)) % (1 + patches) > 0
    of_clip = torch.full([int(class_tokens == "clip")], -1)
    frames = torch.cat((of_clip, torch.arange(grid.t).repeat_interleave(patches)))
    return frames, frames >= 0


@dataclass(frozen=True)
class Sight:
    """Sight of a scheme on a grid, whose n tokens are patches and class tokens."""

    grid: Grid  # frames, rows, columns
    frames: Tensor  # (n,): the frame of every token, see token_layout()
    is_patch: Tensor  # (n,), bool
    _: KW_ONLY
    layers: Sequence[Tensor]  # by layer (n, n), bool: [i, j] is true if output token i depends on input token j
    # order of frames, by the outputs put back into their order: seen if reversed frames change them, near if only other
    # orders do, blind if none does
    order: SightOrder

    @cached_property
    def patches(self) -> Tensor:
        """Indices of the patch tokens, frame by frame and row by row."""
        return self.is_patch.nonzero()[:, 0]

    @cached_property
    def class_tokens(self) -> Tensor:
        """Indices of the class tokens."""
        return (~self.is_patch).nonzero()[:, 0]

    @cached_property
    def depths(self) -> Tensor:
        """Number of layers after which token i depends on token j, ``(n, n)``; 0 for never."""
        depends = torch.eye(len(self.frames), dtype=torch.bool)
        depths = torch.zeros(depends.shape, dtype=torch.long)
        for number, layer in enumerate(self.layers, 1):
            depends = (layer.double() @ depends.double()) > 0
            depths[depends & (depths == 0)] = number
        return depths

    def reach(self, layers: int) -> int:
        """Return the largest distance in frames at which a patch sees another within this number of layers."""
        seen = (self.depths > 0) & (self.depths <= layers)
        apart = (self.frames[:, None] - self.frames).abs()
        return int(apart[seen & self.is_patch[:, None] & self.is_patch].max())

    def later_frames(self, layers: int) -> list[list[int]]:
        """Return pairs of a frame and a later frame that its tokens see within this number of layers."""
        seen = (self.depths > 0) & (self.depths <= layers)
        later = seen & (self.frames >= 0)[:, None] & (self.frames > self.frames[:, None])
        return self.frames[later.nonzero()].tolist()


def sight(make: Callable[[int], Scheme], grid: Grid, depth: int, *, width: int = 8) -> Sight:
    """Measure which tokens see which in each layer, built by ``make(i)``; random weights let no effects cancel."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        schemes = [make(layer) for layer in range(depth)]
        frames, is_patch = token_layout(schemes[0].class_tokens, grid)
        x = torch.randn(1, len(frames), width, dtype=torch.float64)

        # layers of one configuration are measured once
        kinds = [_configuration(scheme) for scheme in schemes]
        layers: dict[str, Tensor] = {}
        orders: set[SightOrder] = set()
        for kind, scheme in zip(kinds, schemes, strict=True):
            if kind not in layers:
                depends = [_depends(randomised(scheme, std), x, grid) for std in _SPREADS]
                layers[kind] = torch.stack(depends).any(0)
                orders.add(_order(scheme, x, grid, frames=frames))

    return Sight(
        grid,
        frames,
        is_patch,
        layers=[layers[kind] for kind in kinds],
        order=min(orders, key=get_args(SightOrder).index),
    )


def _configuration(scheme: Scheme) -> str:
    """Return the attributes of a scheme's modules as text, without parameters."""
    attributes = list[tuple[str, Any]]()
    for module in scheme.modules():
        attributes += [(name, value) for name, value in vars(module).items() if name[0] != "_"]
    return repr(attributes)


def randomised(scheme: M, std: float) -> M:
    """Draw all parameters of a scheme or network at random, and set double precision and eval mode."""
    for parameter in scheme.double().eval().parameters():
        nn.init.normal_(parameter, std=std)
    return scheme


def _depends(scheme: Scheme, x: Tensor, grid: Grid) -> Tensor:
    """Return where the derivative of an output token (row) by an input token (column) is not zero, ``(n, n)``."""
    # a copy of the clip for each output token, so that one derivative is that of all
    copies = x.expand(x.shape[1], -1, -1).clone().requires_grad_()
    out = scheme(copies.clone(), grid)
    sums = (out * torch.randn_like(out[:1])).sum(-1)
    (gradient,) = torch.autograd.grad(sums.diagonal().sum(), copies)
    rows = gradient.abs().amax(-1)
    return rows > _NOTHING * rows.amax(-1, keepdim=True)


@torch.no_grad()
def _order(scheme: Scheme, x: Tensor, grid: Grid, *, frames: Tensor) -> SightOrder:
    out = scheme(x.clone(), grid)
    close = 1e-10 * float(out.abs().max())
    token = torch.arange(len(frames))
    first = int((frames < 0).sum())

    number = list(range(grid.t))
    backwards = number[::-1]
    rotated = [*number[1:], 0]
    swapped = [1, 0, *number[2:]]

    same: list[bool] = []
    for order in (backwards, rotated, swapped):
        moved = torch.cat((token[:first], token[first:].view(grid.t, -1)[order].flatten()))
        same.append(torch.allclose(scheme(x[:, moved].clone(), grid), out[:, moved], rtol=0, atol=close))

    if all(same):
        return "blind"
    return "near" if same[0] else "seen"


def in_words(seen: Sight) -> dict[str, str]:
    """Return a description of the sight by topic."""
    depth = len(seen.layers)
    tokens = seen.class_tokens
    class_token = "none; the mean of all tokens is classified"
    if len(tokens):
        first = (seen.layers[0][tokens][:, seen.patches] > 0).double().mean()
        share = (seen.depths[tokens][:, seen.patches] > 0).double().mean()
        number = "one per frame" if len(tokens) > 1 else "one"
        class_token = f"{number}; sees {first:.0%} of the patches in one layer, {share:.0%} in {depth}"

    order = {
        "seen": "seen: other orders of the frames give other tokens",
        "near": "only nearness is seen: reversed frames give the same tokens in reverse; positions must tell the order",
        "blind": "not seen: frames in any order give the same tokens; positions must tell the order",
    }
    return {
        "reach": f"{seen.reach(1)} frames in one layer, {seen.reach(depth)} in {depth} layers; clip of {seen.grid.t}",
        "order": order[seen.order],
        "causal": f"{'no: a' if seen.later_frames(depth) else 'yes: no'} token of a frame depends on later frames",
        "class token": class_token,
    }
