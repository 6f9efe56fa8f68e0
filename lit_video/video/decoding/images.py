"""Folders of images: videos whose frames are saved as one image each."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from lit_video.utils.files import is_picture
from lit_video.utils.text import natural
from lit_video.video.decoding.container import DecodeError
from lit_video.video.decoding.frame_table import Frames, FrameTable, check_numbers, exact, frame_table, stacked


def image_table(folder: Path, fps: float) -> FrameTable:
    """Return the frame table of a folder of images at a constant rate; raises a :class:`DecodeError`."""
    files = image_files(folder)
    height, width = _read(files[0]).shape[:2]
    step = 1 / exact(fps)
    count = len(files)
    return FrameTable(range(count), step, range(count), count, count * step, height, width)


@lru_cache(2**11)  # a path takes about 200 bytes
def image_files(folder: Path) -> list[Path]:
    """Return the images of a folder in the order of the numbers in their names (``2.jpg`` before ``10.jpg``)."""
    try:
        names = [p for p in folder.iterdir() if is_picture(p) and not p.name.startswith(".")]
    except OSError as error:
        raise DecodeError(f"{folder}: {error.strerror}") from error
    if not names:
        raise DecodeError(f"{folder}: no image in this folder; expected .jpg, .jpeg or .png")
    return sorted(names, key=lambda path: natural(path.stem))


def forget_tables() -> None:
    """Clear the caches of video tables and image folders, because files may have changed."""
    frame_table.cache_clear()
    image_files.cache_clear()


def decode_images(folder: Path, numbers: Sequence[int]) -> Frames:
    """Read images of a folder by number, RGB, ``(len(numbers), height, width, 3)``; raises the errors of ``decode``."""
    files = image_files(folder)
    check_numbers(folder, numbers, len(files))
    images = {i: _read(files[i]) for i in set(numbers)}
    return stacked(folder, images, numbers)


def _read(path: Path) -> Frames:
    """Read an image as RGB, ``(height, width, 3)``, turned upright (EXIF)."""
    try:
        with Image.open(path) as image:
            return np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        why = getattr(error, "strerror", None) or str(error).replace(f" {str(path)!r}", "")
        raise DecodeError(f"{path}: {why}") from error
