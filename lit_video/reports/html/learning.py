"""Learning curves of a table's rows: the mean over seeds, and of validation each seed."""

from collections.abc import Sequence
from statistics import mean

from markupsafe import Markup

from lit_video.reports.charts.curves import Line, Panel, curves_chart
from lit_video.reports.html.collect import Section
from lit_video.reports.html.embedding import embedded
from lit_video.tables.learning_curve import Point

QUANTITIES = (
    ("val/clip_top1", "validation top-1 (%)"),
    ("val/loss", "validation loss"),
    ("train/clip_top1", "training top-1 (%)"),
    ("train/loss", "training loss"),
)


def learning_curves(section: Section) -> Markup:
    """A panel per quantity that a run recorded; empty where no run kept a curve."""
    panels = []
    for key, label in QUANTITIES:
        lines = {
            row.label: Line(average(curves), curves if len(curves) > 1 and key.startswith("val/") else ())
            for row in section.table.rows
            if (curves := [each for run in section.of(row) if (each := _points(run.curve, key))])
        }
        if lines:
            panels.append(Panel("epoch", label, lines))
    if not panels:
        return Markup("")
    names = [row.label for row in section.table.rows if section.of(row)]
    description = f"{', '.join(panel.y for panel in panels)} over epochs, {section.table.title}: {', '.join(names)}"
    return embedded(curves_chart(panels, names, description), 320 * ((len(panels) + 1) // 2))


def _points(curve: Sequence[Point], key: str) -> list[tuple[float, float]]:
    return [(point["epoch"], point[key]) for point in curve if key in point and "epoch" in point]


def average(curves: Sequence[Sequence[tuple[float, float]]]) -> list[tuple[float, float]]:
    """Mean over the curves, at the places where each of them has a point."""
    tables = [dict(curve) for curve in curves]
    shared = set[float].intersection(*(set(table) for table in tables))
    return [(x, mean(table[x] for table in tables)) for x in sorted(shared)]
