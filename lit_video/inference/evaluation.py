"""Views, batches and device of an evaluation on videos."""

from __future__ import annotations  # a signature then shows names of types, such as Count

from dataclasses import dataclass
from typing import Literal

from lit_video.utils.arguments import Count, Positive, Whole, refuse_wrong_values


@dataclass(frozen=True)
class Evaluation:
    """How to evaluate a model on videos.

    Attributes:
        clips: clips of a video; ``None`` for the number in the run's own test.
        crops: crops of each clip; ``None`` for the number in the run's own test.
        batch: clips at a time.
        workers: processes that decode; 0 decodes in the main process.
        device: device to compute on; ``None`` for a GPU if there is one.
        progress: show a progress bar in a terminal.
        fps: frame rate of folders of pictures, which then count as videos.

    Raises:
        UserError: a number is too small, or there is no such device.
    """

    clips: Count | None = None
    crops: Count | None = None
    batch: Count = 8
    workers: Whole = 2
    device: Literal["cpu", "cuda"] | None = None
    progress: bool = False
    fps: Positive | None = None

    def __post_init__(self) -> None:
        """Check every value."""
        refuse_wrong_values(type(self), vars(self))
