"""Settings of a clip's shape and pixels: height and width, evenly spread frames, numbers for each channel."""

from collections.abc import Sequence
from fractions import Fraction

from lit_video.utils.arguments import Count

ImageSize = Count | tuple[Count, Count]
PerChannel = float | tuple[float, float, float]  # one number for all channels, or one each for red, green and blue


def height_and_width(size: int | Sequence[int]) -> tuple[int, int]:
    """Return height and width in pixels; lists are accepted, because files turn tuples into lists."""
    if isinstance(size, int):
        size = size, size
    if len(size) != 2 or min(size) < 1:
        raise ValueError(f"image_size is {size}, expected height and width of at least 1 pixel")
    return size[0], size[1]


def as_setting(size: int | Sequence[int]) -> ImageSize:
    """Return the side of a square unchanged, or height and width as a tuple."""
    return size if isinstance(size, int) else height_and_width(size)


def per_channel(name: str, value: float | Sequence[float], least: float = 0.0) -> PerChannel:
    """Return one number if it is the same for all channels, else the numbers of red, green and blue."""
    numbers = tuple(value) if isinstance(value, Sequence) else (value,)
    if len(numbers) not in (1, 3) or not all(least <= number <= 1 for number in numbers):
        expected = f"expected one number from {least:g} to 1, or three, of red, green and blue"
        raise ValueError(f"{name} is {value}, {expected}; pixels are from 0 to 1 here, so divide others by 255")
    return numbers[0] if len({*numbers}) == 1 else (numbers[0], numbers[1], numbers[2])


def of_channels(value: PerChannel) -> tuple[float, float, float]:
    """Return the numbers of red, green and blue."""
    return value if isinstance(value, tuple) else (value, value, value)


def size_in_words(size: int | Sequence[int]) -> str:
    """Return a size in words, height first: ``224 x 224``."""
    height, width = height_and_width(size)
    return f"{height} x {width}"


def evenly(i: int, count: int) -> Fraction:
    """Return the i-th of ``count`` evenly spaced positions from 0 to 1; a single position is 1/2."""
    return Fraction(i, count - 1) if count > 1 else Fraction(1, 2)


def uniform_frames(num_frames: int, sampled: int) -> list[int]:
    """Return indices of ``sampled`` frames spread evenly inside a clip: round(k * frames / (sampled + 1)), k from 1.

    Halves round to the even index. A clip of at most ``sampled`` frames keeps all frames.
    Source: ViViT, arXiv:2103.15691, section 3.2; the released code uses floats and often has one index too many.
    """
    if sampled >= num_frames:
        return list(range(num_frames))
    return [round(Fraction(k * num_frames, sampled + 1)) for k in range(1, sampled + 1)]
