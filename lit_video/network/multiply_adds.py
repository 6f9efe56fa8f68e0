"""Parameters and multiply-adds of networks: our counts beside the papers' figures."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lit_video.utils.clip_shape import ImageSize, height_and_width, size_in_words
from lit_video.utils.yaml_files import read_yaml

if TYPE_CHECKING:
    from torch import nn

_FILE = Path(__file__).parent / "published.yaml"
UNITS = {"M": 1e6, "G": 1e9, "T": 1e12}
CONVENTION = """\
GMACs are 10^9 multiply-adds of matrix products, attention included, and convolutions. The papers' "FLOPs" are
multiply-adds too. The sign = means that our figure, rounded like the paper's, equals it."""
COST_HEADER = ["model", "clip", "params", "paper", "diff.", "GMACs", "views", "total", "paper", "diff.", "note"]


def count_params_and_macs(module: nn.Module, num_frames: int, image_size: ImageSize) -> tuple[int, int]:
    """Count a network's parameters, and its multiply-adds for one view of ``num_frames`` frames of ``image_size``."""
    import torch  # imported here, because the papers' figures are read without torch

    clip = torch.empty(1, 3, num_frames, *height_and_width(image_size), device="meta")
    return sum(p.numel() for p in module.parameters()), multiply_adds(module, clip)


def multiply_adds(module: nn.Module, *inputs: Any) -> int:
    """Count multiply-adds of matrix products and convolutions, attention included, for inputs on the meta device."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    shadow = copy.deepcopy(module).to("meta").eval().requires_grad_(False)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        shadow(*inputs)
    return int(counter.get_total_flops()) // 2  # torch counts a multiply-add as two operations


@dataclass(frozen=True)
class Published:
    """A model of a paper's table, and its cost as printed there."""

    source: str  # paper and tables
    label: str  # name of the row
    family: str  # class in lit_video.modules
    _: KW_ONLY
    classes: int  # number of classes of the classifier that is counted
    views: int  # clips x crops per video in the printed cost
    settings: dict[str, Any]  # arguments of the family, with frames and image size of a view
    params: str | None = None  # printed figure, such as 85.9M
    cost: str | None = None  # multiply-adds of all views as printed, such as 0.59T or 425G
    note: str = ""  # why our figure differs


def published() -> list[Published]:
    """Return all models of the papers' tables that the project implements."""
    models: list[Published] = []
    for source, rows in read_yaml(_FILE).items():
        for label, row in rows.items():
            settings = {"num_frames": 8, "image_size": 224} | row.get("settings", {})
            models.append(Published(source, label, **row | {"settings": settings}))
    return models


def value(printed: str) -> float:
    """Return a printed figure as a number: ``0.59T`` is 0.59e12."""
    return float(printed[:-1]) * UNITS[printed[-1]]


def agrees(counted: float, printed: str | None) -> bool | None:
    """Return whether our figure, rounded like the printed figure, equals it; ``None`` if no figure is printed."""
    if not printed:
        return None
    number = Decimal(printed[:-1])
    digits = -int(number.as_tuple().exponent)
    in_units = Decimal(counted) / Decimal(UNITS[printed[-1]])
    return round(in_units, digits) == number


def compare_with_paper(model: Published, counted: tuple[int, int]) -> dict[str, Any]:
    """Return a model's row, with the paper's figures; ``counted``: parameters, and multiply-adds of one view."""
    params, macs_per_view = counted
    macs = macs_per_view * model.views

    return {
        "source": model.source,
        "model": model.label,
        "frames": model.settings["num_frames"],
        "image_size": model.settings["image_size"],
        "classes": model.classes,
        "views": model.views,
        "params": params,
        "macs_per_view": macs_per_view,
        "macs": macs,
        "paper_params": model.params,
        "paper_macs": model.cost,
        "params_agree": agrees(params, model.params),
        "macs_agree": agrees(macs, model.cost),
        "note": model.note,
    }


def cost_cells(row: Mapping[str, Any]) -> list[str]:
    """Return the cells of a row of :func:`compare_with_paper` under ``COST_HEADER``, without the note."""
    side = row["image_size"]
    size = side if isinstance(side, int) else size_in_words(side)

    return [
        row["model"],
        f"{row['frames']} x {size}",
        f"{row['params'] / 1e6:.4g}M",
        row["paper_params"] or "",
        _difference(row["params"], row["paper_params"]),
        f"{row['macs_per_view'] / 1e9:.4g}",
        str(row["views"]),
        f"{row['macs'] / 1e9:.5g}G",
        row["paper_macs"] or "",
        _difference(row["macs"], row["paper_macs"]),
    ]


def _difference(counted: float, printed: str | None) -> str:
    if printed is None:
        return ""
    if agrees(counted, printed):
        return "="
    return f"{100 * (counted / value(printed) - 1):+z.1f} %"
