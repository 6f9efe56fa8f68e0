"""A table printed: row, params, GMACs, seconds, paper, ours, their difference on the paper's data, seeds."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lit_video.tables.agreement import certainty, interval_text, sentences
from lit_video.tables.summary import compare_with_paper, papers_own
from lit_video.utils.text import markdown_lines, text_table

Format = Literal["text", "json", "markdown", "latex"]
NOT_RUN = "not run"
PAPER_ONLY = "paper only"
OTHER_ORDERS = ("reversed/", "shuffled/", "static/")  # of the frames of a clip, see data.test_orders
REACH = "; reach: how many frames apart two may be that the scheme can compare, blind: whatever their order"


@dataclass(frozen=True)
class Groups:
    """Accuracies of rows by group, in percent.

    Args:
        kind: kind of the groups, such as ``skill``.
        names: names of the groups.
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
        """Title of the table."""
        return f"Top-1 by {self.kind}, means over seeds{REACH if self.with_reach else ''}"


def render(data: dict[str, Any], form: Format, pairs: bool = False) -> str:
    """A summary as text, JSON, Markdown or LaTeX; with ``pairs`` the differences of all rows too."""
    if form == "json":
        return json.dumps(data, indent=2)
    write = {"text": text_table, "markdown": _markdown, "latex": _latex}[form]
    parts = [write(*main_table(data))]
    if groups := measured_groups(data["rows"]):
        parts.append(write(*groups_table(groups)))
    if form != "latex":
        parts += sentences(data)
    if pairs:
        parts.append(write(*pairs_table(data)))
    return "\n\n".join(parts)


def main_table(data: dict[str, Any]) -> tuple[str, list[str], list[list[str]]]:
    """Title, header and body."""
    shown = shown_metrics(data)
    printed = printed_metrics(data)
    header = ["row", "params", "GMACs", "seconds"]
    for key in shown:
        name = metric_name(key)
        if papers_own(key):
            header.append(f"{name} paper")
        elif key.startswith(OTHER_ORDERS):
            header.append(f"{name} {key.partition('/')[0]}")
        else:
            header += [f"{name} paper"] if key in printed else []
            header += [f"{name} ours", *(["diff."] if key in printed and data["on_papers_data"] else [])]
    header.append("seeds")
    body = [_cells(data, row, shown, printed, PAPER_ONLY) for row in data["reported"]]
    body += [_cells(data, row, shown, printed, NOT_RUN) for row in data["rows"]]
    return f"{data['title']} - {data['source']}; ours: scale {data['scale']}", header, body


def pairs_table(data: dict[str, Any]) -> tuple[str, list[str], list[list[str]]]:
    """Title, header and body of the differences of all rows."""
    labels = {row["name"]: row["label"] for row in data["rows"]}
    body = [[labels[pair["first"]], labels[pair["second"]], interval_text(pair)] for pair in data["pairs"]]
    return f"Paired differences, with {certainty(data)}", ["row", "less", "points"], body


def measured_groups(rows: list[dict[str, Any]]) -> Groups | None:
    """The groups of classes that some row's tests measured; ``None`` for none.

    Args:
        rows: from :func:`~lit_video.tables.summary.row_summary`.
    """
    keys = [key for key in dict.fromkeys(k for row in rows for k in row["metrics"]) if key.startswith("test/")]
    keys = sorted((key for key in keys if key.count("/") == 2), key=_natural)
    if not keys:
        return None
    lines = [(row, [row["metrics"].get(key, {}).get("ours") for key in keys]) for row in rows if row["seeds"]]
    return Groups(keys[0].split("/")[1], [key.rpartition("/")[2] for key in keys], lines)


def _natural(text: str) -> list[Any]:
    """Order of names in which ``order5`` comes before ``order13``."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", text)]


def reach_text(row: dict[str, Any]) -> str:
    """Temporal reach of a row's scheme in words, if its results record it."""
    if row["reach"] is None:
        return ""
    return str(row["reach"]) if row["sees_order"] else f"{row['reach']} (blind)"


