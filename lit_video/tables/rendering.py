"""A table printed: row, params, GMACs, seconds, paper, ours, difference, seeds. Imports no torch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any, Literal

from rich.console import Console
from rich.table import Table as RichTable

from lit_video.tables.agreement import (
    agreement_summary,
    comparable,
    interval_text,
    pairs_summary,
    row_findings,
    sentences,
)
from lit_video.tables.table import Row, Table, results

Format = Literal["text", "json", "markdown", "latex"]
NOT_RUN = "not run"
PAPER_ONLY = "paper only"
OTHER_ORDERS = ("reversed/", "shuffled/", "static/")  # of the frames of a clip, see data.test_orders


def summary(table: Table, runs: Path, seeds: Sequence[int] | None = None) -> dict[str, Any]:
    """What a table says, as plain data: the paper's numbers, and ours from the ``result.json`` files alone."""
    rows = [row_summary(row, results(table, runs, row, seeds)) for row in table.rows]
    hits = comparable(row_findings(table, runs, seeds), table.metric)
    papers = {row.name: row.paper[table.metric] for row in table.rows if table.metric in row.paper}
    measured = {row["name"]: row["metrics"].get(table.metric, {}).get("ours") for row in rows}
    ours = {name: value for name, value in measured.items() if value is not None}
    return {
        "table": table.name,
        "scale": table.scale,
        "title": table.title,
        "source": table.source,
        "metric": table.metric,
        "rows": rows,
        "reported": [row_summary(row, []) for row in table.reported],
        "agreement": agreement_summary(papers, ours, hits),
        "pairs": pairs_summary(hits),
    }


def row_summary(row: Row, found: list[dict[str, Any]]) -> dict[str, Any]:
    """A row as plain data, from the ``result.json`` of its seeds."""
    metrics = sorted({key for result in found for key in result["metrics"]} | row.paper.keys())
    return {
        "name": row.name,
        "label": row.label,
        "params": found[0]["params"] if found else None,
        "gmacs": found[0]["gmacs"] if found else None,
        "views": found[0]["views"] if found else None,
        "seconds": mean(result["seconds"] for result in found) if found else None,
        "seeds": [result["seed"] for result in found],
        "commits": sorted({result["commit"] for result in found}),
        "metrics": {key: _compare(row.paper.get(key), _values(found, key)) for key in metrics},
    }


def _values(found: list[dict[str, Any]], key: str) -> list[float]:
    """What the runs measured; nothing for a number that only the paper has."""
    return [] if papers_own(key) else [result["metrics"][key] for result in found if key in result["metrics"]]


def _compare(paper: float | None, ours: list[float]) -> dict[str, float | None]:
    average = mean(ours) if ours else None
    return {
        "paper": paper,
        "ours": average,
        "std": stdev(ours) if len(ours) > 1 else None,
        "difference": average - paper if average is not None and paper is not None else None,
    }


def render(data: dict[str, Any], form: Format, pairs: bool = False) -> str:
    """A summary as text, JSON, Markdown or LaTeX; with ``pairs`` the differences of all rows too."""
    if form == "json":
        return json.dumps(data, indent=2)
    write = {"text": text_table, "markdown": _markdown, "latex": _latex}[form]
    parts = [write(*_main_table(data))]
    if form != "latex":
        parts += sentences(data)
    if pairs:
        parts.append(write(*pairs_table(data)))
    return "\n\n".join(parts)


def _main_table(data: dict[str, Any]) -> tuple[str, list[str], list[list[str]]]:
    """Title, header and body."""
    shown = shown_metrics(data)
    header = ["row", "params", "GMACs", "seconds"]
    for key in shown:
        name = metric_name(key)
        if papers_own(key):
            header.append(f"{name} paper")
        elif key.startswith(OTHER_ORDERS):
            header.append(f"{name} {key.partition('/')[0]}")
        else:
            header += [f"{name} paper", f"{name} ours", "diff."]
    header.append("seeds")
    body = [_cells(row, shown, PAPER_ONLY) for row in data["reported"]]
    body += [_cells(row, shown, NOT_RUN) for row in data["rows"]]
    return f"{data['title']} - {data['source']}; ours: scale {data['scale']}", header, body


def pairs_table(data: dict[str, Any]) -> tuple[str, list[str], list[list[str]]]:
    """Title, header and body of the differences of all rows."""
    labels = {row["name"]: row["label"] for row in data["rows"]}
    body = [[labels[pair["second"]], labels[pair["first"]], interval_text(pair)] for pair in data["pairs"]]
    return "Paired differences, with 95 % intervals over test videos and seeds", ["row", "less", "points"], body


def shown_metrics(data: dict[str, Any]) -> list[str]:
    """What a table has columns for: its metric, what the paper prints, its metric with frames in other orders."""
    rows = [*data["reported"], *data["rows"]]
    printed = {key for row in rows for key, value in row["metrics"].items() if value["paper"]}
    return list(dict.fromkeys([data["metric"], *sorted(printed), *_other_orders(data)]))


def _other_orders(data: dict[str, Any]) -> list[str]:
    """The table's metric with the frames in other orders, where it was measured."""
    found = {key for row in data["rows"] for key in row["metrics"]}
    keys = [order + data["metric"].partition("/")[2] for order in OTHER_ORDERS]
    return [key for key in keys if key in found]


def metric_name(key: str) -> str:
    """A metric in a table's header: ``top1`` for ``test/video_top1``."""
    return key.rpartition("/")[2].removeprefix("video_").replace("_", " ")


def papers_own(key: str) -> bool:
    """Whether a number is of another data set of the paper's, which a run does not measure (``K400 top-1``)."""
    return "/" not in key


def _cells(row: dict[str, Any], shown: list[str], missing: str) -> list[str]:
    cells = [row["label"]]
    if row["seeds"]:
        cells += [f"{row['params'] / 1e6:.3g}M", f"{row['gmacs']:.3g} x {row['views']}", f"{row['seconds']:.0f}"]
    else:
        cells += ["", "", ""]
    for key in shown:
        values = row["metrics"].get(key, _compare(None, []))
        spread = "" if values["std"] is None else f" ± {values['std']:.1f}"
        paper = "" if values["paper"] is None else f"{values['paper']:.1f}"
        ours = missing if values["ours"] is None else f"{values['ours']:.1f}{spread}"
        if values["ours"] is None and row["seeds"]:
            ours = "-"  # of another data set's tasks
        if papers_own(key):
            cells.append(paper)
        elif key.startswith(OTHER_ORDERS):
            cells.append(ours)
        else:
            cells += [paper, ours, "" if values["difference"] is None else f"{values['difference']:+.1f}"]
    return [*cells, ", ".join(map(str, row["seeds"]))]


def text_table(title: str, header: list[str], body: list[list[str]]) -> str:
    """A table for a terminal, numbers to the right."""
    table = RichTable(title=title, title_justify="left")
    for i, name in enumerate(header):
        table.add_column(name, justify="right" if i else "left", no_wrap=True)
    for cells in body:
        table.add_row(*cells)
    console = Console(width=max(100, 13 * len(header)))
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().rstrip().splitlines())


def _markdown(title: str, header: list[str], body: list[list[str]]) -> str:
    return f"**{title}**\n\n{markdown_lines(header, body)}"


def markdown_lines(header: list[str], body: list[list[str]]) -> str:
    """A table in Markdown without its title, numbers to the right."""
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, rule, *body])


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
