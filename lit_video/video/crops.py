"""Crops of a clip: boxes in pixels, the same for all frames."""

import random
from itertools import product
from math import ceil
from typing import NamedTuple

import numpy as np

from lit_video.utils.clip_shape import evenly

# X-ViT's release on Kinetics, after TSN (arXiv:1608.00859): sides over those of the largest box
MULTISCALE_SIZES = (1, 0.875, 0.75, 0.66)
# its positions in quarters of the free space: corners, middles of edges and the centre, then the points between them
QUARTERS = [*product((0, 2, 4), repeat=2), *product((1, 3), repeat=2)]


class Box(NamedTuple):
    """A rectangle in pixels."""

    top: int
    left: int
    height: int
    width: int


def largest(height: int, width: int, shape: tuple[int, int]) -> tuple[float, float]:
    """Return height and width of the largest box of ``shape``'s proportions inside the frame."""
    rows, columns = shape
    if height * columns <= width * rows:
        return height, height * columns / rows
    return width * rows / columns, width


def random_box(height: int, width: int, shares: tuple[float, float], shape: tuple[int, int]) -> Box:
    """Draw the position of a box; ``shares`` are its height and width over those of the largest box of ``shape``."""
    most = largest(height, width, shape)
    down, right = round(most[0] * shares[0]), round(most[1] * shares[1])
    return Box(random.randint(0, height - down), random.randint(0, width - right), down, right)


def multiscale_boxes(height: int, width: int, size: tuple[int, int] = (224, 224)) -> list[Box]:
    """Return the boxes of X-ViT's release on Kinetics, drawn uniformly in training: 10 shapes at 13 positions each.

    A box's sides are the largest box's times 1, 0.875, 0.75 or 0.66, where both factors are equal or neighbours in
    this list. A side within 2 pixels of the side in ``size`` is set to it. Some positions coincide.
    """
    exact = np.outer(MULTISCALE_SIZES, largest(height, width, size)).astype(int)
    sides = np.where(np.abs(exact - size) < 3, size, exact).tolist()
    boxes = []
    for i, j in product(range(len(sides)), repeat=2):
        if abs(i - j) <= 1:
            h, w = sides[i][0], sides[j][1]
            boxes += [Box((height - h) // 4 * y, (width - w) // 4 * x, h, w) for y, x in QUARTERS]
    return boxes


def even_boxes(height: int, width: int, crops: int, shape: tuple[int, int], share: float = 1.0) -> list[Box]:
    """Return boxes with ``share`` of the largest's sides, evenly spaced along the longer side, central on the other."""
    most = largest(height, width, shape)
    down, right = round(most[0] * share), round(most[1] * share)
    steps = [float(evenly(i, crops)) for i in range(crops)]
    if most[0] < height:
        return [Box(round((height - down) * y), round((width - right) * 0.5), down, right) for y in steps]
    return [Box(round((height - down) * 0.5), round((width - right) * x), down, right) for x in steps]


def uniform_crop(height: int, width: int, size: int, spatial: int) -> tuple[int, int]:
    """Return top and left of a test crop of X-ViT's release: a square of ``size`` in a frame of this height and width.

    ``spatial``: 0 for the left crop (top in tall frames), 1 for the centre, rounded up, 2 for the right (bottom).
    """
    room = height - size, width - size
    centre = ceil(room[0] / 2), ceil(room[1] / 2)
    if height > width:
        return (0, centre[0], room[0])[spatial], centre[1]
    return centre[0], (0, centre[1], room[1])[spatial]


def short_side_size(height: int, width: int, size: int) -> tuple[int, int]:
    """Return height and width after resizing the short side to ``size``, the longer one rounded down."""
    if height < width:
        return size, width * size // height
    return height * size // width, size
