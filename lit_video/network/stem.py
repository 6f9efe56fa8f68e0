"""Embedding with convolutions over neighbouring pixels and frames, for small networks and little data."""

from typing import Any

from einops import rearrange
from torch import Tensor, nn

from lit_video.network.embedding import FrameEmbedding, Patches

WIDTHS = (16, 32)  # channels of the two convolutions: multiples of 16, for which CPUs have fast code


class StemPatches(Patches):
    """Projection of patches, plus convolutions that see across their borders and two frames to each side.

    The convolutions halve the sides twice, so ``patch_size`` is a multiple of 4. They see ``patch_size + 6`` pixels of
    five frames. Both norms take mean and variance over the whole clip, so that a token also depends on all its pixels.

    Shape: ``(b, 3, t, height, width) -> (b, t, h, w, d)``.
    Source: convolutions before a vision transformer, arXiv:2106.14881; ours over time too.
    """

    def __init__(self, dim: int, patch_size: int) -> None:
        if patch_size % 4:
            raise ValueError(f"patch_size is {patch_size}, expected a multiple of 4 for the convolutions")
        super().__init__(dim, patch_size)
        first, second = WIDTHS
        side = patch_size // 4
        self.stem = nn.Sequential(
            nn.Conv3d(3, first, (3, 4, 4), stride=(1, 2, 2), padding=1),
            nn.GroupNorm(1, first),
            nn.GELU(),
            nn.Conv3d(first, second, (3, 4, 4), stride=(1, 2, 2), padding=1),
            nn.GroupNorm(1, second),
            nn.GELU(),
            nn.Conv3d(second, dim, (1, side, side), stride=(1, side, side)),
        )

    def forward(self, clip: Tensor) -> Tensor:
        """Project a normalised clip."""
        seen = rearrange(self.stem(clip), "b d t h w -> b t h w d")
        return super().forward(clip) + seen


class StemEmbedding(FrameEmbedding):
    """:class:`FrameEmbedding` of :class:`StemPatches`, for models that are not causal.

    Convolutions and X-ViT's first layer together see three frames to each side; norms see the whole clip.
    """

    def __init__(self, patches: Patches, num_frames: int, image_size: tuple[int, int], **arguments: Any) -> None:
        stem = StemPatches(patches.proj.out_channels, patches.patch_size)
        super().__init__(stem, num_frames, image_size, **arguments)
