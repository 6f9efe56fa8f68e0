"""From pixels to tokens: frame patches, class tokens and positions."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from einops import rearrange, repeat
from torch import Tensor, nn

from lit_video.attention import Grid

PositionKind = Literal["none", "space", "space-time"]


class FrameEmbedding(nn.Module):
    """Patches of every frame, each frame led by its own copy of the class token, plus positions.

    z_{t,s} = E x_{t,s} + p_s + p_t,   z_{t,cls} = z_cls + p_cls + p_t

    Shape: ``(b, 3, t, height, width) -> (b, t * (1 + h * w), d)`` and the grid ``(t, h, w)``.
    Source: X-ViT, arXiv:2106.05968, Eq. 1-2; the class token gets the temporal position too, as in the released code.
    Dropout sits between the two positions (released code).

    Args:
        width: channels of a token.
        patch: side of a square patch in pixels.
        image_size: (height, width) in pixels that the spatial positions are laid out for; another size interpolates.
        frames: length of the temporal embedding; a clip of a multiple of it repeats it (released Kinetics recipe).
        positions: ``none``, ``space`` or ``space-time``.
        dropout: probability of dropping a token's channel.

    Raises:
        ValueError: the image size is no multiple of the patch, or the clip no multiple of the temporal embedding.
    """

    def __init__(
        self,
        width: int,
        patch: int,
        image_size: tuple[int, int],
        frames: int,
        positions: PositionKind = "space-time",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if frames < 1:
            raise ValueError(f"frames is {frames}, expected at least 1")
        self.patch = patch
        self.grid = self._patches(*image_size)
        self.proj = nn.Conv2d(3, width, kernel_size=patch, stride=patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed: nn.Parameter | None = None
        self.temp_embed: nn.Parameter | None = None
        if positions != "none":
            self.pos_embed = nn.Parameter(torch.zeros(1, 1 + self.grid[0] * self.grid[1], width))
            nn.init.trunc_normal_(self.pos_embed, std=0.02)
        if positions == "space-time":
            # zeros: training starts from the image model
            self.temp_embed = nn.Parameter(torch.zeros(1, frames, 1, width))
        nn.init.trunc_normal_(self.cls_token, std=0.02)
        self.drop = nn.Dropout(dropout)

    def forward(self, clip: Tensor) -> tuple[Tensor, Grid]:
        """Embed a normalised clip."""
        b, _, t, height, width = clip.shape
        h, w = self._patches(height, width)
        x = self.proj(rearrange(clip, "b c t height width -> (b t) c height width"))
        x = rearrange(x, "bt d h w -> bt (h w) d")
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1)
        if self.pos_embed is not None:
            x = x + resize_positions(self.pos_embed, self.grid, (h, w))
        x = rearrange(self.drop(x), "(b t) m d -> b t m d", b=b)
        if self.temp_embed is not None:
            x = x + self._time(self.temp_embed, t)
        return rearrange(x, "b t m d -> b (t m) d"), Grid(t, h, w)

    def _patches(self, height: int, width: int) -> tuple[int, int]:
        if height % self.patch or width % self.patch:
            raise ValueError(f"image_size {height}x{width} is not divisible by the patch {self.patch}")
        return height // self.patch, width // self.patch

    def _time(self, table: Tensor, t: int) -> Tensor:
        """Temporal positions for t frames; the table repeats when t is a multiple of its length."""
        if t % table.shape[1]:
            raise ValueError(f"the temporal positions serve multiples of {table.shape[1]} frames, the clip has {t}")
        return repeat(table, "1 t 1 d -> 1 (r t) 1 d", r=t // table.shape[1])


def resize_positions(table: Tensor, source: tuple[int, int], target: tuple[int, int]) -> Tensor:
    """Spatial positions ``(1, 1 + h * w, d)`` of grid ``source`` on grid ``target``: bicubic, the class slot kept."""
    if source == target:
        return table
    cells = rearrange(table[:, 1:], "1 (h w) d -> 1 d h w", h=source[0])
    cells = F.interpolate(cells, size=target, mode="bicubic", align_corners=False)
    return torch.cat((table[:, :1], rearrange(cells, "1 d h w -> 1 (h w) d")), dim=1)
