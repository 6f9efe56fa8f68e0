"""Receptive field of a network: the patches that a token depends on, and the frames that it can compare."""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from lit_video.attention.heads import Heads, Scheme, ZeroLinear
from lit_video.inference.rollout import patch_places
from lit_video.network.transformer import VideoTransformer
from lit_video.utils.clip_shape import ImageSize, height_and_width


def layers_needed(network: VideoTransformer, clip: Tensor, query: Sequence[int]) -> Tensor:
    """Number of encoder layers after which a token depends on each patch: ``(t, h, w)``, 0 for never.

    Weights do not matter, only what the layers connect: layers that start at zero get random weights.
    Class tokens carry content from patch to patch, as they do in the network.

    Args:
        network: any video transformer whose layers keep the patches' tokens.
        clip: one clip of the shape in question, ``(1, 3, t, height, width)``; its pixels do not matter.
        query: frame, row and column of the patch whose token it is.

    Raises:
        ValueError: a layer gives tokens in an unknown layout.
    """
    network = _randomised(network)
    tokens, grid, place = _tokens(network, clip)
    needed = torch.zeros(tuple(grid), dtype=torch.long)
    x = tokens
    for number, block in enumerate(network.blocks, 1):
        x = block(x, grid)
        read = _depends(x, tokens, place, query)
        needed[read & (needed == 0)] = number
    return needed


def steps_read(network: VideoTransformer, clip: Tensor, query: Sequence[int]) -> dict[str, Tensor]:
    """Patches that a token of the first layer reads in each attention step alone: by step, ``(t, h, w)`` bool.

    A step is a :class:`~lit_video.attention.heads.Heads` of the scheme; the others add nothing. The token's
    own patch is always read, by the residual connection.

    Args:
        network: as in :func:`layers_needed`.
        clip: as there.
        query: as there.

    Raises:
        ValueError: the first layer has no attention scheme.
    """
    network = _randomised(network)
    scheme = getattr(network.blocks[0], "scheme", None)
    if not isinstance(scheme, Scheme):
        raise ValueError(f"the first layer is a {type(network.blocks[0]).__name__}, which has no attention scheme")
    tokens, grid, place = _tokens(network, clip)
    steps = {name: module for name, module in scheme.named_children() if isinstance(module, Heads)}
    read = {}
    for name, step in steps.items():
        with _silenced([other for other in steps.values() if other is not step]):
            read[name] = _depends(scheme(tokens, grid), tokens, place, query)
    return read


def _randomised(network: VideoTransformer) -> VideoTransformer:
    """A copy in double precision, without dropout, whose zero layers hold random numbers."""
    network = copy.deepcopy(network).double().eval()
    for module in network.modules():
        if isinstance(module, ZeroLinear):
            nn.init.normal_(module.weight, std=0.02)
    return network


def _tokens(network: VideoTransformer, clip: Tensor) -> tuple[Tensor, Any, Tensor]:
    """Random tokens of a clip, their grid, and the places of the patches among them."""
    with torch.no_grad():
        embedded, grid = network.embed(clip.double())
    tokens = torch.randn_like(embedded).requires_grad_()
    return tokens, grid, patch_places(tokens.shape[1], grid)


def _depends(output: Tensor, tokens: Tensor, place: Tensor, query: Sequence[int]) -> Tensor:
    """Whether the query's output depends on each patch."""
    if output.shape != tokens.shape:
        raise ValueError(f"a layer makes {tuple(output.shape)} of {tuple(tokens.shape)} tokens")
    row = output[0, place[tuple(query)]]
    (gradient,) = torch.autograd.grad(row @ torch.randn_like(row), tokens, retain_graph=True)
    return (gradient[0] != 0).any(-1)[place]


@contextmanager
def _silenced(modules: Sequence[nn.Module]) -> Iterator[None]:
    zeros: Callable[..., Tensor] = lambda module, inputs, output: torch.zeros_like(output)  # noqa: E731
    handles = [module.register_forward_hook(zeros) for module in modules]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


NOTHING = 1e-11  # of the scores' size; rounding in double precision is below
# of random weights: small ones let little through many layers, large ones make attention choose a single token
SPREADS = (0.1, 0.3, 1.0)


@dataclass(frozen=True)
class Reach:
    """Temporal reach: how far apart the frames are that a network can compare, and whether it sees their order.

    Args:
        frames: largest distance of two frames that have part in the scores together; 0 if each frame counts for
            itself.
        order: whether a clip that is played backwards has other scores.
        near: whether, played backwards, it has the same scores, but not with its frames in any order: they show which
            frames are near each other, and not which come first.
    """

    frames: int
    order: bool
    near: bool = False


def reach(network: nn.Module, frames: int, image_size: ImageSize) -> Reach:
    """Measure the temporal reach: the largest distance of the first frame and another that interact in the scores.

    With f the scores of a clip and a, b changes of two frames, f(a, b) - f(a) - f(b) + f() is zero where nothing
    brings the two frames together, as in averaging over frames that attend themselves. Weights do not matter: a copy
    of the network has random ones. Uniform frame sampling (ViViT) leaves frames out, often the first.

    Args:
        network: takes clips ``(b, 3, t, height, width)``.
        frames: frames of a clip.
        image_size: its side, or height and width.
    """
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        found = [_reach(_random(network, spread), frames, image_size) for spread in SPREADS]
    order = any(one.order for one in found)
    return Reach(max(one.frames for one in found), order, not order and any(one.near for one in found))


def _reach(network: nn.Module, frames: int, image_size: ImageSize) -> Reach:
    clip, change = torch.randn(2, 1, 3, frames, *height_and_width(image_size), dtype=torch.float64)
    nothing = network(clip)
    least = NOTHING * float(nothing.abs().max())
    alone = {i: network(_changed(clip, change, i)) - nothing for i in range(frames)}
    seen = [i for i, effect in alone.items() if effect.abs().max() > least]
    furthest = 0
    for i in seen[1:]:
        together = network(_changed(clip, change, seen[0], i)) - nothing - alone[seen[0]] - alone[i]
        if together.abs().max() > least:
            furthest = i - seen[0]
    rolled = clip.clone()
    rolled[:, :, seen] = clip[:, :, seen].roll(1, 2)
    order, near = (bool((network(other) - nothing).abs().max() > least) for other in (clip.flip(2), rolled))
    return Reach(furthest, order, near)


def _random(network: nn.Module, spread: float) -> nn.Module:
    """A copy in double precision that is tested, none of whose parameters is zero or one."""
    network = copy.deepcopy(network).cpu().double().eval()
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=spread)
    return network


def _changed(clip: Tensor, change: Tensor, *frames: int) -> Tensor:
    clip = clip.clone()
    clip[:, :, list(frames)] += change[:, :, list(frames)]
    return clip
