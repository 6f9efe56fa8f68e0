"""Calibration: accuracy against confidence, and the number of videos in each bin of confidence."""

from collections.abc import Mapping

import altair as alt
import numpy as np

from lit_video.reports.charts.series import chosen, colour, opacity, shape
from lit_video.reports.charts.style import QUIET, Values, table
from lit_video.tables.statistics import Bins

WIDTH, UPPER, LOWER = 400, 280, 80  # pixels


def calibration_chart(bins: Mapping[str, Bins], description: str) -> alt.VConcatChart:
    """Draw the bins of each row.

    Args:
        bins: by the row's name.
        description: for screen readers.
    """
    values = [point for row, each in bins.items() for point in _points(row, each)]
    percent = dict(domain=[0, 100])
    base = table("bins").encode(color=colour([*bins]), opacity=opacity())
    x = alt.X("confidence:Q", title="mean probability of the predicted class (%)", scale=percent)
    y = alt.Y("accuracy:Q", title="accuracy (%)", scale=percent)
    tips = [
        alt.Tooltip(f"{key}:Q", title=title)
        for key, title in (("confidence", "confidence (%)"), ("accuracy", "accuracy (%)"), ("videos", "videos"))
    ]
    filled = base.transform_filter("datum.videos > 0").encode(x=x, y=y)
    marks = filled.mark_point(filled=True, size=45).encode(shape=shape([*bins]), tooltip=[alt.Tooltip("row:N"), *tips])
    ends = [{"confidence": end, "accuracy": end} for end in (0, 100)]
    diagonal = table("ends").mark_line(color=QUIET, strokeDash=[5, 4], strokeWidth=1.5)
    upper = alt.layer(diagonal.encode(x=x, y=y), filled.mark_line(strokeWidth=2), marks).add_params(chosen())
    lower = base.mark_line(interpolate="step").encode(
        x=alt.X("middle:Q", title="probability (%)", scale=percent), y=alt.Y("videos:Q", axis=dict(tickCount=3))
    )
    upper, lower = upper.properties(width=WIDTH, height=UPPER), lower.properties(width=WIDTH, height=LOWER)
    figure = alt.vconcat(upper, lower, description=description)
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
