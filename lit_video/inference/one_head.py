"""One head of a step of attention instead of the mean over its heads."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from lit_video.attention.heads import Heads
from lit_video.network.block import Block


def steps_of(layer: nn.Module) -> list[Heads]:
    """The attention steps of an encoder layer.

    Raises:
        ValueError: its tokens are latents, whose heads do not read patches.
    """
    if not isinstance(layer, Block):
        raise ValueError("the last layer holds latents, whose heads read no patches")
    return [module for module in layer.modules() if isinstance(module, Heads)]


def only_head(weights: Sequence[Tensor], heads: int, head: int) -> list[Tensor]:
    """Weights ``(..., a, m, j)`` of the calls of a step, all heads but one silent, that one as loud as all.

    The projection after attention takes the mean over heads where relevance is followed
    (:mod:`~lit_video.inference.routing`), which then is that head's own. A step calls attention with all its heads,
    once or for one frame after the other, or with some of them at a time.

    Raises:
        ValueError: there is no such head.
    """
    if not 0 <= head < heads:
        raise ValueError(f"there is no head {head}; the last layer has {heads}, counted from 0")
    first, chosen = 0, []
    for call in weights:
        of_call = call.shape[-3]
        loud = torch.zeros_like(call)
        place = head if of_call == heads else head - first
        if 0 <= place < of_call:
            loud[..., place, :, :] = heads * call[..., place, :, :]
        chosen.append(loud)
        first += of_call
    return chosen
