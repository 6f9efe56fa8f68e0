"""W&B workspace and report that compare the rows of tables, by keys that wandb_logger.py records."""

from collections.abc import Sequence
from itertools import chain, product
from typing import Any

import wandb
import wandb_workspaces.expr as we
import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws

from lit_video.errors import UserError, one_line
from lit_video.tables.table import Table

TITLE = "Video transformers compared"
COST_KEYS = ("gmacs", "params")
CURVE_KEYS = ("train/loss", "val/loss", "train/clip_top1", "val/clip_top1")
INTRODUCTION = (
    "Every table is a group of runs, every row a run per seed. Numbers under paper/ are those that the paper printed, "
    "measured on its data at its scale: beside a run at another scale they say what to expect, not what was reached."
)


def save(tables: Sequence[Table], entity: str | None, project: str) -> tuple[str, str]:
    """Save a new workspace and a new report at W&B; return their addresses."""
    try:
        owner = entity or wandb.Api().default_entity or ""
        return workspace(tables, owner, project).save().url, wandb_report(tables, owner, project).save().url
    except Exception as error:  # W&B's errors have no class in common
        raise UserError(f"W&B: {one_line(error)[:300]}") from error


def workspace(tables: Sequence[Table], entity: str, project: str) -> ws.Workspace:
    """Build the workspace of all tables together, its runs grouped by table, scale and row."""
    sections = []
    for name, some in panels(tables, "scheme").items():
        sections.append(ws.Section(name=name, panels=some, is_open=True))

    runs = ws.RunsetSettings(
        filters=_runs_of(tables),
        groupby=[we.Config(key) for key in ("table", "scale", "row")],
        order=[we.Ordering(we.Summary(tables[0].metric), ascending=False)],
    )
    return ws.Workspace(
        entity=entity,
        project=project,
        name=TITLE,
        sections=sections,
        settings=ws.WorkspaceSettings(max_runs=100),
        runset_settings=runs,
    )


def wandb_report(tables: Sequence[Table], entity: str, project: str) -> wr.Report:
    """Build the report: each table's command, and panels over its own runs."""
    blocks = [wr.P(INTRODUCTION), wr.TableOfContents()]
    for table in tables:
        runs = wr.Runset(
            entity=entity,
            project=project,
            name=f"{table.name} at {table.scale}",
            filters=_runs_of([table]),
            groupby=["config.row.value"],
            order=[wr.OrderBy(wr.SummaryMetric(table.metric), ascending=False)],
        )
        blocks += [
            wr.H2(f"{table.title} ({table.name})"),
            wr.P(f"Source: {table.source or 'none'}. Scale: {table.scale}."),
            wr.CodeBlock(f"lit_video fit --config {table.path}", language="markdown"),  # W&B has no shell highlighting
            wr.PanelGrid(runsets=[runs], panels=list(chain.from_iterable(panels([table], "row").values()))),
        ]

    return wr.Report(project=project, entity=entity, title=TITLE, blocks=blocks, width="fluid")


def panels(tables: Sequence[Table], by: str) -> dict[str, list[Any]]:
    """Build panels over the runs of some tables, by section; ``by`` is the config key that groups runs."""
    metrics = list(dict.fromkeys(table.metric for table in tables))
    printed = set[str]().union(*(row.paper for table in tables for row in table.rows))
    papers = [f"paper/{key}" for key in metrics if key in printed]
    group = {"groupby": wr.Config(by), "groupby_aggfunc": "mean", "aggregate": True}

    def bars(*keys: str) -> wr.BarPlot:
        return wr.BarPlot(
            title=f"{' and '.join(keys)} by {by}",
            metrics=[wr.Metric(key) for key in keys],
            groupby_rangefunc="stddev",
            max_bars_to_show=50,
            **group,
        )

    def curve(key: str) -> wr.LinePlot:
        step = wr.Metric("trainer/global_step")
        return wr.LinePlot(title=key, x=step, y=[wr.Metric(key)], groupby_rangefunc="minmax", **group)

    def points(key: str, cost: str) -> wr.ScatterPlot:
        return wr.ScatterPlot(title=f"{key} against {cost}", x=wr.Config(cost), y=wr.SummaryMetric(key), log_x=True)

    confusions = wr.MediaBrowser(media_keys=["figures/confusion"], num_columns=3, mode="gallery", gallery_axis="run")
    confusions.layout = wr.Layout(w=24, h=9)
    compared = wr.RunComparer(diff_only="split")
    compared.layout = wr.Layout(w=24, h=9)

    accuracy = [bars(*metrics, *papers), bars("test/calibration_error")]
    costs = [points(metric, cost) for metric, cost in product(metrics, COST_KEYS)]
    return {
        "Accuracy and cost": [*accuracy, *costs],
        "Learning curves": [curve(key) for key in CURVE_KEYS],
        "Settings": [compared],
        "Classes": [confusions],
    }


def preview(tables: Sequence[Table]) -> list[list[str]]:
    """Return section, kind and keys of each panel of the workspace, without a server."""
    lines = []
    for section, some in panels(tables, "scheme").items():
        for panel in some:
            if isinstance(panel, wr.ScatterPlot):
                described = ["scatter plot", f"{panel.y.name} against {panel.x.name}"]
            elif isinstance(panel, wr.MediaBrowser):
                described = ["pictures", ", ".join(panel.media_keys)]
            elif isinstance(panel, wr.RunComparer):
                described = ["comparison", "the settings in which runs differ"]
            elif isinstance(panel, wr.BarPlot):
                described = ["bars", f"{_names(panel.metrics)}, means by {panel.groupby.name}"]
            else:
                described = ["curves", f"{_names(panel.y)} over {panel.x.name}, means by {panel.groupby.name}"]
            lines.append([section, *described])
    return lines


def _names(metrics: Sequence[Any]) -> str:
    return ", ".join(metric.name for metric in metrics)


def _runs_of(tables: Sequence[Table]) -> we.And:
    """Return the filter of the runs of some tables."""
    names = sorted({table.name for table in tables})
    scales = sorted({table.scale for table in tables})
    return we.And(we.Config("table").isin(names), we.Config("scale").isin(scales))
