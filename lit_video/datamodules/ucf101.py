"""UCF-101, as released."""

from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from lit_video.datamodules.annotated import AnnotatedVideos
from lit_video.datamodules.annotations import Row, exactly, read_table, refuse_repeats
from lit_video.datamodules.base import Split
from lit_video.video.clips import VideoRecord

_SIZES = {1: (9_537, 3_783), 2: (9_586, 3_734), 3: (9_624, 3_696)}  # of 13,320 videos


class UCF101(AnnotatedVideos):
    """UCF-101 (arXiv:1212.0402): 101 classes, 13,320 videos, three splits.

    Reads ``root/ucfTrainTestlist/{classInd,trainlist01,testlist01}.txt`` (the action recognition splits of
    www.crcv.ucf.edu/data/UCF101.php) and ``root/UCF-101/CLASS/VIDEO.avi``. Validation is on the test list.

    Args:
        split: 1, 2 or 3.
        **kwargs: see :class:`AnnotatedVideos`.
    """

    classes = 101

    def __init__(self, split: Literal[1, 2, 3] = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.split = split
        train, test = _SIZES[split]
        self.released = {"train": (train, train), "val": (test, test)}

    @cached_property
    def class_names(self) -> list[str]:
        """Names such as "ApplyEyeMakeup", by class number."""
        rows = self._rows("classInd", ("number", "name"))
        refuse_repeats(rows, lambda row: row.whole("number"), "number")
        rows.sort(key=lambda row: row.whole("number"))
        return exactly(101, [row.text("name") for row in rows], self._txt("classInd"))

    def annotated(self, split: Split) -> list[VideoRecord]:
        """Videos that a list holds; their folder is their class."""
        part = "train" if split == "train" else "test"
        rows = self._rows(f"{part}list{self.split:02d}", ("path",), ("path", "number"))
        refuse_repeats(rows, lambda row: row.cells["path"], "path")
        return [self._record(row) for row in rows]

    def _record(self, row: Row) -> VideoRecord:
        path = Path(row.inside("path", self.root / "UCF-101"))
        return VideoRecord(path, row.member("path", self.numbers, path.parent.name))

    def _txt(self, name: str) -> Path:
        return self.root / "ucfTrainTestlist" / f"{name}.txt"

    def _rows(self, name: str, columns: tuple[str, ...], headless: tuple[str, ...] = ()) -> list[Row]:
        return read_table("data.root", self._txt(name), columns, headless or columns, delimiter=" ")
