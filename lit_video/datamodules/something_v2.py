"""Something-Something v2, as released."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from lit_video.datamodules.annotated import AnnotatedVideos
from lit_video.datamodules.annotations import exactly, read_entries, read_json, read_table
from lit_video.datamodules.base import Split
from lit_video.errors import UserError
from lit_video.video.clips import VideoRecord

# templates have their placeholders in brackets, labels.json has not
_PLAIN = str.maketrans("", "", "[]")


class SomethingV2(AnnotatedVideos):
    """Something-Something v2: 174 classes, 168,913 training and 24,777 validation videos (webm, 12 fps).

    Reads ``root/labels/{labels,train,validation}.json`` and ``root/20bn-something-something-v2/ID.webm``
    (www.qualcomm.com/developer/software/something-something-v-2-dataset). Papers report the validation split, and so
    do we. Half of the classes change their meaning when mirrored, so flips stay off.

    Args:
        test_answers: test on the 27,157 videos of the test split, whose labels are in ``root/labels/test-answers.csv``
            (``ID;TEMPLATE``), in place of validation.
        **kwargs: see :class:`AnnotatedVideos`.
    """

    classes = 174
    released: Mapping[Split, tuple[int, int]] = {"train": (168_913, 168_913), "val": (24_777, 24_777)}

    def __init__(self, test_answers: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if test_answers:
            self.splits, self.released = ("train", "val", "test"), {**self.released, "test": (27_157, 27_157)}

    @cached_property
    def class_names(self) -> list[str]:
        """Templates such as "Pushing something from left to right", by class number."""
        path = self.root / "labels" / "labels.json"
        numbers = read_json("data.root", path)
        if not isinstance(numbers, dict) or {str(n) for n in numbers.values()} != {str(n) for n in range(len(numbers))}:
            raise UserError(f"data.root: {path} does not number the templates from 0; put the released file there")
        return exactly(174, sorted(numbers, key=lambda name: int(numbers[name])), path)

    def annotated(self, split: Split) -> list[VideoRecord]:
        """Return the videos that a split's file lists."""
        folder, columns = self.root / "labels", ("id", "template")
        if split == "test":
            rows = read_table("data.root", folder / "test-answers.csv", columns, columns, ";", unique="id")
        else:
            path = folder / ("train.json" if split == "train" else "validation.json")
            rows = read_entries("data.root", path, columns)
        videos = self.root / "20bn-something-something-v2"
        labels = [row.member("template", self.numbers, row.text("template").translate(_PLAIN)) for row in rows]
        return [VideoRecord(videos / f"{row.text('id')}.webm", n) for row, n in zip(rows, labels, strict=True)]
