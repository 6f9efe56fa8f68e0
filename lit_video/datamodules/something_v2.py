"""Something-Something v2, as released."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lit_video.datamodules.base import Split, VideoDataModule
from lit_video.datamodules.dataset import VideoRecord
from lit_video.errors import UserError

# The released test split has no labels: papers report the validation split.
_FILES = {"train": "train.json", "val": "validation.json", "test": "validation.json"}


class SomethingV2(VideoDataModule):
    """Something-Something v2: 174 classes, 168,913 training and 24,777 validation videos (webm, 12 fps).

    Reads ``root/labels/{labels,train,validation}.json`` and ``root/20bn-something-something-v2/ID.webm``. Half of the
    classes change their meaning when mirrored, so flips stay off.

    Args:
        root: the folder that holds both.
        **kwargs: see :class:`VideoDataModule`.
    """

    def __init__(self, root: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.root = Path(root).expanduser()

    @property
    def num_classes(self) -> int:
        """174, known without the data."""
        return 174

    @property
    def class_names(self) -> list[str]:
        """Templates such as "Pushing something from left to right", by class number."""
        numbers = self._read("labels.json")
        return sorted(numbers, key=lambda name: int(numbers[name]))

    def records(self, split: Split) -> list[VideoRecord]:
        """Videos of a split."""
        numbers = self._read("labels.json")
        annotations = self.root / "labels" / _FILES[split]
        videos = self.root / "20bn-something-something-v2"
        # templates have their placeholders in brackets, labels.json has not
        plain = str.maketrans("", "", "[]")
        try:
            records = [
                VideoRecord(videos / f"{entry['id']}.webm", int(numbers[entry["template"].translate(plain)]))
                for entry in self._read(_FILES[split])
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"data.root: {annotations} does not fit labels.json beside it, at {error}") from error
        if not records:
            raise UserError(f"data.root: {annotations} lists no video")
        return records

    def check(self) -> None:
        """The annotations are there, and the first video of every split."""
        for split in ("train", "val"):
            first = self.records(split)[0].path
            if not first.exists():
                raise UserError(f"data.root: {first} does not exist; unpack the videos into {first.parent}")

    def _read(self, name: str) -> Any:
        path = self.root / "labels" / name
        try:
            return json.loads(path.read_text())
        except FileNotFoundError:
            raise UserError(f"data.root: {path} does not exist; put the released annotations there") from None
        except json.JSONDecodeError as error:
            raise UserError(f"data.root: {path} is no JSON, line {error.lineno}: {error.msg}") from None
