"""Any videos, on the evaluation path of the data set that a model was trained on."""

from collections.abc import Sequence
from typing import Any

from lit_video.datamodules.base import Split, VideoDataModule
from lit_video.video.clips import VideoRecord


class VideoList(VideoDataModule):
    """Videos of whatever origin, in the order in which batches number them.

    One without a label is a record with label 0, which means nothing.
    """

    def __init__(self, listed: Sequence[VideoRecord], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.listed = list(listed)

    def records(self, split: Split) -> list[VideoRecord]:
        """Every video, in any split."""
        return self.listed
