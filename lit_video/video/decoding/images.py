"""Folders of images: videos whose frames are saved as one image each."""

import io
import os
import re
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from lit_video.utils.files import MOST_BYTES, is_picture, read_plain
from lit_video.utils.text import natural
from lit_video.video.decoding.container import DecodeError
from lit_video.video.decoding.table_of_frames import FrameTable, exact, frames_before_gaps
from lit_video.video.decoding.table_reading import ClipFrames, Frames, check_numbers, kept_table

# formats that are read, by content, not by name; others of Pillow start programs (PostScript), or are seldom tested
FORMATS = ("JPEG", "PNG", "WEBP", "BMP")
SERIES_NAMED = 5  # series that a message names
FEW_SERIES = 9  # most series in one folder that differ by a number, as in cam1_0001
MOST_NAMES = 2**29  # bytes of names that a process keeps: 700 folders of EPIC with 28,600 names each take 0.1 GB
_DIGITS = {ord(digit): "#" for digit in "0123456789"}
_NOT_DIGITS = re.compile("[^0-9]+")
MOST_MISSING = 10**9  # limit of a gap's length, so that any file name's number can be handled


@dataclass(frozen=True)
class ImageFolder:
    """The images of a folder in the order of their numbers, with what their names and the first picture tell.

    Names take the bytes in which they differ, 5 of ``frame_0000000001.jpg`` among 30,000.
    """

    folder: Path
    beginning: bytes  # shared by all names
    middles: NDArray[np.bytes_]  # the rest of each name
    ending: bytes  # shared by all names
    gap: str  # missing numbers, in words
    height: int
    width: int

    def file(self, number: int) -> Path:
        """Return the path of an image by its number."""
        return self.folder / os.fsdecode(self.beginning + self.middles[number] + self.ending)


class _KeptFolders:
    """Folders that were read, the last ones whose names fit a bound."""

    def __init__(self, most: int) -> None:
        self.most = most  # bytes of names
        self.bytes = 0
        self.folders: OrderedDict[Path, ImageFolder] = OrderedDict()

    def read(self, folder: Path) -> ImageFolder:
        """Return a folder's images; list it if it is not kept."""
        if folder in self.folders:
            self.folders.move_to_end(folder)
            return self.folders[folder]
        images = self.folders[folder] = _listed(folder)
        self.bytes += images.middles.nbytes
        while self.bytes > self.most and len(self.folders) > 1:
            _, oldest = self.folders.popitem(last=False)
            self.bytes -= oldest.middles.nbytes
        return images

    def clear(self) -> None:
        """Forget all folders."""
        self.folders.clear()
        self.bytes = 0


_kept = _KeptFolders(MOST_NAMES)


def image_table(folder: Path, fps: float) -> FrameTable:
    """Return the frame table of a folder of images at a constant rate; raises a :class:`DecodeError`."""
    images = _kept.read(folder)
    count = len(images.middles)
    step = 1 / exact(fps)
    return FrameTable(
        pts=range(count),
        time_base=step,
        keyframes=range(count),
        count=count,
        seconds=count * step,
        height=images.height,
        width=images.width,
        gap=images.gap,
    )


def _listed(folder: Path) -> ImageFolder:
    """List a folder's images in the order of the numbers in their names (``2.jpg`` before ``10.jpg``)."""
    try:
        names = [name for name in os.listdir(folder) if not name.startswith(".") and is_picture(name)]
    except OSError as error:
        raise DecodeError(f"{folder}: {error.strerror}") from error
    if not names:
        raise DecodeError(f"{folder}: no image in this folder; expected .jpg, .jpeg or .png")

    stem_of = {name: os.path.splitext(name)[0] for name in names}
    forms = Counter(stem.translate(_DIGITS) for stem in stem_of.values())
    name_of: dict[str, str] = {}
    for name, stem in stem_of.items():
        other = name_of.setdefault(stem.casefold(), name)
        if other != name:  # names differ in ending or case alone: a frame would be there twice
            first, second = sorted((other, name))
            fault = f"{first} and {second} are one frame by their names"
            raise DecodeError(f"{folder}: {fault}; give each series a folder of its own, or delete one")
    _refuse_several_series(folder, [*stem_of.values()], forms)
    is_even = len(forms) == 1  # numbers have equally many digits
    names.sort(key=None if is_even else lambda name: natural(stem_of[name]))
    gap = _missing([stem_of[name] for name in names], forms)

    height, width = _read(folder / names[0]).shape[:2]
    written = [os.fsencode(name) for name in names]
    beginning = _shared_beginning(written)
    backwards = [name[len(beginning) :][::-1] for name in written]
    ending = _shared_beginning(backwards)[::-1]
    middles = np.array([name[len(beginning) : len(name) - len(ending)] for name in written], np.bytes_)
    return ImageFolder(folder, beginning, middles, ending, gap=gap, height=height, width=width)


def _shared_beginning(names: Sequence[bytes]) -> bytes:
    """Return the beginning that all names have in common."""
    first, last = min(names), max(names)
    length = 0
    while length < min(len(first), len(last)) and first[length] == last[length]:
        length += 1
    return first[:length]


def _refuse_several_series(folder: Path, stems: Sequence[str], forms: Mapping[str, int]) -> None:
    """Refuse a folder with several series of pictures, as their names show.

    Names of two series differ in more than numbers, or in a first number of few values, each with the same second ones.
    """
    patterns: Counter[str] = Counter()
    for form, count in forms.items():
        patterns[re.sub("#+", "#", form)] += count
    if len(patterns) == 1:
        (pattern,) = patterns
        patterns = _by_first_number(stems) if pattern.count("#") == 2 else Counter()
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


def _missing(stems: Sequence[str], forms: Iterable[str]) -> str:
    """Say which numbers are missing in sorted names; empty if their step is even, or names have several numbers."""
    if len(stems) < 3 or any(len(re.findall("#+", form)) != 1 for form in forms):
        return ""

    times = [int(_NOT_DIGITS.sub("", stem)) for stem in stems]
    before = frames_before_gaps(times, Fraction(1, MOST_MISSING))
    if not before:
        return ""

    first = before[0]
    more = f" and {len(before) - 1} more gaps" if len(before) > 1 else ""
    return f"no pictures between {stems[first]} and {stems[first + 1]}{more}: left out, or lost"


def forget_tables() -> None:
    """Clear the caches of video tables and image folders, because files may have changed."""
    kept_table.cache_clear()
    _kept.clear()


def decode_images(folder: Path, numbers: Sequence[int]) -> Frames:
    """Read images of a folder by number, RGB, ``(len(numbers), height, width, 3)``; raises the errors of ``decode``."""
    listed = _kept.read(folder)
    check_numbers(folder, numbers, len(listed.middles))
    clip = ClipFrames(folder, numbers)
    for number in clip.numbers:
        clip.write(number, _read(listed.file(number)))
    return clip.frames


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
