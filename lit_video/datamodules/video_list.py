"""Videos without labels, on the evaluation path of the data set that a model was trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from lit_video.datamodules.base import Split, VideoDataModule
from lit_video.utils.class_paths import class_path, known_class
from lit_video.video.clips import VideoRecord
from lit_video.video.sampling import Sampling

# the arguments of a data set that decide what a model sees of a video in the test
SETTINGS = ("frames", "image_size", "sampling", "test_clips", "test_crops", "views", "mean", "std")


class OwnVideos(VideoDataModule):
    """Any videos; their labels, all 0, mean nothing.

    Args:
        paths: the videos, in the order in which batches number them.
        **kwargs: see :class:`VideoDataModule`.
    """

    def __init__(self, paths: Sequence[Path], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.paths = paths

    def records(self, split: Split) -> list[VideoRecord]:
        """Every video, in any split."""
        return [VideoRecord(path, 0) for path in self.paths]


def stored_settings(data: VideoDataModule) -> dict[str, Any]:
    """``SETTINGS`` of a data set as plain data, for a checkpoint; a sampling as its class and arguments."""
    return {name: _plain(getattr(data, name)) for name in SETTINGS}


def restored_settings(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a :class:`VideoDataModule` from what :func:`stored_settings` gave.

    Raises:
        ValueError: the sampling is of no known class, or its arguments are wrong.
    """
    return {name: _sampling(value) if name == "sampling" else value for name, value in stored.items()}


def _plain(value: object) -> Any:
    if is_dataclass(value):
        arguments = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        return {"class_path": class_path(type(value)), "init_args": arguments}
    return value


def _sampling(stored: Mapping[str, Any]) -> Sampling:
    return known_class(Sampling, stored["class_path"])(**stored["init_args"])  # type: ignore[type-abstract]
