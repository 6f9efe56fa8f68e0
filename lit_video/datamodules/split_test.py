"""Test of one split of a data set, with the frames of its clips in one order."""

from typing import Any

from lightning import LightningDataModule

from lit_video.datamodules.base import VideoDataModule, is_raw
from lit_video.utils.splits import Split
from lit_video.video.batch import Batch
from lit_video.video.clips import FrameOrder


class SplitTest(LightningDataModule):
    """A further test of a trained model: of another split, or with another order of frames.

    The clips are those of the data set's test. Videos are not counted as broken again, and no state is kept.

    Args:
        data: the data set.
        split: split whose videos are tested; of ``train`` some (:meth:`VideoDataModule.training_sample`).
        order: order of a clip's frames; ``None`` for the data set's.
    """

    def __init__(self, data: VideoDataModule, split: Split = "test", order: FrameOrder | None = None) -> None:
        super().__init__()
        self.data = data
        self.split: Split = split
        self.order: FrameOrder = order or data.order
        self.batch_size = data.batch_size

    @property
    def key(self) -> str:
        """Name of the test among a run's: its split, or for the test's videos the order of frames."""
        return self.order if self.split == "test" else self.split

    def test_dataloader(self) -> Any:
        """Load all views of the split's videos."""
        return self.data.test_loader(self.split, self.order)

    def on_after_batch_transfer(self, batch: Any, dataloader_idx: int) -> Batch | Any:
        """Normalise a batch on the device."""
        return self.data.normalise(batch) if is_raw(batch) else batch


def tests_of_splits(data: VideoDataModule) -> bool:
    """Return whether other splits can be tested like the test's: not with a test loader of the data set's own."""
    return type(data).test_dataloader is VideoDataModule.test_dataloader


def test_of(data: Any) -> SplitTest | None:
    """Return what a test of a trainer's data module takes; ``None`` for a data module of another package."""
    if isinstance(data, VideoDataModule):
        return SplitTest(data)
    return data if isinstance(data, SplitTest) else None
