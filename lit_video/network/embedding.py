"""From pixels to tokens: patches, tubelets of frames, and embeddings that add class tokens and positions."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, NamedTuple

import torch
from einops import rearrange, repeat
from torch import Tensor, nn

from lit_video.attention import Grid
from lit_video.network.positions import Positions, Resizing, resize_joint, resize_space, resize_time, sinusoids
from lit_video.network.vit import ViTSize
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


class Prefix(NamedTuple):
    """Class and register tokens before the patches."""

    num_tokens: int = 0
    every_frame: bool = False  # whether they lead every frame, not the clip alone

    def without(self, x: Tensor, grid: Grid) -> Tensor:
        """Return the tokens of patches alone: ``(b, n, d) -> (b, t, h * w, d)``."""
        if self.every_frame:
            return rearrange(x, "b (t m) d -> b t m d", t=grid.t)[:, :, self.num_tokens :]
        return rearrange(x[:, self.num_tokens :], "b (t s) d -> b t s d", t=grid.t)


NO_PREFIX = Prefix()


class Embedding(nn.Module):
    """Base of the embeddings: patches, a class token if ``cls``, and learned positions, separate in space and time.

    Positions are made for clips of ``num_frames`` and ``image_size`` (height, width), and resized for other clips.

    Attributes:
        leads_frames: whether class and register tokens lead every frame, not the clip alone.
        causal: whether a class of the user's own claims that no token sees a later frame.
    """

    leads_frames: ClassVar[bool] = False
    causal: ClassVar[bool] = False

    def __init__(
        self,
        patches: Patches,
        num_frames: int,
        image_size: tuple[int, int],
        *,
        positions: Positions | None = None,
        cls: bool = True,
    ) -> None:
        super().__init__()
        positions = positions or Positions()
        self.patches = patches
        self.grid = Grid(*patches.grid(num_frames, *image_size))
        self.resizing = positions.resizing
        self.stored = positions.stored

        self.cls_token: nn.Parameter | None = None
        self.pos_embed: nn.Parameter | None = None
        self.temp_embed: nn.Parameter | None = None
        self.reg_token: nn.Parameter | None = None
        self.fresh: tuple[str, ...] = ()  # parts that an image model does not start
        self.norm_pre: nn.Module = nn.Identity()

        self.slots = int(cls)  # class tokens in front of the patches
        self.num_prefix_tokens = self.slots  # class and register tokens in front of the patches

        if cls:
            self.cls_token = nn.Parameter(torch.empty(1, 1, self.embed_dim))
            nn.init.trunc_normal_(self.cls_token, std=0.02)

        if positions.kind != "none":
            self.pos_embed = nn.Parameter(torch.empty(1, self.slots + self.grid.h * self.grid.w, self.embed_dim))
            nn.init.trunc_normal_(self.pos_embed, std=positions.std or 0.02)

        if positions.kind == "space-time":
            self.temp_embed = nn.Parameter(torch.empty(1, self.grid.t, self.embed_dim))
            nn.init.normal_(self.temp_embed, std=positions.std or 0.0)

    def extend(self, size: ViTSize) -> None:
        """Add register tokens (arXiv:2309.16588; no positions) and a norm before the blocks, if ``size`` has them."""
        if size.registers and self.cls_token is None:
            raise ValueError(f"registers is {size.registers}, but they need a class token, which this network lacks")

        if size.registers:
            self.num_prefix_tokens += size.registers
            self.reg_token = nn.Parameter(torch.empty(1, size.registers, self.embed_dim))
            nn.init.trunc_normal_(self.reg_token, std=0.02)

        if size.norm_pre:
            self.norm_pre = nn.LayerNorm(self.embed_dim, eps=size.eps or 1e-6)

    def complete(self, x: Tensor) -> Tensor:
        """Put register tokens after the class token of ``(..., 1 + n, d)``, then apply the norm before the blocks."""
        if self.reg_token is not None:
            registers = self.reg_token.expand(*x.shape[:-2], -1, -1)
            x = torch.cat((x[..., :1, :], registers, x[..., 1:, :]), dim=-2)
        return self.norm_pre(x)

    @property
    def embed_dim(self) -> int:
        """Channels of a token."""
        return self.patches.proj.out_channels

    @property
    def prefix(self) -> Prefix:
        """Class and register tokens before the patches."""
        return Prefix(self.num_prefix_tokens, self.leads_frames)

    def lead(self, x: Tensor) -> Tensor:
        """Put the class token, if there is one, before tokens ``(b, n, d)``."""
        if self.cls_token is None:
            return x
        cls = self.cls_token.expand(x.shape[0], -1, -1)
        return torch.cat((cls, x), dim=1)

    def frames(self, clip: Tensor) -> tuple[Tensor, Grid]:
        """Return each frame's class token and patches with spatial positions ``(b, t, 1 + h * w, d)``, and the grid."""
        x = self.patches(clip)
        grid = Grid(*x.shape[1:4])
        x = self.lead(rearrange(x, "b t h w d -> (b t) (h w) d"))

        positions = self.positions(grid)
        if positions is not None:
            x = x + positions

        return rearrange(x, "(b t) m d -> b t m d", t=grid.t), grid

    def positions(self, grid: Grid) -> Tensor | None:
        """Return ``pos_embed`` with the patches' positions resized to a grid; ``None`` without positions."""
        if self.pos_embed is None or grid[1:] == self.grid[1:]:
            return self.pos_embed
        return self.resized(self.pos_embed, self.grid, grid, resizing=self.resizing)

    def resized(self, table: Tensor, source: Grid, target: Grid, *, resizing: Resizing) -> Tensor:
        """Resize a table like ``pos_embed`` from one grid to another; the class token's position is kept."""
        cells = resize_space(table[:, self.slots :], source[1:], target[1:], mode=resizing.space)
        return torch.cat((table[:, : self.slots], cells), dim=1)

    def time(self, t: int) -> Tensor | float:
        """Return temporal positions ``(1, t, 1, d)``, or zero if there are none."""
        if self.temp_embed is None:
            return 0.0
        return rearrange(resize_time(self.temp_embed, t, self.resizing.time), "1 t d -> 1 t 1 d")


