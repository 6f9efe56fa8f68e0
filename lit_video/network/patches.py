"""From pixels to patches: tubelets of frames, and uniform frame sampling."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from einops import rearrange
from torch import Tensor, nn

from lit_video.utils.clip_shape import uniform_frames


@dataclass(frozen=True)
class ClipSize:
    """Clip size for which a network is built, and the size of a tubelet."""

    image_size: tuple[int, int] = (224, 224)  # (height, width) in pixels
    patch: int = 16  # side of a tubelet in pixels
    frames: int = 8  # frames of the clip
    tubelet: int = 1  # frames of a tubelet
    # number of the clip's frames that uniform_frames() chooses for the tubelets; None for all
    sampled_frames: int | None = None

    def patches(self, width: int) -> Patches:
        """Build the projection of clips of this size to tokens of ``width`` channels."""
        return Patches(width, self.patch, self.tubelet, self.sampled_frames)


class Patches(nn.Module):
    """Linear projection of non-overlapping tubelets (``tubelet`` frames x ``patch`` x ``patch`` pixels) to tokens.

    A tubelet is projected like a patch of ``3 * tubelet`` channels, in which colour is the slowest axis; the weight is
    ``(d, 3 * tubelet, patch, patch)``. For the arguments see :class:`ClipSize`.

    Shape: ``(b, 3, t * tubelet, height, width) -> (b, t, h, w, d)``.
    Source: ViT, arXiv:2010.11929, Eq. 1; ViViT, arXiv:2103.15691, section 3.2.
    """

    def __init__(self, width: int, patch: int, tubelet: int = 1, sampled_frames: int | None = None) -> None:
        super().__init__()
        for name, value in (("patch", patch), ("tubelet", tubelet), ("sampled_frames", sampled_frames)):
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}, expected at least 1")
        self.patch = patch
        self.tubelet = tubelet
        self.sampled_frames = sampled_frames
        self.proj = nn.Conv2d(3 * tubelet, width, kernel_size=patch, stride=patch)

    def forward(self, clip: Tensor) -> Tensor:
        """Project a normalised clip."""
        if self.sampled_frames is not None:
            frames = torch.tensor(uniform_frames(clip.shape[2], self.sampled_frames), device="cpu")
            clip = clip.index_select(2, frames.to(clip.device, non_blocking=True))
        t, _, _ = self.grid(clip.shape[2], clip.shape[3], clip.shape[4], sampled=True)
        tubelets = rearrange(clip, "b c (t k) height width -> (b t) (c k) height width", t=t)
        return rearrange(self.proj(tubelets), "(b t) d h w -> b t h w d", t=t)

    def grid(self, frames: int, height: int, width: int, sampled: bool = False) -> tuple[int, int, int]:
        """Return the number of tubelets along time, rows and columns; ``sampled``: frames are already sampled."""
        if self.sampled_frames is not None and not sampled:
            frames = min(frames, self.sampled_frames)
        if frames < 1 or frames % self.tubelet:
            raise ValueError(f"frames {frames} is not divisible into tubelets of {self.tubelet}")
        if height < 1 or width < 1 or height % self.patch or width % self.patch:
            raise ValueError(f"image_size {height}x{width} is not divisible by the patch {self.patch}")
        return frames // self.tubelet, height // self.patch, width // self.patch
