"""Accuracy of a section's rows by group of classes: which skills each has."""

from dataclasses import dataclass

from markupsafe import Markup

from lit_video.reports.charts.groups import CELL, heat_map
from lit_video.reports.html.collect import Section
from lit_video.reports.html.embedding import embedded
from lit_video.tables.groups import measured_groups


@dataclass(frozen=True)
class GroupsView:
    """Title and heat map."""

    title: str
    chart: Markup


def groups_view(section: Section) -> GroupsView | None:
    """Rows by group, means over seeds; ``None`` of a data set without groups."""
    groups = measured_groups(section.rows)
    if groups is None:
        return None
    return GroupsView(groups.title, embedded(heat_map(groups), CELL[1] * len(groups.rows) + 100))
