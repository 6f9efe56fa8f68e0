"""Options of evaluating a model on videos."""

from dataclasses import dataclass
from math import inf
from typing import Literal

from lit_video.errors import OptionError


@dataclass(frozen=True)
class Evaluation:
    """Options of evaluating a model on videos.

    Args:
        clips: views in time of a video; ``None`` for as many as the model was tested on in training.
        crops: views in space of each, likewise.
        batch: clips at a time.
        workers: processes that decode; 0 decodes in this one.
        device: ``None`` for a GPU where there is one.
        progress: show a bar, if this is a terminal.
        fps: frames per second of folders of pictures, which are videos if it is given.

    Raises:
        UserError: a number is too small, or there is no such device.
    """

    clips: int | None = None
    crops: int | None = None
    batch: int = 8
    workers: int = 2
    device: Literal["cpu", "cuda"] | None = None
    progress: bool = False
    fps: float | None = None

    def __post_init__(self) -> None:
        """Check every value."""
        for name, least in {"clips": 1, "crops": 1, "batch": 1, "workers": 0}.items():
            number = getattr(self, name)
            if number is not None and number < least:
                raise OptionError(name, f"is {number}, expected a whole number from {least}")
        if self.fps is not None and not 0 < self.fps < inf:
            raise OptionError("fps", f"is {self.fps:g}, expected more than 0")
        if self.device not in (None, "cpu", "cuda"):
            raise OptionError("device", f"is {self.device}, expected cpu or cuda")
