"""Your own videos: one folder per split, in it one folder per class."""

import os
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any

from lit_video.datamodules.base import SPLITS, Split, VideoDataModule
from lit_video.datamodules.records import Records, print_once
from lit_video.errors import UserError
from lit_video.utils.files import data_root
from lit_video.utils.text import did_you_mean
from lit_video.video.clips import VideoRecord

COMMON = (".mp4", ".webm", ".mkv", ".avi", ".mov", ".m4v")
# endings of what FFmpeg reads as a video of its own; raw pictures (.yuv) lack their size and are none
_RARE = """3g2 3gp apng asf dav dif divx dv f4v flv gif h261 h263 264 h264 265 h265 hevc ismv ivf m1v m2ts m2v mj2 mjpeg
mjpg mk3d mpe mpeg mpg mpv mts mxf nut obu ogv qt rm rmvb tod trp ts vc1 vob wmv wtv y4m"""
EXTENSIONS = {*COMMON, *(f".{name}" for name in _RARE.split())}
_NAMED = 3  # files that the line about those left out names for each reason


def check_names(classes: list[str] | None) -> None:
    """Refuse a list of classes that a classifier cannot have."""
    if classes is not None and len(set(classes)) != max(len(classes), 2):
        raise ValueError(f"classes is {classes}, expected two or more names, no two the same")


def check_fps(fps: float | None) -> None:
    """Refuse a rate at which no time passes."""
    if fps is not None and not 0 < fps < inf:
        raise ValueError(f"fps is {fps:g}, expected more than 0")


def is_video(name: str | Path) -> bool:
    """Whether a file is a video by its ending."""
    return os.path.splitext(name)[1].lower() in EXTENSIONS


def frame_rate(path: str | Path, fps: float | None) -> float | None:
    """The rate of a folder of frames; a video file says its own."""
    return None if fps is None or is_video(path) else fps


def class_folders(root: Path) -> list[str]:
    """Names of the classes under ``root/train``, sorted.

    Raises:
        UserError: there are fewer than two.
    """
    if not root.is_dir():
        raise UserError(
            f"data.root: the folder {root} does not exist; give the folder that holds train/, val/ and test/"
        )
    train = root / "train"
    names = [entry.name for entry in _shown(train) if entry.is_dir()]
    if not names:
        raise UserError(f"data.root: {train} holds no class folder; expected {train}/CLASS/VIDEO.mp4")
    if len(names) == 1:
        raise UserError(f"data.root: {train} holds one class ({names[0]}); a classifier needs two or more")
    return names


def left_out(root: Path, split: Split, class_names: list[str], fps: float | None, chosen: bool) -> str:
    """Describe the files of a split's folder that are no videos, counted, with the reason; empty if there are none.

    ``chosen`` is whether the classes are a choice.
    """
    reasons: dict[str, list[str]] = defaultdict(list)
    for folder in _shown(root / split):
        if folder.is_file():
            reasons["outside the folders of classes"].append(folder.name)
        elif folder.name in class_names:
            for entry in _shown(folder.path):
                if not _is_record(entry, fps):
                    inside = entry.is_dir()
                    why = "folders without data.fps, the rate of frames" if inside else "no videos by their ending"
                    reasons[why].append(f"{folder.name}/{entry.name}")
        elif chosen:
            reasons["of other classes than data.classes"] += [f"{folder.name}/{e.name}" for e in _shown(folder.path)]
    parts = [
        f"{reason} ({len(names):,}: {', '.join(names[:_NAMED])}{', ...' if len(names) > _NAMED else ''})"
        for reason, names in reasons.items()
    ]
    count = sum(map(len, reasons.values()))
    return f"data.root: {count:,} left out of {root / split}: {'; '.join(parts)}" if count else ""


def _entries(folder: str | Path) -> list[os.DirEntry[str]]:
    """List a folder, sorted; empty if it is no folder. Entries know their type without another system call."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _shown(folder: str | Path) -> list[os.DirEntry[str]]:
    """List a folder without hidden files."""
    return [entry for entry in _entries(folder) if not entry.name.startswith(".")]


def _is_record(entry: os.DirEntry[str], fps: float | None) -> bool:
    return is_video(entry.name) or (fps is not None and entry.is_dir())


def folder_records(
    root: Path, split: Split, class_names: list[str], fps: float | None = None, chosen: bool = False
) -> Records:
    """Videos of ``root/split/CLASS/``, by class, then by name; folders of frames too if their ``fps`` is given.

    Where the classes are a choice, ``chosen``, there may be others.

    Raises:
        UserError: the split holds no video, or a class that training does not have.
    """
    folder = root / split
    unknown = sorted({entry.name for entry in _shown(folder) if entry.is_dir()} - set(class_names))
    if unknown and not chosen:
        raise UserError(f"data.root: {folder} holds classes that {root / 'train'} has not: {', '.join(unknown)}")
    paths: list[str] = []
    labels: list[int] = []
    for label, name in enumerate(class_names):
        found = [entry.path for entry in _entries(folder / name) if _is_record(entry, fps)]
        paths += found
        labels += [label] * len(found)
    if not paths:
        raise UserError(f"data.root: {folder} holds no video; expected {folder}/CLASS/VIDEO.mp4")
    times = [] if fps is None else [(None, None, frame_rate(path, fps)) for path in paths]
    return Records(paths, labels, times)


class VideoFolder(VideoDataModule):
    """Videos as ``root/{train,val,test}/CLASS/VIDEO.mp4``, or any other container that FFmpeg reads.

    Streams without a container (``.h264``) have no times: their frames are counted, at the rate that they name, or 25.
    Files without a video's ending are left out, counted and named.

    Args:
        root: the folder.
        classes: names of the folders to use, if not all.
        fps: frames per second of videos that are folders of frames, ``root/train/CLASS/VIDEO/``; if it is not given
            there are none.
        **kwargs: see :class:`VideoDataModule`.
    """

    def __init__(self, root: str, fps: float | None = None, classes: list[str] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_fps(fps)
        check_names(classes)
        self.fps = fps
        self.chosen = classes
        self._records: dict[Split, Records] = {}
        self.root = data_root(root)

    @cached_property  # of a folder: the number of classes is needed with every batch
    def class_names(self) -> list[str]:
        """Names of the class folders that are used, sorted."""
        names = class_folders(self.root)
        for name in self.chosen or ():
            if name not in names:
                near = did_you_mean(name, names)
                raise UserError(f"data.classes: {self.root / 'train'} has no folder {name!r}{near}")
        return names if self.chosen is None else sorted(self.chosen)

    def records(self, split: Split) -> Records:
        """Videos of a split, listed once."""
        if split not in self._records:
            chosen = self.chosen is not None
            self._records[split] = folder_records(self.root, split, self.class_names, self.fps, chosen)
            if line := left_out(self.root, split, self.class_names, self.fps, chosen):
                print_once(line)
        return self._records[split]

    @property
    def present(self) -> tuple[Split, ...]:
        """Splits that have a folder; the training videos count as one in any case."""
        return tuple(split for split in SPLITS if split == "train" or (self.root / split).is_dir())

    def check(self) -> None:
        """All three splits hold videos."""
        for split in SPLITS:
            self.records(split)


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
