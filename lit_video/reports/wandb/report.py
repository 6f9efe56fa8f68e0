"""The report: each table's contents and commands, and its panels over its own runs."""

import re
from collections.abc import Sequence

import wandb_workspaces.reports.v2 as wr

from lit_video.reports.wandb.panels import Panel, bars, comparer, coordinates, cost_plots, curves, pictures, varied
from lit_video.reports.wandb.workspace import runs_of
from lit_video.tables.table import Table

INTRODUCTION = (
    "Every table is a group of runs, every row a run per seed. Numbers under paper/ are those that the paper printed, "
    "measured on its data at its scale: beside a run at another scale they say what to expect, not what was reached."
)


def build_report(tables: Sequence[Table], entity: str, project: str, look_up: bool) -> wr.Report:
    """The report of these tables.

    Args:
        tables: one section each.
        entity: owner of the project; empty for a report that is only written to a file.
        project: where the runs are.
        look_up: name the project in every set of runs. The library then asks the server for the project's number when
            it writes the report; without, a set of runs has no project of its own and nothing is asked.
    """
    owner = {"entity": entity, "project": project} if look_up else {}
    blocks = [wr.P(INTRODUCTION), wr.TableOfContents()]
    for table in tables:
        blocks += [*_text(table), wr.PanelGrid(runsets=[_runs(table, owner)], panels=_placed(table_panels(table)))]
    return wr.Report(
        project=project,
        entity=entity,
        title="Video transformers compared",
        description="Tables of the papers and our runs of them",
        blocks=blocks,
        width="fluid",
    )


def table_panels(table: Table) -> list[Panel]:
    """The panels of a table, in the report's order."""
    metrics = [table.metric]
    if any(table.metric in row.paper for row in table.rows):
        metrics.append(f"paper/{table.metric}")
    keys = list(dict.fromkeys(["scheme", *varied([table]), "frames", "seed"]))
    return [
        bars(metrics, "row", f"{table.name}: {' and '.join(metrics)}"),
        *cost_plots(table.metric),
        coordinates(keys, [table.metric]),
        *curves("row"),
        *pictures(),
        comparer(),
    ]


def commands(table: Table) -> list[str]:
    """The commands that run a table: those that its file begins with, else the plain one."""
    head = table.path.read_text(encoding="utf-8").split("\n\n")[0]
    lines = re.findall(r"^#\s+(python -m lit_video fit .*)$", head, flags=re.MULTILINE)
    return lines or [f"python -m lit_video fit --config {table.path}"]


def _text(table: Table) -> list[wr.H2 | wr.P | wr.CodeBlock | wr.MarkdownBlock]:
    lines = ["| row | name | paper |", "|---|---|---|"]
    for name, row in [*((row.name, row) for row in table.rows), *(("only the paper's", row) for row in table.reported)]:
        paper = ", ".join(f"{key} {value:g}" for key, value in row.paper.items())
        lines.append(f"| {name} | {row.label.replace('|', '/')} | {paper or '-'} |")
    return [
        wr.H2(f"{table.title} ({table.name})"),
        wr.P(f"Source: {table.source or 'none'}. Scale: {table.scale}."),
        wr.CodeBlock("\n".join(commands(table)), language="markdown"),  # W&B has no language for a shell
        wr.MarkdownBlock("\n".join(lines)),
    ]


def _runs(table: Table, owner: dict[str, str]) -> wr.Runset:
    """The runs of a table at its scale, best row first; written as the library reads it back."""
    columns = ["run:displayName", f"summary:{table.metric}", "config:gmacs.value", "config:seed.value"]
    return wr.Runset(
        **owner,
        name=f"{table.name} at {table.scale}",
        filters=runs_of([table]),
        groupby=["config.row.value"],
        order=[wr.OrderBy(wr.SummaryMetric(table.metric), ascending=False)],
        pinned_columns=columns,
        column_order=columns,
    )


def _placed(panels: list[Panel]) -> list[Panel]:
    """Three panels side by side on the report's 24 units, the wide ones on rows of their own."""
    left, top = 0, 0
    for panel in panels:
        wide = isinstance(panel, wr.ParallelCoordinatesPlot | wr.MediaBrowser | wr.RunComparer)
        width, height = (24, 9) if wide else (8, 7)
        if left + width > 24:
            left, top = 0, top + 7
        panel.layout = wr.Layout(x=left, y=top, w=width, h=height)
        left, top = (0, top + height) if wide else (left + width, top)
    return panels
