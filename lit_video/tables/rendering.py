"""Printed tables: row, params, GMACs, paper, ours, difference (only on the paper's data), seeds."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lit_video.runs.predictions import DIRECTION, RECOGNISED
from lit_video.tables.agreement import certainty, interval_text, labels_of, sentences
from lit_video.tables.summary import number
from lit_video.tables.table import column, papers_own
from lit_video.utils.text import as_markdown, markdown_lines, natural, text_table

NOT_RUN = "not run"
PAPER_ONLY = "paper only"
OWN = "own"  # scale of tables of a user's own videos, without a paper
OTHER_ORDERS = ("reversed", "shuffled", "static")  # orders of a clip's frames, see data.test_orders
GROUP = re.compile("test/[^/]*/[^/]*")  # metric of a group of classes: test/KIND/NAME
REACH = (
    "; reach: largest distance of two frames that the scheme can compare; blind: no order of the frames changes its "
    "output; blind to reversal: reversed frames do not, other orders do"
)
# without comparing frames; test_circle_of_time.py shows that both are exact
FLOORS = "; blind models and one frame at a known time: 50"
BOUND = "bound of any sum over frames"


@dataclass(frozen=True)
class Groups:
    """Accuracies of rows by group, in percent."""

    kind: str  # direction or recognised, both by skill, or a noun for a group of classes
    names: list[str]
    rows: list[tuple[dict[str, Any], list[float | None]]]  # (summary of a row with results, its accuracies by group)

    @property
    def title(self) -> str:
        """Title of the table, with its floors, and words on the temporal reach if some row's results record it."""
        measure = {"direction": "Direction by skill", "recognised": "Recognised by skill"}
        title = f"{measure.get(self.kind, f'Top-1 by {self.kind}')}, means over seeds"
        if self.floor:
            title += FLOORS
        if any(reach_text(row) for row, _ in self.rows):
            title += REACH
        return title

    @property
    def floor(self) -> float:
        """Accuracy in percent without comparing frames: 50 for the direction; 0 where none is known."""
        return 50.0 if self.kind == "direction" else 0.0

    @property
    def bounds(self) -> list[float | None]:
        """Highest direction by skill that a sum over frames at known times can reach; empty if no row records it."""
        recorded = {name: value for row, _ in self.rows for name, value in (row.get("sum_ceilings") or {}).items()}
        if self.kind != "direction" or not recorded:
            return []
        return [recorded.get(name) for name in self.names]


def render(data: dict[str, Any], form: Literal["text", "json", "markdown"], pairs: bool = False) -> str:
    """Return a summary as text, JSON or Markdown; ``pairs`` adds the differences of all pairs of rows."""
    if form == "json":
        return json.dumps(data, indent=2)
    write = {"text": text_table, "markdown": _markdown}[form]
    parts = ["; ".join(data["terms"])] if data["terms"] else []
    parts.append(write(*main_table(data)))
    parts += [write(*groups_table(groups)) for groups in measured_groups(data["rows"])]
    parts += sentences(data)
    if pairs:
        parts.append(write(*pairs_table(data)))
    return "\n\n".join(parts)


def main_table(data: dict[str, Any]) -> tuple[str, list[str], list[list[str]]]:
    """Return title, header and body, with the table's metric, the paper's metrics and tests with other frame orders."""
    rows = [*data["reported"], *data["rows"]]
    printed = set[str]()
    for row in rows:
        printed |= {key for key in row["metrics"] if number(row, key, "paper") is not None}
    title, ours = f"{data['title']} - {data['source']}", ""
    if data["scale"] != OWN:
        title, ours = f"{title}; ours: scale {data['scale']}", " ours"
    abilities = [key for key in (RECOGNISED, DIRECTION) if any(number(row, key) is not None for row in rows)]
    endings = dict.fromkeys([data["metric"], *sorted(printed), *abilities], ours)
    for order in OTHER_ORDERS:
        key = f"{order}/{data['compared'].partition('/')[2]}"
        if any(number(row, key) is not None for row in rows):
            endings[key] = f" {order}"
    columns = []  # header, metric, number that is shown
    for key, ending in endings.items():
        name = key.rpartition("/")[2].removeprefix("video_").replace("_", " ")
        if key in printed:
            columns.append((f"{name} paper", key, "paper"))
        if not papers_own(key):
            columns.append((f"{name}{ending}", key, "ours"))
            if key in printed and data["on_papers_data"] and ending == ours:
                columns.append(("diff.", key, "diff."))
    body = [_cells(row, columns, PAPER_ONLY) for row in data["reported"]]
    body += [_cells(row, columns, NOT_RUN) for row in data["rows"]]
    return title, ["row", "params", "GMACs", *(name for name, *_ in columns), "seeds"], body


