"""Confusion matrices as heat maps: a small picture whose colour's opacity is the share, so it suits light and dark."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray
from PIL import Image

from lit_video.reports.html.collect import Section
from lit_video.reports.html.svg import CHARACTER, drawing, element, text
from lit_video.tables.predictions import TaskPredictions

COLOUR = (37, 99, 235)
NUMBERED, NAMED = 10, 32  # classes up to which there is room for counts, and for names
LONGEST = 16  # characters of a class's name at a matrix
SIDE = 288.0
WHITE_ABOVE = 0.8  # share above which counts are written in white


@dataclass(frozen=True)
class Confusion:
    """A row's matrix of one task, of its seeds together, and what it confuses most: (class, taken for, videos)."""

    label: str
    task: str
    drawing: Markup
    worst: list[tuple[str, str, int]]


def confusions(section: Section) -> list[Confusion]:
    """Of every row whose runs kept their predictions."""
    found = []
    for row in section.table.rows:
        kept = [run.predictions for run in section.of(row) if run.predictions]
        for task in kept[0].tasks if kept else ():
            each = [predictions.tasks[task] for predictions in kept]
            counts = np.sum([one.confusion for one in each], axis=0)
            what = f"confusion matrix of {row.label}, {task or section.table.title}"
            found.append(Confusion(row.label, task, heat_map(counts, each[0].classes, what), _worst(counts, each[0])))
    return found


def _worst(counts: NDArray[np.int64], task: TaskPredictions, most: int = 3) -> list[tuple[str, str, int]]:
    wrong = counts * (1 - np.eye(len(counts), dtype=np.int64))
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    places = [divmod(int(i), len(counts)) for i in order]
    return [(task.classes[a], task.classes[b], int(wrong[a, b])) for a, b in places if wrong[a, b]]


def heat_map(counts: NDArray[np.int64], classes: list[str], what: str) -> Markup:
    """Draw videos by class (rows) and by what they were taken for (columns), as shares of each class's videos.

    Of many classes the opacity is the share's root: their cells are too small to see faint ones.
    """
    n = len(classes)
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    cell = SIDE / n
    names = [name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…" for name in classes]
    size = min(11.0, cell)
    room = max(map(len, names)) * CHARACTER * size / 12 + 8 if n <= NAMED else 6.0
    left, top = room + 16, 4.0
    parts = [
        element("rect", class_="frame", x=left, y=top, width=SIDE, height=SIDE),
        element(
            "image",
            href=_picture(shares if n <= NAMED else np.sqrt(shares)),
            x=left,
            y=top,
            width=SIDE,
            height=SIDE,
            preserveAspectRatio="none",
        ),
    ]
    for i, name in enumerate(names if n <= NAMED else ()):
        middle = (i + 0.5) * cell
        parts.append(text(left - 4, top + middle + size / 3, name, anchor="end", font_size=size))
        x, y = left + middle + size / 3, top + SIDE + 5
        parts.append(text(x, y, name, anchor="end", font_size=size, transform=f"rotate(-90 {x:.1f} {y:.1f})"))
    for i, j in np.argwhere(counts > 0) if n <= NUMBERED else ():
        x, y = left + (j + 0.5) * cell, top + (i + 0.5) * cell + 4
        parts.append(
            text(x, y, str(counts[i, j]), anchor="middle", class_="on" if shares[i, j] > WHITE_ABOVE else None)
        )
    bottom = top + SIDE + room + 12
    parts.append(text(left + SIDE / 2, bottom, "taken for", anchor="middle", class_="name"))
    turned = f"rotate(-90 12 {top + SIDE / 2:.1f})"
    parts.append(text(12.0, top + SIDE / 2, "class", anchor="middle", class_="name", transform=turned))
    return drawing(left + SIDE + 4, bottom + 6, what, *parts, class_="chart confusion")


def _picture(shares: NDArray[np.float64]) -> str:
    """A PNG of a pixel per cell, as a data address."""
    image = Image.fromarray(np.round(255 * shares).astype(np.uint8), mode="P")
    image.putpalette(COLOUR * 256)
    packed = io.BytesIO()
    image.save(packed, "PNG", optimize=True, transparency=bytes(range(256)))
    return f"data:image/png;base64,{base64.b64encode(packed.getvalue()).decode()}"
