"""Series of a chart by colour and mark, and a legend whose names can be clicked: that one stays, the others fade."""

from collections.abc import Sequence
from typing import Any

import altair as alt

FADED = 0.08  # opacity of a series that is not chosen


def chosen() -> alt.Parameter:
    """The series chosen by clicks in the legend, by a double click all. Of charts side by side the first has it."""
    return alt.selection_point(name="chosen", fields=["row"], bind="legend")


def colour(names: Sequence[str]) -> alt.Color:
    """Colour by the field ``row``, in the order of the names; the legend has as many columns as fit at first."""
    widest = 7 * max(map(len, names)) + 40
    columns = alt.ExprRef(f"max(1, floor(containerSize()[0] / {widest})) || 3")  # a file has no container
    limit = alt.ExprRef("min(420, (containerSize()[0] || 480) - 60)")
    legend = dict(columns=columns, labelLimit=limit)
    return alt.Color("row:N", scale=dict(domain=[*names]), legend=legend)


def shape(names: Sequence[str]) -> alt.Shape:
    """Mark by the field ``row``; its legend is that of the colours."""
    return alt.Shape("row:N", scale=dict(domain=[*names]))


def opacity() -> Any:
    """Full for the series that are chosen."""
    return alt.when(chosen()).then(alt.value(1)).otherwise(alt.value(FADED))
