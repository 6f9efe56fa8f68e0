"""How far a model is as often right as it says: accuracy against confidence, and how many videos are how sure."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import numpy as np

from lit_video.tables.charts.series import chosen, colour, opacity, shape
from lit_video.tables.charts.style import QUIET, Values, table
from lit_video.tables.statistics import Bins

WIDTH, UPPER, LOWER = 400, 280, 80


def calibration_chart(bins: Mapping[str, Bins], what: str) -> alt.VConcatChart:
    """Draw the bins of each row.

    Args:
        bins: by the row's name.
        what: is drawn, for a screen reader.
    """
    values = [point for row, each in bins.items() for point in _points(row, each)]
    whole = dict(domain=[0, 100])
    base = table("bins").encode(color=colour([*bins]), opacity=opacity())
    x = alt.X("confidence:Q", title="mean probability of the likeliest class (%)", scale=whole)
    y = alt.Y("accuracy:Q", title="accuracy (%)", scale=whole)
    tips = [
        alt.Tooltip(f"{key}:Q", title=title)
        for key, title in (("confidence", "confidence (%)"), ("accuracy", "accuracy (%)"), ("videos", "videos"))
    ]
    found = base.transform_filter("datum.videos > 0").encode(x=x, y=y)
    marks = found.mark_point(filled=True, size=45).encode(shape=shape([*bins]), tooltip=[alt.Tooltip("row:N"), *tips])
    ends = [{"confidence": end, "accuracy": end} for end in (0, 100)]
    diagonal = table("ends").mark_line(color=QUIET, strokeDash=[5, 4], strokeWidth=1.5)
    upper = alt.layer(diagonal.encode(x=x, y=y), found.mark_line(strokeWidth=2), marks).add_params(chosen())
    lower = base.mark_line(interpolate="step").encode(
        x=alt.X("middle:Q", title="probability (%)", scale=whole), y=alt.Y("videos:Q", axis=dict(tickCount=3))
    )
    upper, lower = upper.properties(width=WIDTH, height=UPPER), lower.properties(width=WIDTH, height=LOWER)
    figure = alt.vconcat(upper, lower, description=what)
    figure.datasets = {"bins": values, "ends": ends}
    return figure


def _points(row: str, bins: Bins) -> Values:
    """A point per bin, in percent; ``null`` where it holds no video."""
    middles = (np.arange(len(bins.count)) + 0.5) * 100 / len(bins.count)
    return [
        {
            "row": row,
            "middle": round(float(middle), 2),
            "videos": int(videos),
            "confidence": round(100 * float(confidence), 2) if videos else None,
            "accuracy": round(100 * float(accuracy), 2) if videos else None,
        }
        for middle, videos, confidence, accuracy in zip(
            middles, bins.count, bins.confidence, bins.accuracy, strict=True
        )
    ]
