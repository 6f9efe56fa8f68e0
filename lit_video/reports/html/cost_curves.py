"""Multiply-adds of every scheme against image side and frames (as TimeSformer, Fig. 3), from a file of counts.

The counts are lit_video's own, at ViT-B/16. Counting takes half a minute and torch, so they are kept in
``cost_curves.json``; ``python -m lit_video.reports.html.cost_curves`` makes the file again; a test counts some again.
"""

import json
from pathlib import Path

from markupsafe import Markup

from lit_video.reports.charts.curves import Line, Panel, curves_chart
from lit_video.reports.html.embedding import embedded
from lit_video.utils.files import write_atomically

FILE = Path(__file__).parent / "cost_curves.json"


def count_all() -> dict[str, dict[str, dict[str, int]]]:
    """Multiply-adds of one view, by scheme, ``size`` or ``frames``, and its value."""
    from lit_video.costs.count import count
    from lit_video.costs.curves import FRAMES, SIZES, schemes

    return {
        name: {
            "size": {str(size): count(model.network, 8, size)[1] for size in SIZES},
            "frames": {str(frames): count(model.network, frames, 224)[1] for frames in FRAMES},
        }
        for name, model in schemes().items()
    }


def cost_curves() -> Markup:
    """Both panels under one legend."""
    counts = json.loads(FILE.read_text(encoding="utf-8"))
    panels = []
    for key, label in (("size", "image side (pixels), 8 frames"), ("frames", "frames of 224 × 224 pixels")):
        lines = {
            name: Line([(float(x), macs / 1e12) for x, macs in each[key].items()]) for name, each in counts.items()
        }
        panels.append(Panel(label, "multiply-adds per view (10¹²)", lines, log=True))
    return embedded(curves_chart(panels, [*counts], "cost against image side, and against frames"), 400)


if __name__ == "__main__":
    write_atomically(FILE, json.dumps(count_all(), indent=1) + "\n")
