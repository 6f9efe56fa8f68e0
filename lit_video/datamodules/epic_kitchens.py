"""Epic-Kitchens-100 action recognition, as released."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from lit_video.datamodules.annotated import AnnotatedVideos
from lit_video.datamodules.annotations import Row, numbered, read_table
from lit_video.datamodules.base import Split
from lit_video.video.clips import VideoRecord

CLASSES = {"verb": 97, "noun": 300}


class EpicKitchens100(AnnotatedVideos):
    """Epic-Kitchens-100 (arXiv:2006.13256): segments of long videos, each with a verb and a noun.

    Reads ``EPIC_100_{train,validation}.csv`` and ``EPIC_100_{verb,noun}_classes.csv``
    (github.com/epic-kitchens/epic-kitchens-100-annotations) in ``root/annotations``, and either the extracted frames in
    ``root/rgb_frames/P01/P01_01/`` or ``root/P01/rgb_frames/P01_01/``, with ``EPIC_100_video_info.csv`` for their rate,
    or else the videos ``root/P01/videos/P01_01.MP4``. 67,217 segments are for training and 9,668
    for validation; the test split has no labels, so results are those of validation.
    """

    classes = CLASSES
    released: Mapping[Split, tuple[int, int]] = {"train": (67_217, 67_217), "val": (9_668, 9_668)}

    @cached_property
    def class_names(self) -> dict[str, list[str]]:
        """Keys such as "take" and "tap", by class number."""
        return {task: self._names(task) for task in CLASSES}

    def annotated(self, split: Split) -> list[VideoRecord]:
        """Return the segments that a split's csv lists."""
        columns = ("participant_id", "video_id", "start_timestamp", "stop_timestamp", "verb_class", "noun_class")
        name = "train" if split == "train" else "validation"
        return [self._record(row) for row in self._rows(name, ("narration_id", *columns), unique="narration_id")]

    def _record(self, row: Row) -> VideoRecord:
        label = tuple(row.whole(f"{task}_class", below=count) for task, count in CLASSES.items())
        for column in ("start_timestamp", "stop_timestamp"):
            row.text(column)
        start, end = row.segment("start_timestamp", "stop_timestamp")
        person, video = row.text("participant_id"), row.text("video_id")
        folders = (self.root / "rgb_frames" / person, self.root / person / "rgb_frames")
        for frames in folders:
            if video in self.folders.names(frames):
                if video not in self._rates:
                    missing = f"{video} is not in EPIC_100_video_info.csv, which gives the frames' rate"
                    raise row.error("video_id", missing)
                return VideoRecord(frames / video, label, start, end, self._rates[video])
        return VideoRecord(self.root / person / "videos" / f"{video}.mp4", label, start, end)

    @cached_property
    def _rates(self) -> dict[str, float]:
        return {row.text("video_id"): row.positive("fps") for row in self._rows("video_info", ("video_id", "fps"))}

    def _names(self, task: str) -> list[str]:
        name, columns = f"{task}_classes", ("id", "key")
        return numbered(self._rows(name, columns), columns, CLASSES[task], self._csv(name))

    def _csv(self, name: str) -> Path:
        return self.root / "annotations" / f"EPIC_100_{name}.csv"

    def _rows(self, name: str, columns: tuple[str, ...], unique: str | None = None) -> list[Row]:
        return read_table("data.root", self._csv(name), columns, delimiter=",", unique=unique)
