"""Readouts: features for the classifier or the temporal aggregation, from the last layer's tokens.

Each function maps tokens ``(b, n, d)`` on a grid, with the final layer norm, to features ``(b, d)`` or ``(b, t, d)``.
"""

from collections.abc import Callable

from einops import rearrange, reduce
from torch import Tensor, nn

from lit_video.attention import Grid

Readout = Callable[[Tensor, Grid, nn.Module], Tensor]


def frame_tokens(x: Tensor, grid: Grid, norm: nn.Module) -> Tensor:
    """Class token of every frame: ``(b, t * (1 + s), d) -> (b, t, d)``. X-ViT; ViViT's model 2."""
    return norm(rearrange(x, "b (t m) d -> b t m d", t=grid.t)[:, :, 0])


def frame_means(x: Tensor, grid: Grid, norm: nn.Module) -> Tensor:
    """Mean token of every frame: ``(b, t * s, d) -> (b, t, d)``. ViViT's model 2 without class tokens."""
    return reduce(norm(x), "b (t s) d -> b t d", "mean", t=grid.t)


def mean_frame_token(x: Tensor, grid: Grid, norm: nn.Module) -> Tensor:
    """Mean of the frames' class tokens, *before* the norm: ``(b, t * (1 + s), d) -> (b, d)``. TimeSformer's space."""
    return norm(rearrange(x, "b (t m) d -> b t m d", t=grid.t)[:, :, 0].mean(1))


def clip_token(x: Tensor, grid: Grid, norm: nn.Module) -> Tensor:
    """The clip's class token: ``(b, 1 + n, d) -> (b, d)``. TimeSformer; ViViT's model 1."""
    return norm(x[:, 0])


def mean_token(x: Tensor, grid: Grid, norm: nn.Module) -> Tensor:
    """Mean of all tokens: ``(b, n, d) -> (b, d)``. ViViT's models 3 and 4; the Perceiver's latents."""
    return norm(x).mean(1)
