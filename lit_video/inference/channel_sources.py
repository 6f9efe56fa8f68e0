"""Which frames each head of X-ViT's mixing attention reads, channel by channel."""

import torch
from einops import rearrange
from torch import Tensor

from lit_video.attention import Mixing, Scheme, Space
from lit_video.attention.mixing import shift_channels


def channel_offsets(scheme: Scheme) -> Tensor:
    """Distance of the frame that every channel of every head is read from, ``(a, c)``; 0 is the token's own frame.

    That of a frame whose neighbours exist: beyond a clip's or a segment's ends channels are zeros.

    Raises:
        ValueError: a scheme whose channels do not move between frames in a fixed way.
    """
    if isinstance(scheme, Space):
        return torch.zeros(scheme.attn.heads, scheme.attn.norm.normalized_shape[0] // scheme.attn.heads).long()
    if not isinstance(scheme, Mixing):
        raise ValueError(f"{type(scheme).__name__} reads no channels of other frames")
    heads, width, window = scheme.attn.heads, scheme.attn.norm.normalized_shape[0], scheme.plan.window
    # every channel of a frame holds the distance of that frame
    frames = torch.arange(-window, window + 1.0).view(1, -1, 1, 1).expand(1, -1, scheme.groups, width // scheme.groups)
    moved = shift_channels(frames.contiguous(), scheme.offsets, scheme.fold)[0, window]
    return rearrange(moved.reshape(-1), "(a c) -> a c", a=heads).long()
