"""A table printed: row, params, GMACs, paper, ours, their difference on the paper's data, seeds."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from lit_video.tables.agreement import certainty, interval_text, sentences
from lit_video.tables.summary import papers_own
from lit_video.utils.text import as_markdown, markdown_lines, natural, text_table

Format = Literal["text", "json", "markdown"]
NOT_RUN = "not run"
PAPER_ONLY = "paper only"
OWN = "own"  # scale of tables of a user's own videos, without a paper
OTHER_ORDERS = ("reversed/", "shuffled/", "static/")  # orders of a clip's frames, see data.test_orders
REACH = "; reach: how many frames apart two may be that the scheme can compare, blind: whatever their order"


@dataclass(frozen=True)
class Groups:
    """Accuracies of rows by group, in percent."""

    kind: str  # a group's noun: skill, for instance
    names: list[str]
    rows: list[tuple[dict[str, Any], list[float | None]]]  # summary of each row with results, and its accuracies

    @property
    def with_reach(self) -> bool:
        """True if some row's results record its scheme's temporal reach."""
        return any(reach_text(row) for row, _ in self.rows)

    @property
    def title(self) -> str:
        """Title of the table."""
        return f"Top-1 by {self.kind}, means over seeds{REACH if self.with_reach else ''}"


def render(data: dict[str, Any], form: Format, pairs: bool = False) -> str:
    """Return a summary as text, JSON or Markdown; with ``pairs`` the differences of all pairs of rows too."""
    if form == "json":
        return json.dumps(data, indent=2)
    write = text_table if form == "text" else _markdown
    parts = [write(*main_table(data))]
    if groups := measured_groups(data["rows"]):
        parts.append(write(*groups_table(groups)))
    parts += sentences(data)
    if pairs:
        parts.append(write(*pairs_table(data)))
    return "\n\n".join(parts)


def main_table(data: dict[str, Any]) -> tuple[str, list[str], list[list[str]]]:
    """Return title, header and body: the table's metric, the paper's metrics, tests with other frame orders."""
    rows = [(row, PAPER_ONLY) for row in data["reported"]] + [(row, NOT_RUN) for row in data["rows"]]
    numbers = [(key, value) for row, _ in rows for key, value in row["metrics"].items()]
    printed = sorted({key for key, value in numbers if value["paper"] is not None})
    measured = {key for key, value in numbers if value["ours"] is not None}
    orders = [key for order in OTHER_ORDERS if (key := order + data["metric"].partition("/")[2]) in measured]
    own = data["scale"] == OWN
    ours = "" if own else " ours"
    columns: list[tuple[str, Callable[[dict[str, Any], str], str]]] = [
        ("row", lambda row, _: str(row["label"])),
        ("params", lambda row, _: f"{row['params'] / 1e6:.3g}M" if row["seeds"] else ""),
        ("GMACs", lambda row, _: f"{row['gmacs']:.3g} x {row['views']}" if row["seeds"] else ""),
    ]
    for key in dict.fromkeys([data["metric"], *printed, *orders]):
        name = key.rpartition("/")[2].removeprefix("video_").replace("_", " ")
        if key in printed:
            columns.append((f"{name} paper", partial(_papers, key)))
        if key in orders:
            columns.append((f"{name} {key.partition('/')[0]}", partial(_ours, key)))
        elif not papers_own(key):
            columns.append((f"{name}{ours}", partial(_ours, key)))
            columns += [("diff.", partial(_difference, key))] if key in printed and data["on_papers_data"] else []
    columns.append(("seeds", lambda row, _: seeds_text(row["seeds"])))
    body = [[cell(row, absent) for _, cell in columns] for row, absent in rows]
    title = f"{data['title']} - {data['source']}" + ("" if own else f"; ours: scale {data['scale']}")
    return title, [name for name, _ in columns], body


def _papers(key: str, row: dict[str, Any], absent: str) -> str:
    paper = row["metrics"].get(key, {}).get("paper")
    return "" if paper is None else f"{paper:.1f}"


def _ours(key: str, row: dict[str, Any], absent: str) -> str:
    values = row["metrics"].get(key, {})
    if values.get("ours") is None:
        return "-" if row["seeds"] else absent  # a metric of another data set's tasks
    return f"{values['ours']:.1f}" + ("" if values["std"] is None else f" ± {values['std']:.1f}")


def _difference(key: str, row: dict[str, Any], absent: str) -> str:
    values = row["metrics"].get(key, {})
    both = None not in (values.get("ours"), values.get("paper"))
    return f"{values['ours'] - values['paper']:+.1f}" if both else ""


def pairs_table(data: dict[str, Any]) -> tuple[str, list[str], list[list[str]]]:
    """Return title, header and body of the differences of all rows."""
    labels = {row["name"]: row["label"] for row in data["rows"]}
    body = [[labels[pair["first"]], labels[pair["second"]], interval_text(pair)] for pair in data["pairs"]]
    return f"Paired differences, with {certainty(data)}", ["row", "less", "points"], body


def measured_groups(rows: list[dict[str, Any]]) -> Groups | None:
    """Return the groups of classes that some row's tests measured (:func:`~lit_video.tables.summary.row_summary`)."""
    keys = [key for key in dict.fromkeys(k for row in rows for k in row["metrics"]) if key.startswith("test/")]
    keys = sorted((key for key in keys if key.count("/") == 2), key=natural)
    if not keys:
        return None
    lines = [(row, [row["metrics"].get(key, {}).get("ours") for key in keys]) for row in rows if row["seeds"]]
    return Groups(keys[0].split("/")[1], [key.rpartition("/")[2] for key in keys], lines)


def reach_text(row: dict[str, Any]) -> str:
    """Return the temporal reach of a row's scheme in words, if its results record it."""
    if row["reach"] is None:
        return ""
    return str(row["reach"]) if row["sees_order"] else f"{row['reach']} (blind)"


def groups_table(groups: Groups) -> tuple[str, list[str], list[list[str]]]:
    """Return title, header and body of the accuracy over each group of classes."""
    body = []
    for row, values in groups.rows:
        reach = [reach_text(row)] if groups.with_reach else []
        body.append([row["label"], *reach, *("" if v is None else f"{v:.1f}" for v in values)])
    return groups.title, ["row", *(["reach"] if groups.with_reach else []), *groups.names], body


def seeds_text(seeds: Sequence[int]) -> str:
    """Return seeds as ``0, 1, 2``; one alone as ``seed 0``, since ``0`` would read as a number of seeds."""
    return f"seed {seeds[0]}" if len(seeds) == 1 else ", ".join(map(str, seeds))


def _markdown(title: str, header: list[str], body: list[list[str]]) -> str:
    return f"**{as_markdown(title)}**\n\n{markdown_lines(header, body)}"
