"""Needs of TemporalSkills: the steps and the distance of frames that a model must be shown and compare."""

from collections.abc import Sequence
from dataclasses import dataclass

from lit_video.datamodules import TemporalSkills


@dataclass(frozen=True)
class Needs:
    """Steps and distance of frames that a model must be shown and compare to tell every skill in every video.

    No scheme compares clips, so a model of shorter clips cannot see events that are further apart.
    """

    steps_shown: float  # largest share, 0 to 1, of a video's steps that one clip of the test shows
    # distance in frames that a scheme must compare to tell every orderN; neighbouring steps show any other skill too.
    # Unknown if no clip shows both events of every orderN
    reach: int | None


def needs(data: TemporalSkills) -> Needs:
    """Return the needs of the test's clips. On a circle of T steps, events N apart stand N or T - N apart."""
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
