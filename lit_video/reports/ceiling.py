"""Rows that ended where models that are blind to order do, as Markdown. Imports no torch."""

from collections.abc import Iterable
from typing import Any

NEAR = 1.0  # points

TITLE = """\
## Rows at the ceiling of blind models

The embedded videos are made so that a model which is blind to order cannot be expected to pass a ceiling. A row whose
scheme sees order (computed from its layers) and of which a seed ends less than a point above it has not learned; a row
whose scheme is blind and that ends above it would be a mistake of ours."""


def ceilings(summaries: Iterable[dict[str, Any]]) -> str:
    """The rows of all tables that ended there though they see order, and those above though they are blind.

    Args:
        summaries: of tables, from :func:`~lit_video.tables.summary.summary`.
    """
    stuck, impossible, unknown, judged = [], [], 0, 0
    for data in summaries:
        for row in data["rows"]:
            ours, ceiling = row["metrics"].get(data["metric"], {}), row["blind_ceiling"]
            if ours.get("ours") is None:
                continue
            if ceiling is None:
                unknown += 1
                continue
            judged += 1
            numbers = f"{ours['ours']:.1f}, lowest seed {ours['lowest']:.1f}, ceiling {ceiling:.1f}"
            text = f"{data['table']} ({data['scale']}) {row['label']}: {numbers}"
            if row["sees_order"] and ours["lowest"] < ceiling + NEAR:
                stuck.append(text)
            if not row["sees_order"] and ours["ours"] > ceiling + NEAR:
                impossible.append(text)
    lines = []
    if judged:
        lines.append(f"Of {judged} rows, see order and have not learned: {'; '.join(stuck) or 'none'}.")
        lines.append(f"Blind and above: {'; '.join(impossible) or 'none'}.")
    if unknown:
        lines.append(f"{unknown} rows are of other data, or of versions that did not record it.")
    return TITLE + "\n\n" + " ".join(lines)
