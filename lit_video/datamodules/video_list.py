"""Videos without labels, on the evaluation path of the data set that a model was trained on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lit_video.datamodules.base import Split, VideoDataModule
from lit_video.video.clips import VideoRecord


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
