"""Your own videos: a folder per split, with a folder per class."""

from __future__ import annotations  # a signature then shows names of types, such as Count

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from lit_video.datamodules.base import VideoDataModule
from lit_video.datamodules.records import Records, print_once
from lit_video.errors import UserError
from lit_video.utils.arguments import check_arguments
from lit_video.utils.files import data_root, entries_of, is_folder, is_video, refuse_no_root
from lit_video.utils.splits import SPLITS, Split
from lit_video.utils.text import case_twins, class_name, natural, plural, shortened
from lit_video.video.clips import VideoRecord


def folder_records(root: Path, split: Split, class_names: list[str]) -> Records:
    """Return the videos in ``root/split/CLASS/``, sorted by class and name; print how many other files are left out."""
    folder = root / split
    videos_of, others = _listed(folder)
    unknown = sorted(videos_of.keys() - set(class_names))
    if unknown:
        raise UserError(f"data.root: {folder} holds classes that {root / 'train'} does not have: {', '.join(unknown)}")

    paths: list[str] = []
    labels: list[int] = []
    for label, name in enumerate(class_names):
        videos = videos_of.get(name, [])
        paths += videos
        labels += [label] * len(videos)
    if not paths:
        frames = "folders of frames are listed in a table (VideoCSV)"
        raise UserError(f"data.root: {folder} holds no video; expected {folder}/CLASS/VIDEO.mp4; {frames}")

    empty = [name for name in class_names if name in videos_of and not videos_of[name]]
    if empty:
        print_once(f"data.root: {len(empty)} of the classes without a video in {folder}: {shortened(empty)}")
    if others:
        print_once(f"data.root: {len(others):,} items left out of {folder}: no videos of a class ({shortened(others)})")
    return Records(paths, labels)


def _listed(folder: Path) -> tuple[dict[str, list[str]], list[str]]:
    """Return the paths of the videos of each class, and the names of other items."""
    videos_of: dict[str, list[str]] = {}
    others: list[str] = []
    for entry in entries_of(folder):
        if not is_folder(entry):
            others.append(entry.name)
            continue

        videos = videos_of.setdefault(class_name(entry.name), [])
        for item in entries_of(entry.path):
            if is_video(item.name) and not is_folder(item):
                videos.append(item.path)
            else:
                others.append(f"{entry.name}/{item.name}")
    return videos_of, others


class VideoFolder(VideoDataModule):
    """Videos as ``root/{train,val,test}/CLASS/VIDEO.mp4``, or any other container that FFmpeg reads.

    Files without the extension of a video are left out; a printed line counts them and names some.

    Args:
        root: the folder.
        **kwargs: see :class:`VideoDataModule`.
    """

    compares_contents = True

    def __init__(self, root: str, **kwargs: Any) -> None:
        check_arguments(locals())
        super().__init__(**kwargs)
        self._records: dict[Split, Records] = {}
        self.root = data_root(root)

    @cached_property  # cached: every batch needs the number of classes
    def class_names(self) -> list[str]:
        """Names of the class folders, sorted."""
        refuse_no_root(self.root, "VideoFolder")
        train = self.root / "train"
        names = sorted({class_name(entry.name) for entry in entries_of(train) if is_folder(entry)}, key=natural)
        twins = case_twins(names)
        if twins:
            print_once(f"data.root: {twins}")
        if len(names) < 2:
            count = plural(len(names), "class folder")
            raise UserError(f"data.root: {train} holds {count}; expected two or more as {train}/CLASS/VIDEO.mp4")
        return names

    def records(self, split: Split) -> Records:
        """Return a split's videos; the folder is listed at the first call only."""
        if split not in self._records:
            self._records[split] = folder_records(self.root, split, self.class_names)
        return self._records[split]

    @property
    def present(self) -> tuple[Split, ...]:  # type: ignore[override]
        """Splits that have a folder, and always ``train``."""
        return tuple(split for split in SPLITS if split == "train" or (self.root / split).is_dir())

    def check(self) -> None:
        """Check that all three splits hold videos."""
        for split in SPLITS:
            self.records(split)


class VideoList(VideoDataModule):
    """Videos given as records, the same in every split; videos without a label have label 0."""

    def __init__(self, listed: Sequence[VideoRecord], **kwargs: Any) -> None:
        check_arguments(locals())
        super().__init__(**kwargs)
        self.listed = list(listed)

    def records(self, split: Split) -> list[VideoRecord]:
        """Return every video."""
        return self.listed
