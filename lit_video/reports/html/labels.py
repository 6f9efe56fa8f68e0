"""Labels beside points that do not cover each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lit_video.reports.html.svg import CHARACTER

Box = tuple[float, float, float, float]
HEIGHT = 13.0  # of a line of a label
SIDES = ((1, "start"), (-1, "end"))


@dataclass(frozen=True)
class Label:
    """Words at a place on the line of writing; ``anchor`` says which end of them is there, as SVG's text-anchor."""

    words: str
    x: float
    y: float
    anchor: str

    @property
    def box(self) -> Box:
        """Left, top, right, bottom of the words, about."""
        width = CHARACTER * len(self.words)
        left = self.x - {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor] * width
        return left, self.y - HEIGHT + 3, left + width, self.y + 3


def place(
    points: Sequence[tuple[float, float]], names: Sequence[str], area: Box, lines: Sequence[Box] = ()
) -> list[Label]:
    """Labels beside their points, where there is room; a label that would cover others wherever it is put is left out.

    Args:
        points: places of the points.
        names: their labels.
        area: left, top, right, bottom of where labels may be.
        lines: boxes that no label may cover.
    """
    taken: list[Box] = [(x - 5, y - 5, x + 5, y + 5) for x, y in points] + list(lines)
    found = []
    for (x, y), name in zip(points, names, strict=True):
        spots = [Label(name, x + side * 8, y + dy, anchor) for dy in (4.0, -9.0, 17.0) for side, anchor in SIDES]
        spots += [Label(name, x, y + dy, "middle") for dy in (-9.0, 18.0)]
        free = next((spot for spot in spots if _free(spot.box, taken, area)), None)
        if free:
            found.append(free)
            taken.append(free.box)
    return found


def _free(box: Box, others: Sequence[Box], area: Box) -> bool:
    left, top, right, bottom = box
    if left < area[0] or top < area[1] or right > area[2] or bottom > area[3]:
        return False
    return not any(left < o[2] and o[0] < right and top < o[3] and o[1] < bottom for o in others)
