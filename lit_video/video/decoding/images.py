"""Folders of images: videos whose frames are saved as one image each."""

import io
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from lit_video.utils.files import is_picture, read_plain
from lit_video.utils.limits import MOST_BYTES
from lit_video.utils.text import natural
from lit_video.video.decoding.container import DecodeError
from lit_video.video.decoding.frame_table import Frames, check_numbers, frame_table, stacked
from lit_video.video.decoding.table import FrameTable, exact
from lit_video.video.decoding.times import frames_before_gaps

# formats that are read, by content, not by name; others of Pillow start programs (PostScript), or are seldom tested
FORMATS = ("JPEG", "PNG", "WEBP", "BMP")
SERIES_NAMED = 5  # series that a message names
FEW_SERIES = 9  # most series in one folder that differ by a number, as in cam1_0001
MOST_MISSING = 10**9  # limit of a gap's length, so that any file name's number can be handled


def image_table(folder: Path, fps: float) -> FrameTable:
    """Return the frame table of a folder of images at a constant rate; raises a :class:`DecodeError`."""
    files = image_files(folder)
    count = len(files)
    step = 1 / exact(fps)
    height, width = _read(files[0]).shape[:2]
    return FrameTable(
        pts=range(count),
        time_base=step,
        keyframes=range(count),
        count=count,
        seconds=count * step,
        height=height,
        width=width,
        gap=_missing([path.stem for path in files]),
    )


@lru_cache(2**11)  # a path takes about 200 bytes
def image_files(folder: Path) -> list[Path]:
    """Return the images of a folder in the order of the numbers in their names (``2.jpg`` before ``10.jpg``)."""
    try:
        files = [path for path in folder.iterdir() if is_picture(path) and not path.name.startswith(".")]
    except OSError as error:
        raise DecodeError(f"{folder}: {error.strerror}") from error
    if not files:
        raise DecodeError(f"{folder}: no image in this folder; expected .jpg, .jpeg or .png")

    _refuse_several_series(folder, files)
    return sorted(files, key=lambda path: natural(path.stem))


def _refuse_several_series(folder: Path, files: Sequence[Path]) -> None:
    """Refuse a folder with several series of pictures, as their names show.

    Names of two series differ in more than numbers, or in a first number of few values, each with the same second ones.
    """
    patterns = Counter(re.sub(r"\d+", "#", path.stem) for path in files)
    if len(patterns) == 1:
        patterns = _by_first_number([path.stem for path in files])
    if len(patterns) < 2:
        return

    names = ", ".join(f"{name} ({count})" for name, count in sorted(patterns.items())[:SERIES_NAMED])
    fault = f"its pictures are {len(patterns)} series: {names}"
    raise DecodeError(f"{folder}: {fault}; give each series a folder of its own")


def _by_first_number(stems: Sequence[str]) -> Counter[str]:
    """Count names with two numbers by the first, if it has few values and each has the same second numbers."""
    series: dict[str, set[str]] = defaultdict(set)
    for stem in stems:
        numbers = re.findall(r"\d+", stem)
        if len(numbers) == 2:
            name = re.sub(r"\d+(?=\D*$)", "#", stem)
            series[name].add(numbers[1])
    if not 1 <= len(series) <= FEW_SERIES:
        return Counter()

    first_series, *others = series.values()
    if len(first_series) < 2 or any(numbers != first_series for numbers in others):
        return Counter()
    return Counter({name: len(numbers) for name, numbers in series.items()})


def _missing(stems: Sequence[str]) -> str:
    """Say which numbers are missing in sorted names; empty if their step is even, or names have several numbers."""
    numbers = [re.findall(r"\d+", stem) for stem in stems]
    if len(stems) < 3 or any(len(numbers_of_name) != 1 for numbers_of_name in numbers):
        return ""

    times = [int(number) for (number,) in numbers]
    before = frames_before_gaps(times, Fraction(1, MOST_MISSING))
    if not before:
        return ""

    first = before[0]
    more = f" and {len(before) - 1} more gaps" if len(before) > 1 else ""
    return f"no pictures between {stems[first]} and {stems[first + 1]}{more}: left out, or lost"


def forget_tables() -> None:
    """Clear the caches of video tables and image folders, because files may have changed."""
    frame_table.cache_clear()
    image_files.cache_clear()


def decode_images(folder: Path, numbers: Sequence[int]) -> Frames:
    """Read images of a folder by number, RGB, ``(len(numbers), height, width, 3)``; raises the errors of ``decode``."""
    files = image_files(folder)
    check_numbers(folder, numbers, len(files))
    images = {number: _read(files[number]) for number in set(numbers)}
    return stacked(folder, images, numbers)


def _read(path: Path) -> Frames:
    """Read an image as RGB, ``(height, width, 3)``, turned upright (EXIF)."""
    try:
        with Image.open(io.BytesIO(read_plain(path, MOST_BYTES)), formats=FORMATS) as image:
            upright = ImageOps.exif_transpose(image)
            if upright.mode.startswith("I"):  # 16 bits of grey, which Pillow would clip
                grey = (np.asarray(upright).astype(np.int64) >> 8).clip(0, 255).astype(np.uint8)
                return np.repeat(grey[..., None], 3, axis=2)
            return np.asarray(upright.convert("RGB"))
    except UnidentifiedImageError:
        raise DecodeError(f"{path}: its content is no picture of {', '.join(FORMATS)}") from None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        reason = getattr(error, "strerror", None) or str(error).replace(f" {str(path)!r}", "")
        raise DecodeError(f"{path}: {reason}") from error
