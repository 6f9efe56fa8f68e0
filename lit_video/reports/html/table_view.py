"""The main table of a section as cells: their texts, and the values that sort them."""

from dataclasses import dataclass
from typing import Any

from lit_video.reports.html.collect import Section
from lit_video.tables.rendering import (
    OTHER_ORDERS,
    PAPER_ONLY,
    metric_name,
    missing,
    printed_metrics,
    seeds_text,
    shown_metrics,
)
from lit_video.tables.summary import papers_own, row_summary


@dataclass(frozen=True)
class Cell:
    """What a cell shows, what it is sorted by (``None``: last), and a CSS class."""

    text: str
    value: float | None = None
    kind: str = ""


@dataclass(frozen=True)
class View:
    """Header and body of a table; the first cell of a line is the row's name."""

    header: list[str]
    body: list[list[Cell]]


def view(section: Section) -> View:
    """Rows that only the paper has, then ours, in the paper's order: costs, scores of each metric, seeds."""
    reported = [row_summary(row, []) for row in section.table.reported]
    data = {"metric": section.table.metric, "rows": section.rows, "reported": reported}
    shown, printed = shown_metrics(data), printed_metrics(data)
    header = ["row", "params", "GMACs × views", *(name for key in shown for name in _names(key, printed)), "seeds"]
    lines = [(row, PAPER_ONLY) for row in reported]
    lines += [(row, "not measured" if row["seeds"] else missing(row)) for row in section.rows]
    body = []
    for row, absent in lines:
        scores = [cell for key in shown for cell in _scores(row, key, absent, printed)]
        seeds = Cell(seeds_text(row["seeds"]), len(row["seeds"]) or None)
        body.append([*_costs(row), *scores, seeds])
    return View(header, body)


def _names(key: str, printed: set[str]) -> list[str]:
    """Headers of a metric; without the paper's where it prints none of it."""
    name = metric_name(key)
    if papers_own(key):
        return [f"{key}, paper"]
    if key.startswith(OTHER_ORDERS):
        return [f"{name}, {key.partition('/')[0]} frames"]
    return [f"{name}, paper", f"{name}, ours", "difference"] if key in printed else [f"{name}, ours"]


def _costs(row: dict[str, Any]) -> list[Cell]:
    name = Cell(row["label"])
    if not row["seeds"]:
        return [name, Cell(""), Cell("")]
    params, macs, views = row["params"], row["gmacs"], row["views"]
    return [name, Cell(f"{params / 1e6:.3g}M", params), Cell(f"{macs:.3g} × {views}", macs * views)]


def _scores(row: dict[str, Any], key: str, absent: str, printed: set[str]) -> list[Cell]:
    values = row["metrics"].get(key, dict.fromkeys(("paper", "ours", "std", "difference")))
    paper, ours, difference = values["paper"], values["ours"], values["difference"]
    theirs = Cell("" if paper is None else f"{paper:.1f}", paper, "paper")
    if papers_own(key):
        return [theirs]
    spread = "" if values["std"] is None else f" ± {values['std']:.1f}"
    measured = Cell(absent, None, "missing") if ours is None else Cell(f"{ours:.1f}{spread}", ours, "ours")
    if key not in printed:
        return [measured]
    return [theirs, measured, Cell("" if difference is None else f"{difference:+.1f}", difference)]