def _cells(row: dict[str, Any], columns: Sequence[tuple[str, str, str]], absent: str) -> list[str]:
    cells = [str(row["label"]), "", ""]
    if row["seeds"]:
        cells[1:] = [f"{row['params'] / 1e6:.3g}M", f"{row['gmacs']:.3g} x {row['views']}"]
        absent = "-"  # the row was run, but without this metric
    for _, key, shown in columns:
        ours, paper = number(row, key), number(row, key, "paper")
        if shown == "paper":
            cells.append(_percent(paper))
        elif shown == "diff.":
            cells.append("" if ours is None or paper is None else f"{ours - paper:+.1f}")
        else:
            cells.append(_percent(ours, absent, number(row, key, "std")))
    return [*cells, seeds_text(row["seeds"])]


def _percent(value: float | None, absent: str = "", deviation: float | None = None) -> str:
    if value is None:
        return absent
    return f"{value:.1f}" if deviation is None else f"{value:.1f} ± {deviation:.1f}"


def pairs_table(data: dict[str, Any]) -> tuple[str, list[str], list[list[str]]]:
    """Return title, header and body of the differences of all pairs of rows."""
    labels = labels_of(data)
    body = [[labels[pair["first"]], labels[pair["second"]], interval_text(pair)] for pair in data["pairs"]]
    return f"Paired differences, with {certainty(data)}", ["row", "less", "points"], body


def measured_groups(rows: list[dict[str, Any]]) -> list[Groups]:
    """Return accuracies by group and kind of group, from :func:`~lit_video.tables.summary.row_summary`."""
    keys = sorted(filter(GROUP.fullmatch, set().union(*column(rows, "metrics"))), key=natural)
    tested = [row for row in rows if row["seeds"]]
    found = []
    for kind in dict.fromkeys(key.split("/")[1] for key in keys):
        of_kind = [key for key in keys if key.split("/")[1] == kind]
        lines = [(row, [number(row, key) for key in of_kind]) for row in tested]
        found.append(Groups(kind, [key.rpartition("/")[2] for key in of_kind], lines))
    return found


def reach_text(row: dict[str, Any]) -> str:
    """Return the temporal reach of a row's scheme in words, if its results record it."""
    if row["reach"] is None:
        return ""
    if row["sees_order"]:
        return str(row["reach"])
    return f"{row['reach']} (blind to reversal)" if row["sees_near"] else f"{row['reach']} (blind)"


def groups_table(groups: Groups) -> tuple[str, list[str], list[list[str]]]:
    """Return title, header and body of the accuracy over each group of classes."""
    header = ["row", "reach", *groups.names]
    body = [[row["label"], reach_text(row), *map(_percent, values)] for row, values in groups.rows]
    if groups.bounds:
        body.append([BOUND, "0", *map(_percent, groups.bounds)])
    if not any(cells[1] for cells in body):
        for cells in (header, *body):
            del cells[1]
    return groups.title, header, body


def seeds_text(seeds: Sequence[int]) -> str:
    """Return seeds as ``0, 1, 2``; a single seed as ``seed 0``, since ``0`` would read as a number of seeds."""
    return f"seed {seeds[0]}" if len(seeds) == 1 else ", ".join(map(str, seeds))


def _markdown(title: str, header: list[str], body: list[list[str]]) -> str:
    return f"**{as_markdown(title)}**\n\n{markdown_lines(header, body)}"
