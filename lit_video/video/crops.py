"""Crops of a clip: boxes in pixels, the same for all frames."""

import random
from itertools import product
from math import ceil
from typing import NamedTuple

import numpy as np

from lit_video.utils.clip_shape import evenly

# X-ViT's release on Kinetics, after TSN (arXiv:1608.00859): a box's side divided by the largest box's side
MULTISCALE_SIZES = (1, 0.875, 0.75, 0.66)
# positions in quarters of the free space: a grid of 3 x 3 points, then the 4 points between them
QUARTERS = [*product((0, 2, 4), repeat=2), *product((1, 3), repeat=2)]


class Box(NamedTuple):
    """A rectangle in pixels."""

    top: int
    left: int
    height: int
    width: int


def largest(height: int, width: int, shape: tuple[int, int]) -> tuple[float, float]:
    """Return height and width of the largest box that has the aspect ratio of ``shape`` and fits into the frame."""
    rows, columns = shape
    if height * columns <= width * rows:
        return height, height * columns / rows
    return width * rows / columns, width


def share_of_largest(height: int, width: int, shape: tuple[int, int], *, short_side: float) -> float:
    """Return the side of a clip as a share of the largest box, in a frame scaled to a short side.

    For a square clip this is its side divided by ``short_side``. If the clip does not fit into the scaled frame, it
    becomes the largest box.

    Args:
        height: height of the frame before scaling.
        width: its width.
        shape: height and width of the clip, in pixels after scaling.
        short_side: short side of the frame after scaling.
    """
    rows = shape[0] / short_side * min(height, width)  # before scaling
    return min(1.0, rows / largest(height, width, shape)[0])


def random_box(height: int, width: int, shares: tuple[float, float], *, shape: tuple[int, int]) -> Box:
    """Draw the position of a box; ``shares`` are its height and width as fractions of the largest box's."""
    most_rows, most_columns = largest(height, width, shape)
    rows = round(most_rows * shares[0])
    columns = round(most_columns * shares[1])
    top = random.randint(0, height - rows)
    left = random.randint(0, width - columns)
    return Box(top, left, height=rows, width=columns)


def multiscale_boxes(height: int, width: int, size: tuple[int, int] = (224, 224)) -> list[Box]:
    """Return the boxes from which X-ViT's release on Kinetics draws uniformly in training: 10 shapes at 13 positions.

    A box's sides are the largest box's sides times 1, 0.875, 0.75 or 0.66; the factors of height and width are equal
    or neighbours in this list. A side within 2 pixels of ``size`` is set to ``size``. Some positions coincide.
    """
    exact = np.outer(MULTISCALE_SIZES, largest(height, width, size)).astype(int)
    sides = np.where(np.abs(exact - size) < 3, size, exact).tolist()

    boxes: list[Box] = []
    for i, j in product(range(len(sides)), repeat=2):
        if abs(i - j) > 1:
            continue
        rows = sides[i][0]
        columns = sides[j][1]
        for down, right in QUARTERS:
            top = (height - rows) // 4 * down
            left = (width - columns) // 4 * right
            boxes.append(Box(top, left, height=rows, width=columns))
    return boxes


def even_boxes(height: int, width: int, crops: int, *, shape: tuple[int, int], share: float = 1.0) -> list[Box]:
    """Return ``crops`` boxes, evenly spaced along the frame's longer side; ``share`` scales the largest box's sides."""
    most_rows, most_columns = largest(height, width, shape)
    rows = round(most_rows * share)
    columns = round(most_columns * share)

    boxes: list[Box] = []
    for crop in range(crops):
        place = float(evenly(crop, crops))
        down, right = (place, 0.5) if most_rows < height else (0.5, place)
        top = round((height - rows) * down)
        left = round((width - columns) * right)
        boxes.append(Box(top, left, height=rows, width=columns))
    return boxes


def uniform_crop(height: int, width: int, size: int, *, spatial: int) -> tuple[int, int]:
    """Return top and left of a square test crop with side ``size``, as in X-ViT's release.

    ``spatial`` is 0 for the left crop (top in tall frames), 1 for the centre (rounded up), 2 for the right (bottom).
    """
    lowest = height - size
    rightmost = width - size
    middle_top = ceil(lowest / 2)
    middle_left = ceil(rightmost / 2)
    if height > width:
        return (0, middle_top, lowest)[spatial], middle_left
    return middle_top, (0, middle_left, rightmost)[spatial]


def short_side_size(height: int, width: int, size: int) -> tuple[int, int]:
    """Return height and width after resizing the short side to ``size``; the long side is rounded down."""
    if height < width:
        return size, width * size // height
    return height * size // width, size