def groups_table(groups: Groups) -> tuple[str, list[str], list[list[str]]]:
    """Title, header and body of the accuracy over each group of classes."""
    body = [
        [
            row["label"],
            *([reach_text(row)] if groups.with_reach else []),
            *("" if v is None else f"{v:.1f}" for v in values),
        ]
        for row, values in groups.rows
    ]
    return groups.title, ["row", *(["reach"] if groups.with_reach else []), *groups.names], body


def shown_metrics(data: dict[str, Any]) -> list[str]:
    """Metrics with a column: the table's, those the paper prints, the table's with frames in other orders."""
    return list(dict.fromkeys([data["metric"], *sorted(printed_metrics(data)), *_other_orders(data)]))


def printed_metrics(data: dict[str, Any]) -> set[str]:
    """The metrics of which the paper prints a number for any row: none of a user's own table."""
    rows = [*data["reported"], *data["rows"]]
    return {key for row in rows for key, value in row["metrics"].items() if value["paper"] is not None}


def _other_orders(data: dict[str, Any]) -> list[str]:
    """The table's metric with the frames in other orders, where it was measured."""
    measured = {key for row in data["rows"] for key in row["metrics"]}
    keys = [order + data["metric"].partition("/")[2] for order in OTHER_ORDERS]
    return [key for key in keys if key in measured]


def metric_name(key: str) -> str:
    """A metric in a table's header: ``top1`` for ``test/video_top1``."""
    return key.rpartition("/")[2].removeprefix("video_").replace("_", " ")


def _cells(data: dict[str, Any], row: dict[str, Any], shown: list[str], printed: set[str], absent: str) -> list[str]:
    cells = [row["label"]]
    if row["seeds"]:
        cells += [f"{row['params'] / 1e6:.3g}M", f"{row['gmacs']:.3g} x {row['views']}", f"{row['seconds']:.0f}"]
    else:
        cells += ["", "", ""]
    for key in shown:
        values = row["metrics"].get(key, compare_with_paper(None, []))
        spread = "" if values["std"] is None else f" ± {values['std']:.1f}"
        paper = "" if values["paper"] is None else f"{values['paper']:.1f}"
        ours = absent if values["ours"] is None else f"{values['ours']:.1f}{spread}"
        if values["ours"] is None and row["seeds"]:
            ours = "-"  # of another data set's tasks
        if papers_own(key):
            cells.append(paper)
        elif key.startswith(OTHER_ORDERS) or key not in printed:
            cells.append(ours)
        else:
            both = values["ours"] is not None and values["paper"] is not None
            difference = f"{values['ours'] - values['paper']:+.1f}" if both else ""
            cells += [paper, ours, *([difference] if data["on_papers_data"] else [])]
    return [*cells, seeds_text(row["seeds"])]


def seeds_text(seeds: Sequence[int]) -> str:
    """Seeds as ``0, 1, 2``; one alone is ``seed 0``, which would else read as a number of seeds."""
    return f"seed {seeds[0]}" if len(seeds) == 1 else ", ".join(map(str, seeds))


def _markdown(title: str, header: list[str], body: list[list[str]]) -> str:
    return f"**{title}**\n\n{markdown_lines(header, body)}"


def _latex(title: str, header: list[str], body: list[list[str]]) -> str:
    def line(cells: list[str]) -> str:
        return " & ".join(_escape(cell) for cell in cells) + r" \\"

    rows = "\n".join(line(cells) for cells in body)
    columns = "l" + "r" * (len(header) - 1)
    return "\n".join(
        [
            rf"\begin{{table}}\caption{{{_escape(title)}}}",
            rf"\begin{{tabular}}{{{columns}}}\toprule",
            line(header) + r"\midrule",
            rows,
            r"\bottomrule\end{tabular}\end{table}",
        ]
    )


def _escape(text: str) -> str:
    for plain, escaped in (("_", r"\_"), ("%", r"\%"), ("±", r"$\pm$"), ("&", r"\&")):
        text = text.replace(plain, escaped)
    return text
