"""Accuracy over groups of classes, ``test/KIND/NAME``: which skills a row has. Imports no torch."""

from dataclasses import dataclass
from typing import Any

REACH = "; reach: how many frames apart two may be that the scheme can compare, blind: whatever their order"


@dataclass(frozen=True)
class Groups:
    """Accuracies of rows by group, in percent.

    Args:
        kind: of the groups, such as ``skill``.
        names: of the groups.
        rows: summary of each row with results, and its accuracies, ``None`` where there is none.
    """

    kind: str
    names: list[str]
    rows: list[tuple[dict[str, Any], list[float | None]]]

    @property
    def with_reach(self) -> bool:
        """Whether some row's results say what its scheme can compare."""
        return any(reach_text(row) for row, _ in self.rows)

    @property
    def title(self) -> str:
        """What is shown."""
        return f"Top-1 by {self.kind}, means over seeds{REACH if self.with_reach else ''}"


def measured_groups(rows: list[dict[str, Any]]) -> Groups | None:
    """The groups of classes that some row's tests measured; ``None`` for none.

    Args:
        rows: from :func:`~lit_video.tables.summary.row_summary`.
    """
    keys = [key for key in dict.fromkeys(k for row in rows for k in row["metrics"]) if key.startswith("test/")]
    keys = [key for key in keys if key.count("/") == 2]
    if not keys:
        return None
    lines = [(row, [row["metrics"].get(key, {}).get("ours") for key in keys]) for row in rows if row["seeds"]]
    return Groups(keys[0].split("/")[1], [key.rpartition("/")[2] for key in keys], lines)


def reach_text(row: dict[str, Any]) -> str:
    """What a row's scheme can compare, as far as its results say."""
    if row["reach"] is None:
        return ""
    return str(row["reach"]) if row["sees_order"] else f"{row['reach']} (blind)"
