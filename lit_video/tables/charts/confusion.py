"""A confusion matrix: the stronger a cell's colour, the larger its share of the class's videos."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from lit_video.tables.charts.style import FIRST, GROUND, INK, QUIET, table

NAMED, NUMBERED = 9.0, 26.0  # pixels of a cell from which there is room for names, and for counts
ROOT = 32  # classes above which cells are too small to see faint ones: their opacity is the share's root
PALE = 70  # percent above which counts are written in the ground's colour


def confusion_chart(counts: NDArray[np.int64], classes: Sequence[str], what: str, side: float = 288) -> alt.LayerChart:
    """Draw videos by class (rows) and by what they were taken for (columns).

    Args:
        counts: ``(classes, classes)``.
        classes: their names.
        what: is drawn, for a screen reader.
        side: of the matrix in pixels.
    """
    cell = side / len(classes)
    axis = _axis(cell, 0.38 * side)
    every = dict(domain=[*range(len(classes))])
    x = alt.X("j:O", title="taken for", scale=every, axis=axis)
    y = alt.Y("i:O", title="class", scale=every, axis=axis)
    tips = [
        alt.Tooltip("class:N"),
        alt.Tooltip("taken:N", title="taken for"),
        alt.Tooltip("videos:Q"),
        alt.Tooltip("share:Q", title="% of the class", format=".1f"),
    ]
    # numbers instead of names keep many classes small
    base = (
        table("cells")
        .transform_joinaggregate(of="sum(videos)", groupby=["i"])
        .transform_calculate(
            **{"class": "names[datum.i]"}, taken="names[datum.j]", share="100 * datum.videos / datum.of"
        )
        .encode(x=x, y=y, tooltip=tips)
    )
    opacity = dict(domain=[0, 100], range=[0, 1], type="sqrt" if len(classes) > ROOT else "linear")
    layers = [base.mark_rect(color=FIRST).encode(fillOpacity=alt.FillOpacity("share:Q", scale=opacity, legend=None))]
    if cell >= NUMBERED:
        written = alt.when(alt.datum.share > PALE).then(alt.value(GROUND)).otherwise(alt.value(INK))
        layers.append(base.mark_text(fontSize=11).encode(text="videos:Q", color=written))
    frame = alt.ViewBackground(stroke=QUIET)
    names = alt.VariableParameter(name="names", value=[*classes])
    figure = alt.LayerChart(layer=layers, params=[names], width=side, height=side, view=frame, description=what)
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
