"""Whole numbers spread evenly."""

from fractions import Fraction


def uniform_frames(frames: int, sampled: int) -> list[int]:
    """Indices of ``sampled`` frames spread evenly inside a clip, its ends left out: round(k * frames / (sampled + 1)).

    Halves go to the even index. All frames, where there are no more than ``sampled``.
    Source: ViViT, arXiv:2103.15691, section 3.2, as in the released code, but in fractions: the release's floats give
    one index too many for many pairs of numbers (8 frames, 5 sampled).
    """
    if sampled >= frames:
        return list(range(frames))
    return [round(Fraction(k * frames, sampled + 1)) for k in range(1, sampled + 1)]
