"""Paths of a pose on circles, by which every pose is equally likely in every frame of every class.

A pose is a list of coordinates, each in [0, 1): a place, an angle, a size, a joint. In a video's first frame every
coordinate is uniformly random, whatever the class. A motion adds a displacement that does not depend on this value, and
wraps round: a uniform value on a circle stays uniform when it is displaced, so no single frame tells the class. A swing
maps the circle to a rise and a fall of even speed, which keeps the value uniform too.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from lit_video.datamodules.drawing import Floats

Wave = Literal["even", "swing"]
VideoPart = Literal["whole", "first", "second"]

COORDINATES = (
    # every actor: place on a torus, sways and an orbit about the middle, angle, small turns, size
    *("x", "y", "sway_x", "sway_y", "orbit", "turn", "rock", "scale"),
    # a single shape
    *("squash", "bend", "ripple"),
    # joints of a person; left and right as seen
    *("left_shoulder", "left_elbow", "right_shoulder", "right_elbow"),
    *("left_hip", "left_knee", "right_hip", "right_knee", "neck"),
    # joints of a chain, from head to tail
    *("link1", "link2", "link3", "link4", "link5", "link6"),
    # two shapes: their distance, and each one's size and angle
    *("gap", "bright_scale", "bright_rock", "dark_scale", "dark_rock"),
    # camera and light
    *("pan_x", "pan_y", "zoom", "tilt", "shake_x", "shake_y", "light"),
)
NUMBER = {name: number for number, name in enumerate(COORDINATES)}

# speed profiles with their time reversals
SPEEDS = {
    "steady": "steady",
    "speeding": "slowing",
    "slowing": "speeding",
    "surging": "surging",
    "pausing": "pausing",
}
SLOWEST = 0.35  # least speed in a profile of changing speed, as a share of the mean speed
PAUSE = 0.35  # share of a pausing video that is before its pause; the same share is after it


@dataclass(frozen=True)
class Track:
    """Motion of one coordinate.

    ``even`` goes round the circle; a coordinate that is no circle, such as size, then jumps from its largest value to
    its smallest. ``swing`` rises in a share ``duty`` of a cycle and falls in the rest.
    """

    coordinate: str
    wave: Wave = "even"
    cycles: tuple[float, float] = (0.45, 0.75)  # range of the cycles in a video
    sign: int = 1  # -1 for an even motion that goes the other way round
    duty: float = 0.5
    group: int = 0  # tracks of the same group, if not 0, share their first phase, so that they move together
    offset: float = 0.0  # phase by which the track is ahead of its group
    multiple: int = 1  # number of cycles in one cycle of the group
    part: VideoPart = "whole"  # part of the video in which the coordinate moves

    def values(self, start: Floats, pace: float, progress: Floats) -> Floats:
        """Return the coordinate at each progress of the video, 0 to 1.

        Shape: ``start`` broadcasts with ``progress``. ``pace``, 0 to 1, chooses the number of cycles.
        """
        least, most = self.cycles
        moved = self.multiple * self.sign * (least + pace * (most - least)) * self._own(progress)
        phase = (start * self.multiple + self.offset + moved) % 1.0
        if self.wave == "even":
            return phase
        return tent(phase, self.duty)

    def _own(self, progress: Floats) -> Floats:
        """Return the progress of this track from that of the video, if it moves in a part of the video only."""
        if self.part == "first":
            return np.minimum(2 * progress, 1)
        if self.part == "second":
            return np.maximum(2 * progress - 1, 0)
        return progress


@dataclass(frozen=True)
class Motion:
    """A class of motion: its tracks, who can do it, and its time reversal."""

    name: str
    tracks: tuple[Track, ...]
    reverse: str  # name of the class that its reversed videos have; its own name if they look alike
    _: KW_ONLY
    kinds: tuple[str, ...] = ()  # kinds of actors that can do it
    travels: bool = False  # whether the actor crosses the picture, or moves about its middle
    backwards: bool = False  # whether progress runs from 1 to 0


def tent(phase: Floats, duty: float) -> Floats:
    """Return a rise from 0 to 1 in a share ``duty`` of a cycle, and a fall in the rest; ``phase`` is in [0, 1)."""
    return np.where(phase < duty, phase / duty, (1 - phase) / (1 - duty))


def clock(speed: str, times: Floats) -> Floats:
    """Return the progress at each time, both from 0 to 1.

    The clock of the reversed profile is ``1 - clock(speed, 1 - times)``.
    """
    if speed == "speeding":
        return SLOWEST * times + (1 - SLOWEST) * times**2
    if speed == "slowing":
        return 1 - clock("speeding", 1 - times)
    if speed == "surging":
        return SLOWEST * times + (1 - SLOWEST) * times**2 * (3 - 2 * times)

    if speed == "pausing":
        before = np.minimum(times, PAUSE)
        after = np.maximum(times - (1 - PAUSE), 0)
        return (before + after) / (2 * PAUSE)
    return times


def move(pose: Floats, motion: Motion, speed: str, *, pace: float) -> None:
    """Write a motion's coordinates into poses ``(..., coordinates, frames)`` in place, from those of the first frame.

    ``pace``, 0 to 1, chooses the number of cycles. Tracks of one group start from the value of its first coordinate.
    """
    times = np.linspace(0, 1, pose.shape[-1])
    progress = clock(speed, times)
    if motion.backwards:
        progress = 1 - progress

    firsts: dict[int, Floats] = {}
    for track in motion.tracks:
        number = NUMBER[track.coordinate]
        first = pose[..., number, :1].copy()
        if track.group:
            first = firsts.setdefault(track.group, first)
        pose[..., number, :] = track.values(first, pace, progress)
