"""Needs of TemporalSkills: how many steps a model must be shown, and how distant frames it must compare."""

from collections.abc import Sequence
from dataclasses import dataclass

from lit_video.datamodules import TemporalSkills


@dataclass(frozen=True)
class Needs:
    """Steps that a model must be shown, and distance of frames that it must compare, to tell all skills in all videos.

    No scheme compares frames of different clips, so events that are never in one clip cannot be compared.
    """

    steps_shown: float  # largest share, 0 to 1, of a video's steps that one clip of the test shows
    # distance in frames that a scheme must compare to tell every orderN (neighbouring steps show all other skills);
    # ``None`` if no clip shows both events of the orderN that needs the largest distance
    reach: int | None


def needs(data: TemporalSkills) -> Needs:
    """Return the needs of the test's clips; on a circle of T steps, events N apart are also T - N apart."""
    clips = data.steps_shown()
    shown = max(len(set(clip)) for clip in clips) / data.steps
    furthest = max((max(apart, data.steps - apart) for apart in data.event_distances), default=1)
    return Needs(shown, smallest_distance(clips, furthest) or None)


def smallest_distance(clips: Sequence[Sequence[int]], steps: int) -> int | None:
    """Return the smallest distance in frames of two frames of a clip that are ``steps`` apart; ``None`` without any."""
    distances = []
    for clip in clips:
        for first, step in enumerate(clip):
            distances += [other - first for other in range(first, len(clip)) if clip[other] - step == steps]
    return min(distances, default=None)
