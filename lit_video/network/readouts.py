"""The two orders of norm and mean over frames: rows that swap them say how much of a gain the norm carries.

X-ViT normalises the class token of every frame and averages then; TimeSformer's S averages first, so that its frames
meet in one norm. Each class gives one family the order of the other (``model.readout``).
"""

from einops import repeat
from torch import Tensor, nn

from lit_video.attention import Grid
from lit_video.network.parts import Readout
from lit_video.network.transformer import frame_tokens, mean_frame_token


class NormAfterMean(Readout):
    """Average the class tokens, then normalise, for X-ViT with averaging: ``(b, t * (1 + s), d) -> (b, t, d)``.

    Every frame gets the same features, whose mean over frames they are: the classifier stays that of the family.
    Source: TimeSformer's released code, for attention in space.
    """

    def forward(self, x: Tensor, grid: Grid, norm: nn.Module) -> Tensor:
        """Return the features of tokens."""
        return repeat(mean_frame_token(x, grid, norm), "b d -> b t d", t=grid.t)


class NormBeforeMean(Readout):
    """Normalise the class tokens, then average, for TimeSformer's S: ``(b, t * (1 + s), d) -> (b, d)``.

    Source: X-ViT's released code, with temporal averaging.
    """

    def forward(self, x: Tensor, grid: Grid, norm: nn.Module) -> Tensor:
        """Return the features of tokens."""
        return frame_tokens(x, grid, norm).mean(1)
