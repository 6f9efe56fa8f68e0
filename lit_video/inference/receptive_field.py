"""Which patches a token reads, measured on a network's own modules: where its gradient is not zero."""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from lit_video.attention.heads import Heads, Scheme, ZeroLinear
from lit_video.inference.rollout import patch_places
from lit_video.network.transformer import VideoTransformer


def layers_needed(network: VideoTransformer, clip: Tensor, query: Sequence[int]) -> Tensor:
    """After how many layers of the encoder a patch first has part in a token: ``(t, h, w)``, 0 for none of them.

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
    """What a token of the first layer reads in each attention step alone: by the step's name, ``(t, h, w)`` bool.

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
