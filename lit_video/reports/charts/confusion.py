"""A confusion matrix: the stronger a cell's colour, the larger its share of the class's videos."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from lit_video.reports.charts.style import FIRST, GROUND, INK, QUIET, table

NAMED, NUMBERED = 9.0, 26.0  # pixels of a cell from which there is room for names, and for counts
MANY = 32  # classes above which cells are too small to see faint ones: their opacity is the share's root
DARK = 70  # percent of a cell above which its count has the background's colour


def confusion_chart(
    counts: NDArray[np.int64], classes: Sequence[str], description: str, side: float = 288
) -> alt.LayerChart:
    """Draw videos by class (rows) and by what they were taken for (columns).

    Args:
        counts: ``(classes, classes)``.
        classes: their names.
        description: for screen readers.
        side: of the matrix in pixels.
    """
    cell = side / len(classes)
    axis = _axis(cell, 0.38 * side)
    all_classes = dict(domain=[*range(len(classes))])
    x = alt.X("j:O", title="taken for", scale=all_classes, axis=axis)
    y = alt.Y("i:O", title="class", scale=all_classes, axis=axis)
    tips = [
        alt.Tooltip("class:N"),
        alt.Tooltip("taken:N", title="taken for"),
        alt.Tooltip("videos:Q"),
        alt.Tooltip("share:Q", title="% of the class", format=".1f"),
    ]
    # classes by their numbers: names in every cell would make a large page
    base = (
        table("cells")
        .transform_joinaggregate(of="sum(videos)", groupby=["i"])
        .transform_calculate(
            **{"class": "names[datum.i]"}, taken="names[datum.j]", share="100 * datum.videos / datum.of"
        )
        .encode(x=x, y=y, tooltip=tips)
    )
    opacity = dict(domain=[0, 100], range=[0, 1], type="sqrt" if len(classes) > MANY else "linear")
    layers = [base.mark_rect(color=FIRST).encode(fillOpacity=alt.FillOpacity("share:Q", scale=opacity, legend=None))]
    if cell >= NUMBERED:
        text_colour = alt.when(alt.datum.share > DARK).then(alt.value(GROUND)).otherwise(alt.value(INK))
        layers.append(base.mark_text(fontSize=11).encode(text="videos:Q", color=text_colour))
    frame = alt.ViewBackground(stroke=QUIET)
    names = alt.VariableParameter(name="names", value=[*classes])
    figure = alt.LayerChart(layer=layers, params=[names], width=side, height=side, view=frame, description=description)
    cells = [{"i": int(i), "j": int(j), "videos": int(counts[i, j])} for i, j in np.argwhere(counts)]
    figure.datasets = {"cells": cells}
    return figure


def _axis(cell: float, longest: float) -> dict[str, Any]:
    named = cell >= NAMED
    return dict(
        labels=named,
        ticks=False,
        domain=False,
        grid=False,
        labelFontSize=min(11.0, cell),
        labelExpr="names[datum.value]",
        labelLimit=longest,
    )
