"""Data sets listed by annotation files, checked against the release and the disk."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Literal

from lit_video.datamodules.base import VideoDataModule
from lit_video.datamodules.records import Records, print_once
from lit_video.errors import UserError
from lit_video.utils.arguments import check_arguments
from lit_video.utils.classes import Classes
from lit_video.utils.files import data_root
from lit_video.utils.splits import Split
from lit_video.utils.text import shortened
from lit_video.utils.video_files import Folders
from lit_video.video.clips import VideoRecord

AS_TEST = {"train": "train", "val": "test"}  # names of the splits in a release without validation videos
AS_VALIDATION = {"train": "train", "val": "validation"}


class AnnotatedVideos(VideoDataModule):
    """Base of data sets listed by annotation files; a subclass names the classes and reads the files.

    Args:
        root: folder of annotations and videos; ``$LIT_VIDEO_DATA/NAME`` is NAME in the package's data folder.
        missing: handling of videos that are not on disk, and of annotations that list fewer videos than the release:
            ``fail`` stops before training; ``skip`` uses the rest, prints counts and saves them in ``run.json``.
        **kwargs: see :class:`VideoDataModule`.
    """

    classes: Classes | None = None  #: number of classes, a mapping for several tasks; None to count class_names
    #: smallest and largest number of videos in released annotation files, by split
    released: Mapping[Split, tuple[int, int]] = {}
    splits: tuple[Split, ...] = ("train", "val")  #: splits with annotations; if test is not among them, val is tested

    def __init__(self, root: str, missing: Literal["fail", "skip"] = "fail", **kwargs: Any) -> None:
        check_arguments(locals())
        super().__init__(**kwargs)
        self.root = data_root(root)
        self.missing = missing
        self.folders = Folders()
        self._listed: dict[Split, Records] = {}
        self._records: dict[Split, Records] = {}

    def annotated(self, split: Split) -> Iterable[VideoRecord]:
        """Return all videos in a split's annotation file, whether they are on disk or not."""
        raise NotImplementedError

    @property
    def num_classes(self) -> Classes:
        """Number of classes; with several tasks, a mapping from task to number."""
        return self.classes or super().num_classes

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each class by its name; only for data sets with one task."""
        names = self.class_names
        assert isinstance(names, list)
        return {name: number for number, name in enumerate(names)}

    def records(self, split: Split) -> Records:
        """Return a split's videos; ``missing: skip`` leaves out missing ones. A split without annotations is empty."""
        if split == "test" and split not in self.splits:
            split = "val"
        if split not in self.splits:
            return Records.of(())
        if split in self._records:
            return self._records[split]

        listed = Records.of(self.annotated(split), self.folders.there)
        self._listed[split] = listed
        used = listed
        absent: list[str] = []
        if self.missing == "skip":
            absent = self._absent(listed)
        if absent:
            print_once(f"{type(self).__name__}: {_counts(absent, listed, split)} and left out")
            used = Records.of(record for record in listed if self.folders.contains(record.path))

        if not listed:
            raise UserError(f"data.root: the {split} annotations in {self.root} list no video; use the released files")
        if not used:
            raise UserError(f"data.root: {_counts(absent, listed, split)}; nothing is left")
        self.video_counts[split] = {"listed": len(listed), "used": len(used)}
        self._records[split] = used
        return used

    def check(self) -> None:
        """Check that no annotations or videos are missing; ``missing`` decides whether to refuse or to count them.

        More annotations than the release has are always refused.
        """
        for split in self.splits:
            self.records(split)
            absent = self._absent(self._listed[split]) if self.missing == "fail" else []
            if absent:
                counts = _counts(absent, self._listed[split], split)
                raise UserError(f"data.root: {counts}; add them, or set data.missing: skip")

        for split in self.splits:
            count = len(self._listed[split])
            least, most = self.released.get(split, (count, count))
            if least <= count <= most:
                continue
            release = f"{least:,}" if least == most else f"{least:,} to {most:,}"
            fault = f"the {split} annotations in {self.root} list {count:,} videos, the release has {release}"
            if count > most or self.missing == "fail":
                raise UserError(f"data.root: {fault}; use the released files; data.missing: skip accepts fewer")
            print_once(f"{type(self).__name__}: {fault}; {len(self.records(split)):,} are used")

    def _absent(self, listed: Records) -> list[str]:
        """Return the paths that are not on disk, each once."""
        return [path for path in dict.fromkeys(listed.paths) if not self.folders.contains(path)]


def _counts(absent: list[str], listed: Records, split: str) -> str:
    """Say how many of a split's videos are missing, and name some."""
    videos = len({*listed.paths})
    counts = f"{len(absent):,} of {videos:,} {split} videos are missing ({shortened(sorted(absent))})"
    if any("\\" in path for path in absent):
        counts = f"{counts}; write / for the backslashes in the paths"
    return counts
