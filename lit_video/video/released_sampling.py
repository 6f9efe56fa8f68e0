"""Samplings of X-ViT's and TimeSformer's releases and of PySlowFast, index by index, for their checkpoints.

Differences from the papers change accuracy: segments share their border frames, "frames x rate" steps by
``(frames * rate - 1) / (frames - 1)`` frames, a single dense test clip is the first instead of the centre clip, and
the last window of a video is never tested.
"""

import random
from dataclasses import dataclass
from itertools import pairwise, starmap

import torch

from lit_video.video.decoding import FrameTable
from lit_video.video.sampling import DenseStride, Sampling


@dataclass(frozen=True)
class ReleasedSegments(Sampling):
    """Sampling of X-ViT's and TimeSformer's releases on Something-Something v2; X-ViT tests 2 clips, in its paper 1.

    Training takes a random frame of each segment; test clip 0 takes the middle frames, rounded down, clip 1 the first,
    clip 2 the last. Segments share the border ``round(i * (table.count - 1) / frames)``, halves rounded to even.
    """

    def numbers(self, table: FrameTable, frames: int, clip: int = 0, clips: int | None = None) -> list[int]:
        """Return the frame numbers of one clip, see :class:`Sampling`."""
        self.check(frames, clips or 1)
        borders = [round((table.count - 1) / frames * i) for i in range(frames + 1)]
        if clips is None:
            return list(starmap(random.randint, pairwise(borders)))
        return [((low + high) // 2, low, high)[clip] for low, high in pairwise(borders)]

    def check(self, frames: int, clips: int) -> None:
        """Check that a segment has a middle, a first and a last frame."""
        if clips > 3:
            raise ValueError(f"test_clips is {clips}, ReleasedSegments has 3 at most")


@dataclass(frozen=True)
class ReleasedDense(DenseStride):
    """Sampling on Kinetics in the code of PySlowFast, X-ViT and TimeSformer; validation: clip 0 (X-ViT: a random one).

    ``stride`` is the "rate" of frames x rate. ``fps`` makes clips last as long as at this rate (30 in
    PySlowFast and TimeSformer's release), whatever the video's; ``None`` counts the video's own frames.
    """

    stride: int = 16
    fps: float | None = None
    counts_frames = True  # whatever the rate

    def numbers(self, table: FrameTable, frames: int, clip: int = 0, clips: int | None = None) -> list[int]:
        """Return the frame numbers of one clip, see :class:`Sampling`."""
        # the release has 30 only; another fps rescales the video's rate
        rate = 1.0 if self.fps is None else float(table.count / table.seconds) * 30 / self.fps / 30
        window = frames * self.stride * rate
        slack = max(table.count - window, 0)
        start = random.uniform(0, slack) if clips is None else slack * clip / clips
        # float32 as in the release: rounding next to whole numbers decides indices
        return torch.linspace(start, start + window - 1, frames).clamp(0, table.count - 1).int().tolist()
