"""Needs of synthetic videos: how many steps a model must be shown, and how distant frames it must compare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Needs:
    """Frames that a model must be shown and compare to tell all classes of all videos, and how far it comes without.

    No scheme compares frames of different clips, so events that are never in one clip cannot be compared. Ceilings are
    in percent.
    """

    steps_shown: float  # largest share, 0 to 1, of a video's steps that one clip of the test shows
    # distance in frames that a scheme must compare to tell every orderN (neighbouring steps show all other skills);
    # ``None`` if no clip shows both events of the orderN that needs the largest distance
    reach: int | None
    blind_ceiling: float  # highest top-1 of a model that sees a set of frames without order
    reversal_ceiling: float  # highest top-1 of a model that gives a clip and its reverse the same scores
    sum_ceilings: Mapping[str, float]  # highest direction of a sum over frames, by skill
    two_frames_ceilings: Mapping[str, float]  # highest direction of two neighbouring frames, by skill


def smallest_distance(clips: Sequence[Sequence[int]], steps: int) -> int | None:
    """Return the smallest distance in frames of two frames of a clip that are ``steps`` apart; ``None`` without any."""
    distances = []
    for clip in clips:
        for first, step in enumerate(clip):
            distances += [other - first for other in range(first, len(clip)) if clip[other] - step == steps]
    return min(distances, default=None)
