"""What the papers print about the cost of their models, beside what ours count. Imports no torch by itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lit_video.utils.yaml_files import read_yaml

if TYPE_CHECKING:
    from lit_video.modules import VideoClassifier

FILE = Path(__file__).parent / "published.yaml"
UNITS = {"M": 1e6, "G": 1e9, "T": 1e12}


@dataclass(frozen=True)
class Published:
    """A model of a paper's table, and its cost as printed there.

    Args:
        source: paper and tables.
        label: name of the row.
        family: class of :mod:`lit_video.modules`.
        classes: of the data set whose classifier is counted.
        views: clips x crops of a video that the printed cost is for.
        settings: arguments of the family; 8 frames of 224 pixels where they do not say.
        params: as printed, such as ``85.9M``.
        cost: multiply-adds of all views as printed, such as ``0.59T`` or ``425G``.
        note: why ours differs.
    """

    source: str
    label: str
    family: str
    classes: int
    views: int
    settings: dict[str, Any] = field(default_factory=dict)
    params: str | None = None
    cost: str | None = None
    note: str = ""

    @property
    def frames(self) -> int:
        """Frames of a view."""
        return int(self.settings.get("frames", 8))

    @property
    def image_size(self) -> int:
        """Side of a view in pixels."""
        return int(self.settings.get("image_size", 224))

    def build(self) -> VideoClassifier:
        """The model on the meta device: shapes without memory."""
        import torch  # not before there is something to build: the figures alone are read at once

        from lit_video import modules

        settings = self.settings | {"frames": self.frames, "image_size": self.image_size}
        with torch.device("meta"):
            model: VideoClassifier = getattr(modules, self.family)(self.classes, **settings)
        return model

    def count(self) -> tuple[int, int]:
        """Our parameters, and multiply-adds of one view."""
        from lit_video.costs.count import count

        return count(self.build().network, self.frames, self.image_size)


def published() -> list[Published]:
    """All models of the papers' tables that the project implements."""
    groups = read_yaml(FILE)
    return [Published(source, label, **row) for source, rows in groups.items() for label, row in rows.items()]


def value(printed: str) -> float:
    """A printed figure as a number: ``0.59T`` is 0.59e12."""
    return float(printed[:-1]) * UNITS[printed[-1]]


def agrees(ours: float, printed: str) -> bool:
    """Whether our figure, rounded to the last printed digit, is the printed one."""
    number = Decimal(printed[:-1])
    return round(Decimal(ours) / Decimal(UNITS[printed[-1]]), -int(number.as_tuple().exponent)) == number
