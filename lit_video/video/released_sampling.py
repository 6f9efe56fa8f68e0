"""Samplings with the same frames as X-ViT's and TimeSformer's releases and PySlowFast, for their checkpoints.

Accuracy changes because these samplings differ from the papers: segments share their border frames; the frames of
"frames x rate" are ``(frames * rate - 1) / (frames - 1)`` apart; a single dense test clip begins at the video's start
instead of lying at its centre; the last window of a video is never tested.
"""

import random
from dataclasses import dataclass
from itertools import pairwise

import torch

from lit_video.utils.arguments import Count, Positive
from lit_video.video.decoding import FrameTable
from lit_video.video.sampling import DenseStride, Sampling


@dataclass(frozen=True)
class ReleasedSegments(Sampling):
    """Sampling of X-ViT's and TimeSformer's releases on Something-Something v2 (X-ViT's code has 2 clips, its paper 1).

    Training takes a random frame of each segment. Test clip 0 takes the middle frame of each segment (rounded down),
    clip 1 the first frame, clip 2 the last. Segment ``i`` begins at frame ``round(i * (table.count - 1) / frames)``.
    """

    def numbers(self, table: FrameTable, num_frames: int, clip: int = 0, *, clips: int | None = None) -> list[int]:
        """Return the frame numbers of one clip, see :class:`Sampling`."""
        self.check(num_frames, clips or 1)
        borders = [round((table.count - 1) / num_frames * number) for number in range(num_frames + 1)]
        segments = [*pairwise(borders)]
        if clips is None:
            return [random.randint(first, last) for first, last in segments]
        return [((first + last) // 2, first, last)[clip] for first, last in segments]

    def check(self, num_frames: int, clips: int) -> None:
        """Refuse more than three test clips."""
        if clips > 3:
            raise ValueError(f"test_clips is {clips}, ReleasedSegments has 3 at most")


@dataclass(frozen=True)
class ReleasedDense(DenseStride):
    """Sampling on Kinetics of PySlowFast, X-ViT and TimeSformer; validation takes clip 0 (X-ViT's code: a random clip).

    ``stride`` is the rate in the papers' "frames x rate". With ``fps`` (30 in PySlowFast and TimeSformer's release) a
    clip lasts as long as in a video of that frame rate; with ``None``, ``stride`` counts the video's own frames.
    """

    stride: Count = 16
    fps: Positive | None = None
    counts_frames = True  # with ``fps`` too

    def numbers(self, table: FrameTable, num_frames: int, clip: int = 0, *, clips: int | None = None) -> list[int]:
        """Return the frame numbers of one clip, see :class:`Sampling`."""
        # the release has 30 only; another fps rescales the video's rate
        rate = 1.0
        if self.fps is not None:
            rate = float(table.count / table.seconds) * 30 / self.fps / 30
        window = num_frames * self.stride * rate
        slack = max(table.count - window, 0)
        start = random.uniform(0, slack) if clips is None else slack * clip / clips

        # float32 as in the release: rounding near whole numbers decides the indices
        positions = torch.linspace(start, start + window - 1, num_frames)
        return positions.clamp(0, table.count - 1).int().tolist()
