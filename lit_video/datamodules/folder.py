"""Your own videos: one folder per split, in it one folder per class."""

from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any

from lit_video.datamodules.base import Split, VideoDataModule
from lit_video.errors import UserError
from lit_video.video.clips import VideoRecord

EXTENSIONS = {".mp4", ".webm", ".mkv", ".avi", ".mov", ".m4v"}


def check_fps(fps: float | None) -> None:
    """Refuse a rate at which no time passes."""
    if fps is not None and not 0 < fps < inf:
        raise ValueError(f"fps is {fps:g}, expected more than 0")


def frame_rate(path: Path, fps: float | None) -> float | None:
    """The rate of a folder of frames; a video file says its own."""
    return None if path.suffix.lower() in EXTENSIONS else fps


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
    names = (
        sorted(p.name for p in train.iterdir() if p.is_dir() and not p.name.startswith(".")) if train.is_dir() else []
    )
    if not names:
        raise UserError(f"data.root: {train} holds no class folder; expected {train}/CLASS/VIDEO.mp4")
    if len(names) == 1:
        raise UserError(f"data.root: {train} holds one class ({names[0]}); a classifier needs two or more")
    return names


def folder_records(root: Path, split: Split, class_names: list[str], fps: float | None = None) -> list[VideoRecord]:
    """Videos of ``root/split/CLASS/``, by class, then by name; folders of frames too if their ``fps`` is given.

    Raises:
        UserError: the split holds no video, or a class that training does not have.
    """
    folder = root / split
    unknown = sorted({p.name for p in folder.glob("[!.]*/")} - set(class_names)) if folder.is_dir() else []
    if unknown:
        raise UserError(f"data.root: {folder} holds classes that {root / 'train'} has not: {', '.join(unknown)}")
    records = [
        VideoRecord(path, label, fps=frame_rate(path, fps))
        for label, name in enumerate(class_names)
        for path in sorted((folder / name).glob("*"))
        if path.suffix.lower() in EXTENSIONS or (fps is not None and path.is_dir())
    ]
    if not records:
        raise UserError(f"data.root: {folder} holds no video; expected {folder}/CLASS/VIDEO.mp4")
    return records


class VideoFolder(VideoDataModule):
    """Videos as ``root/{train,val,test}/CLASS/VIDEO.{mp4,webm,mkv,avi,mov,m4v}``.

    Args:
        root: the folder.
        fps: frames per second of videos that are folders of frames, ``root/train/CLASS/VIDEO/``; if it is not given
            there are none.
        **kwargs: see :class:`VideoDataModule`.
    """

    def __init__(self, root: str, fps: float | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_fps(fps)
        self.fps = fps
        self.root = Path(root).expanduser()

    @cached_property  # of a folder: the number of classes is needed with every batch
    def class_names(self) -> list[str]:
        """Names of the class folders."""
        return class_folders(self.root)

    def records(self, split: Split) -> list[VideoRecord]:
        """Videos of a split."""
        return folder_records(self.root, split, self.class_names, self.fps)

    def check(self) -> None:
        """All three splits hold videos."""
        for split in ("train", "val", "test"):
            self.records(split)
