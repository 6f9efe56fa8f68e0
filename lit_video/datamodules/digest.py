"""Which data a number was measured on: a digest of what a data set lists, the same on every machine."""

import os
from hashlib import blake2b
from pathlib import Path

from lit_video.datamodules.base import VideoDataModule


def data_digest(data: VideoDataModule) -> str:
    """Of class names and of every split's paths, labels and segments: no file is opened.

    Paths count relative to the data set's root, and their order does not count.
    """
    root = data.data_root()
    lines = [
        f"{split}\t{relative(record.path, root)}\t{record.label}\t{record.start}\t{record.end}"
        for split in data.present
        for record in data.records(split)
    ]
    return text_digest([f"classes\t{data.class_names}", *sorted(lines)])


def text_digest(lines: list[str]) -> str:
    """16 hexadecimal digits of some lines."""
    return blake2b("\n".join(lines).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


def relative(path: Path, root: Path) -> str:
    """A path as seen from the root, with slashes on every system."""
    return Path(os.path.relpath(path, root)).as_posix()
