"""Synthetic stills to pretrain a small image ViT on, instead of ImageNet."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from lightning import LightningDataModule
from torch import Tensor
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

from lit_video.datamodules.drawing import SHAPES, Figure, Rng, paint
from lit_video.utils.classes import soft_labels
from lit_video.video.batch import Batch, normalise

STILLS_VERSION = 2  # increment whenever pictures or labels change
EPOCHS = 4
NUM_PLACES = 8  # along a side
NUM_SIZES = 4
NUM_TURNS = 6
RADII = (0.08, 0.28)  # shares of the side
# number of classes of each label; shapes other than bars get the last class of ``turn``
STILL_TASKS = {
    "shape": len(SHAPES),
    "column": NUM_PLACES,
    "row": NUM_PLACES,
    "size": NUM_SIZES,
    "turn": NUM_TURNS + 1,
    "tone": 2,
}


class Stills(LightningDataModule):
    """Single frames with one shape each, in batches of one-frame clips, for training an image model.

    Labels (``STILL_TASKS``) are shape, position on an 8 x 8 grid, size, angle of bars, and tone.

    Args:
        count: number of pictures.
        side: side of a picture in pixels.
        steps: number of training steps; ``None`` for 4 epochs.
        difficulty: see :class:`~lit_video.datamodules.TemporalSkills`.
    """

    def __init__(
        self,
        count: int,
        side: int = 32,
        steps: int | None = None,
        *,
        batch_size: int = 64,
        difficulty: float = 0.65,
    ) -> None:
        super().__init__()
        self.count = count
        self.side = side
        self.steps = steps or EPOCHS * count // batch_size
        self.batch_size = batch_size
        self.difficulty = difficulty

    def train_dataloader(self) -> DataLoader[Batch]:
        """Load all training steps as one Lightning epoch."""
        pictures: list[Tensor] = []
        labels: list[Tensor] = []
        for number in range(self.count):
            rng = np.random.default_rng((STILLS_VERSION, number))
            picture, label = draw_still(rng, self.side, self.difficulty)
            pictures.append(torch.from_numpy(picture))
            labels.append(torch.from_numpy(label))
        stills: Any = TensorDataset(torch.stack(pictures), torch.stack(labels), torch.arange(self.count))

        order = torch.Generator().manual_seed(STILLS_VERSION)
        sampler = RandomSampler(range(self.count), num_samples=self.steps * self.batch_size, generator=order)
        batches: Any = BatchSampler(sampler, self.batch_size, drop_last=True)
        return DataLoader(stills, sampler=batches, batch_size=None, collate_fn=_batch)  # sampler of whole batches


def _batch(stills: Sequence[Tensor]) -> Batch:
    """Return pictures as clips of one frame, with soft labels."""
    pictures, labels, video = stills
    clip = normalise(pictures[:, None, None], 0.5, 0.5)
    target = soft_labels(labels, STILL_TASKS, 0.0)
    return Batch(clip=clip, target=target, video=video, view=torch.zeros_like(video))


def draw_still(rng: Rng, side: int, difficulty: float) -> tuple[Any, Any]:
    """Draw a picture ``(3, side, side)`` in uint8; return it with its labels in the order of ``STILL_TASKS``."""
    least, most = RADII
    shape = int(rng.integers(len(SHAPES)))
    x, y, radius, angle = rng.uniform((0, 0, least, 0), (1, 1, most, np.pi))
    tone = int(rng.integers(2))
    figure = Figure(x, y, radius, angle=angle, bright=bool(tone))
    (picture,) = paint(rng, [[figure]], SHAPES[shape], side=side, difficulty=difficulty)

    turn = NUM_TURNS
    if SHAPES[shape] == "bars":
        turn = int(angle / np.pi * NUM_TURNS)
    labels = [
        shape,
        int(x * NUM_PLACES),
        int(y * NUM_PLACES),
        int((radius - least) / 0.2 * NUM_SIZES),
        turn,
        tone,
    ]
    return picture.transpose(2, 0, 1), np.array(labels)
