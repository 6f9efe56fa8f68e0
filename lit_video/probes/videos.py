"""Videos of a probe: pairs of a film and its reverse, drawn at the model's own size and never written to disk."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torchvision.transforms.v2 import functional as F

from lit_video.datamodules.films import Skill, find_skill
from lit_video.datamodules.floors import sum_ceiling, two_frames_ceiling
from lit_video.datamodules.temporal_skills import VERSION, DrawnPair, first_steps
from lit_video.video.seeding import digest

# the skills of experiments/scale/twelve.yaml; short clips leave out those whose turn is longer than the clip
PROBED_SKILLS = (
    "drift",
    "zoom",
    "rotation",
    "meeting",
    "speed",
    "duration",
    "count",
    "occlusion",
    "order1",
    "order3",
    "order5",
    "order7",
)
MOST_STEPS_SHOWN = 16  # most steps of a turn; clips of more frames show each step several times
FEWEST_STEPS = 4
DIFFICULTY = 0.4  # difficulty of the training videos of experiments/scale/twelve.yaml
SMALLEST = 16  # least side in pixels at which pictures are drawn; for smaller clips they are resized
PROBE_SPLIT = "probe"  # goes into every seed, so that no split of a data set has these videos
SMALL_SIDE = 8  # side in pixels of the small frames; a probe of their pixels is the floor for the model's features


def steps_of(num_frames: int) -> int:
    """Return the steps of a turn that clips show: the largest divisor of the frames from 4 to 16, else all frames."""
    for steps in range(min(num_frames, MOST_STEPS_SHOWN), FEWEST_STEPS - 1, -1):
        if num_frames % steps == 0:
            return steps
    return num_frames


@dataclass(frozen=True)
class ProbeVideos:
    """Rounds of videos: a round has one pair of every skill, the video played backwards, then as drawn.

    The films are drawn as in :class:`~lit_video.datamodules.TemporalSkills`, on a circle of time: a film begins at any
    step of its turn, so that no single frame shows the direction, even at a known time.
    """

    num_frames: int
    image_size: tuple[int, int]
    seed: int = 0

    @property
    def steps(self) -> int:
        """Number of steps of a turn."""
        return steps_of(self.num_frames)

    @cached_property
    def skills(self) -> tuple[Skill, ...]:
        """Skills whose turns are no longer than the clips."""
        named = [find_skill(name) for name in PROBED_SKILLS]
        return tuple(skill for skill in named if skill.shortest <= self.steps)

    @property
    def in_a_round(self) -> int:
        """Number of videos in a round."""
        return 2 * len(self.skills)

    @property
    def key(self) -> tuple[object, ...]:
        """Values that determine the pictures."""
        names = ",".join(skill.name for skill in self.skills)
        return VERSION, names, self.num_frames, self.image_size, DIFFICULTY, self.seed

    def sum_bounds(self) -> list[float | None]:
        """Return for each skill the highest accuracy of the direction, in percent, that a sum over frames can reach.

        The sum may weigh each frame by its time; ``None`` where the bound is unknown.
        """
        return [sum_ceiling(skill, self.steps) for skill in self.skills]

    def two_frames_bounds(self) -> list[float]:
        """Return for each skill the highest accuracy of the direction, in percent, of two neighbouring frames."""
        return [two_frames_ceiling(skill, self.steps) for skill in self.skills]

    def round(self, number: int) -> Tensor:
        """Draw a round: uint8 ``(2 * skills, frames, 3, height, width)``."""
        clips: list[NDArray[np.uint8]] = []
        for skill in self.skills:
            frames = self._pair(skill, number)
            clips += [frames[::-1], frames]

        drawn = torch.from_numpy(np.stack(clips)).permute(0, 1, 4, 2, 3)
        if drawn.shape[-2:] == self.image_size:
            return drawn.contiguous()
        flat = F.resize(drawn.flatten(0, 1), list(self.image_size), antialias=True)
        return flat.unflatten(0, drawn.shape[:2])

    def _pair(self, skill: Skill, number: int) -> NDArray[np.uint8]:
        """Draw the forward video of a skill's pair."""
        # Draw the first steps of training and of test rounds apart: drawn together, evenly over the turn, a test film
        # would begin where no training film does, and a probe that remembers beginnings would fall below 50 %
        part = number % 2
        start = digest(VERSION, self.seed, PROBE_SPLIT, skill.name, part)

        index = number // 2
        pair = DrawnPair(
            skill,
            seed=digest(VERSION, self.seed, PROBE_SPLIT, skill.name, part, index),
            first=first_steps(index + 1, self.steps, start)[index],
            difficulty=DIFFICULTY,
            paths=(Path(), Path()),
        )

        side = max(*self.image_size, SMALLEST)
        return pair.render(self.num_frames, side, self.num_frames // self.steps)

    def small_frames(self, clips: Tensor) -> Tensor:
        """Return small grey frames, one of each step, from 0 to 1: ``(clips, steps * SMALL_SIDE * SMALL_SIDE)``."""
        grey = clips[:, :: self.num_frames // self.steps].float().mean(2) / 255
        return F.resize(grey, [SMALL_SIDE, SMALL_SIDE], antialias=True).flatten(1)
