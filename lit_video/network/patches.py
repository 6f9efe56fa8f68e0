"""From pixels to patches: tubelets of frames, and uniform frame sampling."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import torch
from einops import rearrange
from torch import Tensor, nn

from lit_video.utils.clip_shape import uniform_frames


@dataclass(frozen=True)
class ClipSize:
    """Clip size for which a network is built, and the size of a tubelet."""

    image_size: tuple[int, int] = (224, 224)  # (height, width) in pixels
    patch_size: int = 16  # side of a tubelet in pixels
    num_frames: int = 8  # frames of the clip
    _: KW_ONLY
    tubelet_size: int = 1  # frames of a tubelet
    # number of the clip's frames that uniform_frames() chooses for the tubelets; None for all
    sampled_frames: int | None = None

    def patches(self, dim: int) -> Patches:
        """Build the projection of clips of this size to tokens of ``dim`` channels."""
        return Patches(dim, self.patch_size, self.tubelet_size, sampled_frames=self.sampled_frames)


class Patches(nn.Module):
    """Linear projection of non-overlapping tubelets to tokens.

    A tubelet has ``tubelet_size`` frames of ``patch_size`` x ``patch_size`` pixels. The layer is that of an
    image with ``3 * tubelet_size`` channels, in which colour is the slowest axis; its weight is
    ``(d, 3 * tubelet_size, patch_size, patch_size)``. For the arguments see :class:`ClipSize`.

    Shape: ``(b, 3, t * tubelet_size, height, width) -> (b, t, h, w, d)``.
    Source: ViT, arXiv:2010.11929, Eq. 1; ViViT, arXiv:2103.15691, section 3.2.
    """

    def __init__(self, dim: int, patch_size: int, tubelet_size: int = 1, *, sampled_frames: int | None = None) -> None:
        super().__init__()
        sizes = {"patch_size": patch_size, "tubelet_size": tubelet_size, "sampled_frames": sampled_frames}
        for name, value in sizes.items():
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}, expected at least 1")
        self.patch_size = patch_size
        self.tubelet_size = tubelet_size
        self.sampled_frames = sampled_frames
        self.proj = nn.Conv2d(3 * tubelet_size, dim, kernel_size=patch_size, stride=patch_size)

    def forward(self, clip: Tensor) -> Tensor:
        """Project a normalised clip."""
        if self.sampled_frames is not None:
            frames = torch.tensor(uniform_frames(clip.shape[2], self.sampled_frames), device="cpu")
            clip = clip.index_select(2, frames.to(clip.device, non_blocking=True))
        t, _, _ = self.grid(clip.shape[2], clip.shape[3], clip.shape[4], sampled=True)
        tubelets = rearrange(clip, "b c (t k) height width -> (b t) (c k) height width", t=t)
        return rearrange(self.proj(tubelets), "(b t) d h w -> b t h w d", t=t)

    def grid(self, num_frames: int, height: int, width: int, *, sampled: bool = False) -> tuple[int, int, int]:
        """Return the number of tubelets along time, rows and columns; ``sampled``: frames are already sampled."""
        if self.sampled_frames is not None and not sampled:
            num_frames = min(num_frames, self.sampled_frames)
        if num_frames < 1 or num_frames % self.tubelet_size:
            raise ValueError(f"num_frames {num_frames} is not divisible into tubelets of {self.tubelet_size}")
        if height < 1 or width < 1 or height % self.patch_size or width % self.patch_size:
            raise ValueError(f"image_size {height}x{width} is not divisible by patch_size {self.patch_size}")
        return num_frames // self.tubelet_size, height // self.patch_size, width // self.patch_size
