"""Videos of a probe: pairs of a film and its reverse, drawn at the model's own size, kept nowhere."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torchvision.transforms.v2 import functional as F

from lit_video.datamodules.films import Skill, skill
from lit_video.datamodules.floors import sum_ceiling
from lit_video.datamodules.temporal_skills import VERSION, DrawnPair, first_steps
from lit_video.video.seeding import digest

# the skills of experiments/scale/profile.yaml; short clips show some of them
SKILLS = (
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
MOST_STEPS = 16  # steps of a turn; clips of more frames show each step several times
FEWEST_STEPS = 4
DIFFICULTY = 0.4  # difficulty of the training videos of experiments/scale/profile.yaml
SMALLEST = 16  # side in pixels of the pictures that are drawn; smaller clips are made from them
SPLIT = "probe"  # part of every seed: no split of a data set has these videos
GRID = 8  # rows and columns of the small frames whose pixels are a floor


def steps_of(num_frames: int) -> int:
    """Return the steps of a turn that clips show: a divisor of the frames, from 4 to 16 where there is one."""
    for steps in range(min(num_frames, MOST_STEPS), FEWEST_STEPS - 1, -1):
        if num_frames % steps == 0:
            return steps
    return num_frames


@dataclass(frozen=True)
class ProbeVideos:
    """Rounds of videos: a round has one pair of every skill, first played backwards, then as drawn.

    Films are those of :class:`~lit_video.datamodules.TemporalSkills`, on a circle of time: within a pair, and over
    the first steps, no single frame at a known time shows the direction.
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
        named = [skill(name) for name in SKILLS]
        return tuple(each for each in named if each.shortest <= self.steps)

    @property
    def in_a_round(self) -> int:
        """Number of videos in a round."""
        return 2 * len(self.skills)

    @property
    def key(self) -> tuple[object, ...]:
        """Values that determine the pictures."""
        names = ",".join(each.name for each in self.skills)
        return VERSION, names, self.num_frames, self.image_size, DIFFICULTY, self.seed

    def sum_bounds(self) -> list[float | None]:
        """Return for each skill the highest direction of a sum over frames at known times; ``None`` if unknown."""
        return [sum_ceiling(each, self.steps) for each in self.skills]

    def round(self, number: int) -> Tensor:
        """Draw a round: uint8 ``(2 * skills, frames, 3, height, width)``."""
        clips: list[NDArray[np.uint8]] = []
        for each in self.skills:
            frames = self._pair(each, number)
            clips += [frames[::-1], frames]
        return self._resized(torch.from_numpy(np.stack(clips)).permute(0, 1, 4, 2, 3))

    def _pair(self, named: Skill, number: int) -> NDArray[np.uint8]:
        """Draw the forward video of a skill's pair."""
        # the training and the test rounds have strata of their own: with common ones, a test would begin where no
        # training film does, and a probe that remembers beginnings would fall below 50
        part = number % 2
        start = digest(VERSION, self.seed, SPLIT, named.name, part)
        index = number // 2
        pair = DrawnPair(
            named,
            seed=digest(VERSION, self.seed, SPLIT, named.name, part, index),
            first=first_steps(index + 1, self.steps, start)[index],
            difficulty=DIFFICULTY,
            paths=(Path(), Path()),
        )
        side = max(*self.image_size, SMALLEST)
        return pair.render(self.num_frames, side, self.num_frames // self.steps)

    def _resized(self, clips: Tensor) -> Tensor:
        if clips.shape[-2:] == self.image_size:
            return clips.contiguous()
        flat = F.resize(clips.flatten(0, 1), list(self.image_size), antialias=True)
        return flat.unflatten(0, clips.shape[:2])

    def small_frames(self, clips: Tensor) -> Tensor:
        """Return a frame of each step as few grey pixels from 0 to 1: ``(clips, steps * GRID * GRID)``."""
        grey = clips[:, :: self.num_frames // self.steps].float().mean(2) / 255
        return F.resize(grey, [GRID, GRID], antialias=True).flatten(1)
