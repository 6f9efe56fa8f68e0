"""Multiply-adds of every scheme against image side and frames (as TimeSformer, Fig. 3), from a file of counts.

The counts are lit_video's own, at ViT-B/16. Counting takes half a minute and torch, so they are kept in
``cost_curves.json``; ``python -m lit_video.reports.html.cost_curves`` makes the file again; a test counts some again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from lit_video.network.cost import count
from lit_video.reports.charts.curves import Line, Panel, curves_chart
from lit_video.reports.html.embedding import embedded
from lit_video.utils.files import write_atomically

if TYPE_CHECKING:
    from lit_video.modules import VideoClassifier

FILE = Path(__file__).parent / "cost_curves.json"
SIZES = (224, 320, 448, 576)  # even numbers of patches, which L+G needs
FRAMES = (8, 32, 64, 96)
Counts = dict[str, dict[str, dict[str, int]]]  # by scheme, "size" or "frames", and its value


def schemes() -> dict[str, VideoClassifier]:
    """Every scheme at ViT-B/16, with tubelets of one frame, on the meta device."""
    import torch

    from lit_video.modules import Perceiver, TimeSformer, ViViT, XViT

    with torch.device("meta"):
        return {
            "space (S)": TimeSformer(400, attention="space"),
            "joint (ST; ViViT 1)": TimeSformer(400, attention="joint"),
            "divided (T+S)": TimeSformer(400, attention="divided"),
            "local-global (L+G)": TimeSformer(400, attention="local_global"),
            "axial (T+W+H)": TimeSformer(400, attention="axial"),
            "X-ViT mixing": XViT(400),
            "exact local window": XViT(400, exact=True),
            "ViViT 2": ViViT(400, frames=8, tubelet=1, variant=2),
            "ViViT 3": ViViT(400, frames=8, tubelet=1, variant=3),
            "ViViT 4": ViViT(400, frames=8, tubelet=1, variant=4),
            "Perceiver, 256 latents": Perceiver(400),
        }


def count_all() -> Counts:
    """Multiply-adds of one view."""
    return {
        name: {
            "size": {str(size): count(model.network, 8, size)[1] for size in SIZES},
            "frames": {str(frames): count(model.network, frames, 224)[1] for frames in FRAMES},
        }
        for name, model in schemes().items()
    }


def _kept() -> Counts:
    counts: Counts = json.loads(FILE.read_text(encoding="utf-8"))
    return counts


def cost_curves() -> Markup:
    """Both panels under one legend."""
    counts = _kept()
    panels = []
    for key, label in (("size", "image side (pixels), 8 frames"), ("frames", "frames of 224 × 224 pixels")):
        lines = {
            name: Line([(float(x), macs / 1e12) for x, macs in each[key].items()]) for name, each in counts.items()
        }
        panels.append(Panel(label, "multiply-adds per view (10¹²)", lines, log=True))
    return embedded(curves_chart(panels, [*counts], "cost against image side, and against frames"), 400)


def draw(path: Path) -> None:
    """Write the same curves as a picture."""
    from lit_video.utils.figures import plt, save

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True, layout="constrained")
    for i, (name, each) in enumerate(_kept().items()):
        style = {"label": name, "color": f"C{i % 10}", "marker": "osD^v<>PX*h"[i], "linestyle": "-" if i < 5 else "--"}
        for axis, key in zip(axes, ("size", "frames"), strict=True):
            axis.plot([*map(int, each[key])], [macs / 1e12 for macs in each[key].values()], **style)
    axes[0].set(xlabel="image size (pixels), 8 frames", ylabel="multiply-adds per view ($10^{12}$)", xticks=SIZES)
    axes[1].set(xlabel="frames of 224 pixels", xticks=FRAMES)
    for axis in axes:
        axis.set_yscale("log")
        axis.grid(alpha=0.3, which="both")
    figure.suptitle("Cost of the attention schemes, ViT-B/16 (compare TimeSformer, Fig. 3)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    save(figure, path)


if __name__ == "__main__":
    write_atomically(FILE, json.dumps(count_all(), indent=1) + "\n")
