"""A row beside those most like it in the accuracy of each skill."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lit_video.tables.agreement import certainty, interval_text, row_pairs
from lit_video.tables.rendering import Groups
from lit_video.tables.summary import TableRuns

COMPARED = 3  # nearest rows


def with_first(groups: Groups, name: str) -> Groups:
    """Return the groups with a row first, and the others by their mean distance from it over groups."""
    own = next(each for each in groups.rows if each[0]["name"] == name)
    others = [each for each in groups.rows if each is not own]
    others.sort(key=lambda each: sum(abs((a or 0) - (b or 0)) for a, b in zip(own[1], each[1], strict=True)))
    return replace(groups, rows=[own, *others])


def nearest(read: TableRuns, data: Mapping[str, Any], groups: Groups) -> list[str]:
    """Compare the first row's accuracy in all skills together with each of the nearest ones, a line each."""
    shown = [row for row, _ in groups.rows[: 1 + COMPARED]]
    labels = {row["name"]: row["label"] for row in shown}
    means = {row["name"]: row["metrics"][data["metric"]]["ours"] for row in shown}
    pairs = [pair for pair in row_pairs({}, means, read.hits) if shown[0]["name"] in (pair["first"], pair["second"])]
    lines = [f"{labels[pair['first']]} less {labels[pair['second']]}: {interval_text(pair)} points" for pair in pairs]
    return [*lines, certainty(data)] if lines else []
