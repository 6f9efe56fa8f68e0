"""Features of videos in the plane."""

from __future__ import annotations  # a signature then shows names of types, such as Count

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lit_video.api.arguments import File, places, refuse_unwritable
from lit_video.utils.files import user_path, write_bytes, writing
from lit_video.utils.text import Part, Shown

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from lit_video.inference.predict import TrainedModel, VideoPredictions
    from lit_video.inference.videos import Evaluation

ENDINGS = (".png", ".svg", ".pdf")


@dataclass(frozen=True, repr=False)
class EmbeddedVideos(Shown):
    """Videos as points, by t-SNE of the features that enter the classifier's last layer."""

    predictions: VideoPredictions
    points: NDArray[np.float64]  # (videos, 2), in the order of ``predictions.paths``

    @property
    def broken(self) -> dict[Path, str]:
        """Videos that could not be read, and the reasons."""
        return self.predictions.broken

    @property
    def trained_on(self) -> str:
        """How many of the videos the model was trained on, in words; empty if none or unknown."""
        from lit_video.video.trained_on import overlap_in_words

        return overlap_in_words(self._known)

    @property
    def _known(self) -> list[bool]:
        return [bool(video.trained_on) for video in self.predictions.ranked]

    @cached_property
    def figure(self) -> Figure:
        """Picture: a video's class is the name of its folder; videos that the model was trained on are hollow."""
        from lit_video.inference.result_pictures import points_figure

        title = f"t-SNE of the features of {len(self.points)} videos"
        if any(self._known):
            title += f", hollow: {self.trained_on}"
        classes = [path.parent.name for path in self.predictions.paths]
        return points_figure(self.points, classes, self._known, title=title)

    def write(self, output: File) -> Path:
        """Write the picture as ``.png``, ``.svg`` or ``.pdf``; return its path."""
        from lit_video.utils.figures import content_of

        path = refuse_unwritable("output", user_path(output), ENDINGS)
        with writing("--output", path):
            write_bytes(path, content_of(self.figure, path.suffix[1:].lower()))
        return path

    def parts(self) -> Sequence[Part]:
        """Return the number of points, and a line for each video that could not be read."""
        broken = [f"{path}: {reason}" for path, reason in self.broken.items()]
        counted = ", ".join(filter(None, [f"{len(self.points)} videos", self.trained_on]))
        return [counted, *broken]

    def _repr_html_(self) -> str:
        from lit_video.utils.figures import content_of

        return content_of(self.figure, "svg").decode() + super()._repr_html_()


def embed(
    ckpt: str | Path | TrainedModel, videos: File | Sequence[File], *, evaluation: Evaluation | None = None
) -> EmbeddedVideos:
    """Project the features of videos to the plane by t-SNE, so that neighbours stay close.

    The features are the input of the classifier's last layer; a video's class is the name of its folder. Videos that
    the model was trained on are hollow.

    Args:
        ckpt: a run's folder or checkpoint, or a loaded model, see :func:`lit_video.load`.
        videos: files, and folders (all videos below them).
        evaluation: views, batches and device; ``None`` for the defaults.

    Raises:
        UserError: an argument or the checkpoint is wrong, the model has no features, or too few videos can be read.
    """
    from lit_video.inference.predict import predict  # here, because importing torch takes seconds
    from lit_video.inference.result_pictures import project

    predictions = predict(ckpt, places(videos), 1, evaluation=evaluation)
    return EmbeddedVideos(predictions, project(predictions.checked_features.numpy()))
