"""Attention rollout of a whole network: the share of every patch in what is classified."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from lit_video.attention import Grid
from lit_video.inference.one_head import only_head, steps_of
from lit_video.inference.routing import Recording, route
from lit_video.network.block import Block
from lit_video.network.patches import Patches
from lit_video.network.transformer import VideoTransformer
from lit_video.utils.spacing import uniform_frames


@dataclass(frozen=True)
class Rollout:
    """Relevance of every patch, and the logits.

    Args:
        patches: share of every patch in the output, ``(t, h, w)``, at least 0.
        other: share of what is no patch: class tokens and other learnt tokens. With ``patches`` it sums to 1.
        logits: ``(1, classes)``.
    """

    patches: Tensor
    other: float
    logits: Tensor


def rollout(
    network: VideoTransformer,
    clip: Tensor,
    query: Sequence[int] | None = None,
    last_layer: bool = False,
    head: int | None = None,
) -> Rollout:
    """Follow the attention of a network in eval mode from its output, or from one patch, back to all patches.

    The output is what is classified: the class token, or the mean over those of the frames or over all tokens, through
    the temporal layers where the network has some.

    Args:
        network: any video transformer.
        clip: one clip, normalised, ``(1, 3, t, height, width)``.
        query: frame, row and column of a patch of the last layer, to start from instead of the output.
        last_layer: follow the last layer of the encoder only (and temporal layers after it).
        head: of the last layer's last step of attention, counted from 0, instead of the mean over its heads.

    Raises:
        ValueError: the query lies outside the grid, or the last layer has no patches, or not this head; the network
            holds a layer that this rollout does not support.
    """
    outputs: dict[str, Any] = {}
    last = network.blocks[-1]
    steps = steps_of(last) if head is not None else []
    with (
        torch.no_grad(),
        Recording() as recording,
        _hooked(
            (network.embed, lambda module, inputs, output: outputs.update(embedded=output)),
            # how many calls of attention there were before each of the layer's steps, and after it
            *((step.norm, lambda module, *_: outputs.update(begin=len(recording.weights))) for step in steps),
            (last, lambda module, *_: outputs.update(end=len(recording.weights))),
        ),
    ):
        logits = network(clip)
    weights = recording.weights
    if head is not None:
        calls = slice(outputs["begin"], outputs["end"])
        weights[calls] = only_head(weights[calls], steps[-1].heads, head)
    embedded, grid = outputs["embedded"]
    ones = torch.ones_like(embedded, requires_grad=True)
    place = patch_places(embedded.shape[1], grid).to(clip.device)
    skipped = list(network.blocks)[:-1] if last_layer else []
    with _hooked(
        (network.embed, lambda module, inputs, output: (ones, grid)),
        *((block, lambda module, inputs, output: inputs[0]) for block in skipped),
        (last, lambda module, inputs, output: outputs.update(tokens=output)),
    ):
        out = route(network, weights, clip)
    if not torch.allclose(out, torch.ones_like(out), atol=1e-3):
        raise ValueError(f"{type(network).__name__} holds layers that the rollout does not know")
    start = out[0, 0] if query is None else outputs["tokens"][0, _query(query, grid, place, last)].mean()
    (shares,) = torch.autograd.grad(start, ones)
    patches = shares[0].sum(-1)[place].detach()
    return Rollout(patches, 1 - float(patches.sum()), logits)


def _query(query: Sequence[int], grid: Grid, place: Tensor, last: nn.Module) -> Tensor:
    if not isinstance(last, Block):
        raise ValueError("the last layer holds latents, no patches to start from")
    if any(not 0 <= i < size for i, size in zip(query, grid, strict=True)):
        raise ValueError(
            f"{','.join(map(str, query))} is no patch; frames, rows and columns count from 0 and there are "
            f"{grid.t} x {grid.h} x {grid.w}"
        )
    return place[tuple(query)]


def patch_places(tokens: int, grid: Grid) -> Tensor:
    """Index of every patch among ``tokens`` tokens in any layout of the class token: ``(t, h, w)``.

    Raises:
        ValueError: a number of tokens that no layout has.
    """
    patches = grid.t * grid.h * grid.w
    if tokens == patches + grid.t:
        each = torch.arange(tokens).view(grid.t, -1)[:, 1:]
    elif tokens in (patches, patches + 1):
        each = torch.arange(tokens - patches, tokens)
    else:
        raise ValueError(f"{tokens} tokens on a grid of {grid.t} x {grid.h} x {grid.w} are no layout that is known")
    return each.reshape(tuple(grid))


def tubelet_frames(patches: Patches, frames: int) -> list[list[int]]:
    """Which of a clip's frames every tubelet is made of; with uniform frame sampling not all are used."""
    sampled = patches.sampled_frames
    used = list(range(frames)) if sampled is None else uniform_frames(frames, sampled)
    return [used[i : i + patches.tubelet] for i in range(0, len(used), patches.tubelet)]


@contextmanager
def _hooked(*hooks: tuple[nn.Module, Callable[..., Any]]) -> Iterator[None]:
    """Hooks that read, or replace, the outputs of modules."""
    handles = [module.register_forward_hook(hook) for module, hook in hooks]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