class FrameEmbedding(Embedding):
    """Patches of every frame, each frame led by its own copy of the class token, plus positions.

        z_{t,s} = E x_{t,s} + p_s + p_t,   z_{t,cls} = z_cls + p_cls + p_t

    Shape: ``(b, 3, t, height, width) -> (b, t * (1 + h * w), d)`` and the grid ``(t, h, w)``.
    Source: X-ViT, arXiv:2106.05968, Eq. 1-2; the class token gets the temporal position too, as in the released code.
    TimeSformer's space attention and ViViT's spatial encoder use this embedding without temporal positions.
    """

    leads_frames = True

    def forward(self, clip: Tensor) -> tuple[Tensor, Grid]:
        """Embed a normalised clip."""
        x, grid = self.frames(clip)
        x = self.complete(x + self.time(grid.t))
        return rearrange(x, "b t m d -> b (t m) d"), grid


class ClipEmbedding(Embedding):
    """Patches of every frame, led by one class token for the clip, plus positions in space and time.

        z_{t,s} = E x_{t,s} + p_s + p_t,   z_cls + p_cls

    Shape: ``(b, 3, t, height, width) -> (b, 1 + t * h * w, d)`` and the grid ``(t, h, w)``.
    Source: TimeSformer, arXiv:2102.05095, section 3; the class token has a spatial and no temporal position, as in
    the released code.
    """

    def forward(self, clip: Tensor) -> tuple[Tensor, Grid]:
        """Embed a normalised clip."""
        x, grid = self.frames(clip)
        cls = x[:, 0, : self.slots]  # the copies of all frames are equal
        patches = x[:, :, self.slots :] + self.time(grid.t)

        x = torch.cat((cls, rearrange(patches, "b t s d -> b (t s) d")), dim=1)
        return self.complete(x), grid


class JointEmbedding(Embedding):
    """Tubelets with one table of positions over space and time, led by a class token if ``cls``.

        z_{t,s} = E x_{t,s} + p_{t,s},   z_cls + p_cls

    Shape: ``(b, 3, t * tubelet_size, height, width) -> (b, [1 +] t * h * w, d)`` and the grid ``(t, h, w)``.
    Source: ViViT, arXiv:2103.15691, Eq. 1; the class token starts at zero.

    Attributes:
        time_std: spread of the first positions in time, which are equal at all places of a time; 0 for none, so that an
            image model's positions are the same at all times.
    """

    pos_embed: nn.Parameter
    time_std: float = 0.0

    def __init__(self, patches: Patches, num_frames: int, image_size: tuple[int, int], *, cls: bool = True) -> None:
        super().__init__(patches, num_frames, image_size, positions=Positions("none"), cls=cls)
        t, h, w = self.grid
        self.pos_embed = nn.Parameter(torch.empty(1, self.slots + t * h * w, self.embed_dim))
        nn.init.normal_(self.pos_embed, std=0.02)
        if self.cls_token is not None:
            nn.init.zeros_(self.cls_token)

    @torch.no_grad()
    def fix_positions(self) -> None:
        """Set the positions to :func:`~lit_video.network.positions.sinusoids`, and do not train them (VideoMAE)."""
        self.pos_embed.copy_(sinusoids(self.pos_embed.shape[1], self.embed_dim)).requires_grad_(False)

    @torch.no_grad()
    def spread_in_time(self, std: float) -> None:
        """Add positions in time to the first positions, and later to those of an image model."""
        self.time_std = std
        self.pos_embed[:, self.slots :].add_(self.first_times())

    def first_times(self) -> Tensor:
        """Draw the first positions in time: ``(1, t * h * w, d)``."""
        times = torch.randn(self.grid.t, self.embed_dim, device=self.pos_embed.device) * self.time_std
        return repeat(times, "t d -> 1 (t s) d", s=self.grid.h * self.grid.w)

    def forward(self, clip: Tensor) -> tuple[Tensor, Grid]:
        """Embed a normalised clip."""
        x = self.patches(clip)
        grid = Grid(*x.shape[1:4])
        x = self.lead(rearrange(x, "b t h w d -> b (t h w) d"))
        return self.complete(x + self.positions(grid)), grid

    def positions(self, grid: Grid) -> Tensor:
        """Return ``pos_embed`` with the patches' positions resized to a grid."""
        # in an export for clips of any length the number of frames is symbolic, and a comparison would fix it
        if isinstance(grid.t, int) and grid == self.grid:
            return self.pos_embed
        return self.resized(self.pos_embed, self.grid, grid, resizing=self.resizing)

    def resized(self, table: Tensor, source: Grid, target: Grid, *, resizing: Resizing) -> Tensor:
        """Resize a table over space and time from one grid to another; the class token's position is kept."""
        cells = resize_joint(table[:, self.slots :], source, target, resizing=resizing)
        return torch.cat((table[:, : self.slots], cells), dim=1)
