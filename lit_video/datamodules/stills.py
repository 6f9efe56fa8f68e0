"""Synthetic stills to pretrain a small image ViT on, instead of ImageNet."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from lightning import LightningDataModule
from torch import Tensor
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

from lit_video.datamodules.drawing import SHAPES, Figure, paint
from lit_video.utils.classes import soft_labels
from lit_video.video.batch import Batch, normalise

VERSION = 2  # increment whenever pictures or labels change
EPOCHS = 4
PLACES, SIZES, TURNS = 8, 4, 6
# number of classes of each label; shapes other than bars get the last class of ``turn``
TASKS = {"shape": len(SHAPES), "column": PLACES, "row": PLACES, "size": SIZES, "turn": TURNS + 1, "tone": 2}


class Stills(LightningDataModule):
    """Single frames with one shape each, in batches of one-frame clips, for training an image model.

    Labels (``TASKS``) are shape, position on an 8 x 8 grid, size, turn of bars, and tone. There are ``count`` pictures,
    ``side`` pixels wide and high. ``steps``: training steps, ``None`` for 4 epochs; ``difficulty``: see TemporalSkills.
    """

    def __init__(
        self, count: int, side: int = 32, steps: int | None = None, batch_size: int = 64, difficulty: float = 0.65
    ) -> None:
        super().__init__()
        self.count, self.side = count, side
        self.steps = steps or EPOCHS * count // batch_size
        self.batch_size = batch_size
        self.difficulty = difficulty

    def train_dataloader(self) -> DataLoader[Batch]:
        """Load all training steps as one Lightning epoch."""
        drawn = [draw_still(np.random.default_rng((VERSION, i)), self.side, self.difficulty) for i in range(self.count)]
        pictures, labels = (torch.from_numpy(np.stack(column)) for column in zip(*drawn, strict=True))
        stills: Any = TensorDataset(pictures, labels, torch.arange(self.count))
        order = torch.Generator().manual_seed(VERSION)
        sampler = RandomSampler(range(self.count), num_samples=self.steps * self.batch_size, generator=order)
        batches: Any = BatchSampler(sampler, self.batch_size, drop_last=True)
        return DataLoader(stills, sampler=batches, batch_size=None, collate_fn=_batch)  # sampler of whole batches


def _batch(stills: Sequence[Tensor]) -> Batch:
    pictures, labels, video = stills
    clip = normalise(pictures[:, None, None], 0.5, 0.5)
    return Batch(clip=clip, target=soft_labels(labels, TASKS, 0.0), video=video, view=torch.zeros_like(video))


def draw_still(rng: np.random.Generator, side: int, difficulty: float) -> tuple[Any, Any]:
    """Draw a picture ``(3, side, side)`` in uint8; return it with its labels in the order of ``TASKS``."""
    shape = int(rng.integers(len(SHAPES)))
    x, y, radius, angle = rng.uniform((0, 0, 0.08, 0), (1, 1, 0.28, np.pi))
    tone, turn = int(rng.integers(2)), TURNS
    picture = paint(rng, [[Figure(x, y, radius, angle, bool(tone))]], SHAPES[shape], side, difficulty)[0]
    if SHAPES[shape] == "bars":
        turn = int(angle / np.pi * TURNS)
    labels = [shape, int(x * PLACES), int(y * PLACES), int((radius - 0.08) / 0.2 * SIZES), turn, tone]
    return picture.transpose(2, 0, 1), np.array(labels)
