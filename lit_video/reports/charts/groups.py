"""Accuracy of every row in every group of classes, as a heat map."""

import altair as alt

from lit_video.reports.charts.style import FIRST, GROUND, INK, QUIET, table
from lit_video.tables.groups import Groups, reach_text

CELL = 34, 24  # width and height in pixels
DARK = 70  # percent above which a cell's number has the background's colour


def heat_map(groups: Groups) -> alt.LayerChart:
    """Draw rows by groups, the stronger a cell's colour the higher its accuracy; behind a row's name its reach."""
    names = [" | ".join(filter(None, (row["label"], reach_text(row)))) for row, _ in groups.rows]
    rows = list(zip(names, (values for _, values in groups.rows), strict=True))
    description = f"accuracy of {', '.join(names)} in {', '.join(groups.names)}"
    x = alt.X("group:N", sort=groups.names, title=None, axis=alt.Axis(orient="top", labelAngle=-45, ticks=False))
    y = alt.Y("row:N", sort=names, title=None, axis=alt.Axis(ticks=False, labelLimit=260))
    tips = [alt.Tooltip("row:N"), alt.Tooltip("group:N"), alt.Tooltip("top1:Q", format=".1f")]
    base = table("accuracies").encode(x=x, y=y, tooltip=tips)
    opacity = alt.FillOpacity("top1:Q", scale=dict(domain=[0, 100], range=[0, 1]), legend=None)
    colour = alt.when(alt.datum.top1 > DARK).then(alt.value(GROUND)).otherwise(alt.value(INK))
    layers = [
        base.mark_rect(color=FIRST).encode(fillOpacity=opacity),
        base.mark_text(fontSize=11).encode(text=alt.Text("top1:Q", format=".0f"), color=colour),
    ]
    width, height = CELL[0] * len(groups.names), CELL[1] * len(rows)
    frame = alt.ViewBackground(stroke=QUIET)
    figure = alt.LayerChart(layer=layers, width=width, height=height, view=frame, description=description)
    cells = [
        {"row": name, "group": group, "top1": value}
        for name, values in rows
        for group, value in zip(groups.names, values, strict=True)
        if value is not None
    ]
    figure.datasets = {"accuracies": cells}
    return figure
