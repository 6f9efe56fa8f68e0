"""Streaming inference of a causal X-ViT: the cost of a new frame does not depend on the video's length."""

import torch
from torch import Tensor

from lit_video.attention.streaming import streamed
from lit_video.network.aggregation import CrossTemporalAttention, TemporalAttention, TemporalMean
from lit_video.network.block import Block
from lit_video.network.embedding import FrameEmbedding
from lit_video.network.transformer import VideoTransformer, frame_tokens

CANNOT = "this model cannot stream; an X-ViT can, if trained with model.causal true and model.positions space"


class Stream:
    """Frame-by-frame inference of an X-ViT whose layers read past frames only.

    After frame T (counted from 1) of a video the logits are

        aggregate(z_s, ..., z_T),   s = max(1, T - num_frames + 1),

    where z_1, ..., z_T are the network's frame tokens of frames 1 to T, read as one clip, and ``num_frames`` is
    the length of a training clip. While T <= ``num_frames``, these are the network's logits of the clip so far; clips
    shorter than in training are less accurate. Later, tokens also depend on frames before the last ``num_frames``; the
    number of such frames is at most the sum of the layers' windows. In training there are none, because no frames
    precede a clip.

    Videos of a batch begin together. All state is kept here, so the network may serve other streams at the same time.

    Shape: next frames ``(b, 3, t, height, width)``, float, normalised -> logits after each frame ``(b, t, classes)``.

    Args:
        network: X-ViT in eval mode, on the device of the frames.
    """

    def __init__(self, network: VideoTransformer) -> None:
        embed = network.embed
        self._layers = [block for block in network.blocks if isinstance(block, Block)]
        by_frame = isinstance(embed, FrameEmbedding) and network.readout is frame_tokens
        every_frame = embed.patches.tubelet_size == 1 and embed.patches.sampled_frames is None
        timeless = embed.temp_embed is None
        aggregates = isinstance(network.aggregate, TemporalMean | TemporalAttention | CrossTemporalAttention)
        blocks = len(self._layers) == len(network.blocks)
        if network.parts or not (by_frame and every_frame and timeless and aggregates and blocks):
            raise ValueError(CANNOT)

        self.network = network
        self.num_frames = network.num_frames
        self.reset()

    def reset(self) -> None:
        """Forget all frames: the next frame is the first frame of new videos."""
        self._blocks = [(streamed(block.scheme), block.mlp) for block in self._layers]
        self._tokens: list[Tensor] = []
        self._like: tuple[int, ...] = ()
        self._whole = True

    def __call__(self, frames: Tensor) -> Tensor:
        """Return the logits after each of the next frames."""
        if not self._whole:
            raise ValueError("an earlier call broke off, and some layers hold its frames: call reset()")
        if any(module.training for module in self.network.modules()):
            raise ValueError("the model is in training mode, in which answers are random: call eval() first")
        if frames.ndim != 5 or not frames.shape[2]:
            raise ValueError(f"frames are {tuple(frames.shape)}, expected (b, 3, t, height, width), t at least 1")

        b, _, _, height, width = frames.shape
        if self._like and self._like != (b, height, width):
            before = "{} videos of {} x {} pixels".format(*self._like)
            raise ValueError(f"frames of {b} videos of {height} x {width} pixels follow {before}: call reset()")

        with torch.no_grad():
            x, grid = self.network.embed(frames)
            self._whole = False

            for scheme, mlp in self._blocks:
                x = scheme(x, grid)
                x = x + mlp(x)

            new_tokens = self.network.readout(x, grid, self.network.norm)
            tokens = torch.cat((*self._tokens, new_tokens), dim=1)
            num_tokens = tokens.shape[1]

            logits: list[Tensor] = []
            for end in range(num_tokens - grid.t + 1, num_tokens + 1):
                start = max(end - self.num_frames, 0)
                logits.append(self.network.forward_head(tokens[:, start:end]))

        first_kept = max(num_tokens - self.num_frames + 1, 0)
        self._tokens = [tokens[:, first_kept:].clone()]
        self._like = (b, height, width)
        self._whole = True
        return torch.stack(logits, dim=1)
