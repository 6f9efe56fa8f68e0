"""Parameters and multiply-adds of a network."""

import copy

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from lit_video.utils.image_size import ImageSize, height_and_width


def count(module: nn.Module, frames: int, image_size: ImageSize) -> tuple[int, int]:
    """Parameters, and multiply-adds of one view of ``frames`` of a side, or height and width, ``image_size``.

    The papers' "FLOPs" are multiply-adds too. Counted are matrix products and convolutions, attention included,
    by torch's flop counter (which counts a multiply-add as two), on the meta device, without computing anything.
    """
    shadow = copy.deepcopy(module).to("meta").eval().requires_grad_(False)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        shadow(torch.empty(1, 3, frames, *height_and_width(image_size), device="meta"))
    return sum(p.numel() for p in module.parameters()), counter.get_total_flops() // 2
