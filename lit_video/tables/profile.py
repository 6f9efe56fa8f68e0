"""Accuracy of a row in each skill, beside the rows most like it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lit_video.tables.agreement import certainty, interval_text, row_pairs
from lit_video.tables.rendering import Groups
from lit_video.tables.statistics import share_interval
from lit_video.tables.summary import TableRuns

SHOWN = 3  # nearest rows that are shown


def with_first(groups: Groups, name: str) -> Groups:
    """Return the groups with a row first, and the others by their mean distance from it over groups."""
    own = next(each for each in groups.rows if each[0]["name"] == name)
    others = [each for each in groups.rows if each is not own]
    others.sort(key=lambda each: sum(abs((a or 0) - (b or 0)) for a, b in zip(own[1], each[1], strict=True)))
    return replace(groups, rows=[own, *others])


def skills_table(groups: Groups) -> tuple[str, list[str], list[list[str]]]:
    """Return title, header and body: a line per skill, with the first row, the nearest ones, and the best row.

    Behind an accuracy stands half of its 95 % interval over the skill's test videos.
    """
    shown = groups.rows[: 1 + SHOWN]
    videos = {row["name"]: row["test_videos"] // len(groups.names) for row, _ in shown}
    body = []
    for i, skill in enumerate(groups.names):
        best, label = max((values[i] or 0.0, row["label"]) for row, values in groups.rows)
        cells = [_cell(values[i] or 0.0, videos[row["name"]]) for row, values in shown]
        body.append([skill, *cells, f"{best:.0f} {label}"])
    title = f"Accuracy in each {groups.kind} (%), ± 95 % over its test videos, beside the nearest rows"
    return title, [groups.kind, *(row["label"] for row, _ in shown), "best row"], body


def _cell(value: float, videos: int) -> str:
    low, high = share_interval(round(value / 100 * videos), videos)
    return f"{value:.0f} ± {(high - low) / 2:.0f}"


def nearest(read: TableRuns, data: Mapping[str, Any], groups: Groups) -> list[str]:
    """Compare the first row's accuracy in all skills together with each of the nearest ones, a line each."""
    shown = [row for row, _ in groups.rows[: 1 + SHOWN]]
    labels = {row["name"]: row["label"] for row in shown}
    means = {row["name"]: row["metrics"][data["metric"]]["ours"] for row in shown}
    pairs = [pair for pair in row_pairs({}, means, read.hits) if shown[0]["name"] in (pair["first"], pair["second"])]
    lines = [f"{labels[pair['first']]} less {labels[pair['second']]}: {interval_text(pair)} points" for pair in pairs]
    return [*lines, certainty(data)] if lines else []
