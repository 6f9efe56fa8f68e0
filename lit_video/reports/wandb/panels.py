"""The panels that compare schemes; every name in them is a key that runs log (see ``training/wandb_logger.py``)."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import wandb_workspaces.reports.v2 as wr

from lit_video.tables.flat_settings import flat_row
from lit_video.tables.table import Table

Panel: TypeAlias = (
    wr.ScatterPlot
    | wr.BarPlot
    | wr.LinePlot
    | wr.ParallelCoordinatesPlot
    | wr.RunComparer
    | wr.MediaBrowser
    | wr.WeavePanelSummaryTable
)
COSTS = {"gmacs": "GMACs of a view", "params": "parameters"}
CURVES = ("train/loss", "val/loss", "train/clip_top1", "val/clip_top1")
STEP = "trainer/global_step"
# settings that tables vary, in the order in which they act on a clip; the rows of a table add their own
USUAL = ("scheme", "frames", "views", "window", "ratio", "ta_layers")


def varied(tables: Iterable[Table]) -> list[str]:
    """Flat config keys of the settings in which rows of a table differ, each once, in the tables' order."""
    keys: list[str] = []
    for table in tables:
        rows = [flat_row(row.settings) for row in table.rows]
        for key in dict.fromkeys(key for row in rows for key in row):
            if len({row.get(key) for row in rows}) > 1:
                keys.append("scheme" if key == "model" else key)
    return list(dict.fromkeys(keys))


def cost_plots(metric: str) -> list[Panel]:
    """Accuracy against multiply-adds and against parameters, on logarithmic axes, a point per run or group of runs."""
    return [
        wr.ScatterPlot(
            title=f"{metric} against {words}",
            x=wr.Config(cost),
            y=wr.SummaryMetric(metric),
            log_x=True,
        )
        for cost, words in COSTS.items()
    ]


def bars(metrics: Sequence[str], by: str, title: str) -> wr.BarPlot:
    """A bar per metric and value of a config key, the mean of its runs with their standard deviation."""
    return wr.BarPlot(
        title=title,
        metrics=[wr.Metric(metric) for metric in metrics],
        groupby=wr.Config(by),
        groupby_aggfunc="mean",
        groupby_rangefunc="stddev",
        max_bars_to_show=50,
        aggregate=True,
    )


def coordinates(keys: Sequence[str], metrics: Sequence[str]) -> wr.ParallelCoordinatesPlot:
    """A line per run through its settings, its cost and its metrics."""
    settings = [wr.ParallelCoordinatesPlotColumn(wr.Config(key)) for key in keys]
    cost = wr.ParallelCoordinatesPlotColumn(wr.Config("gmacs"), display_name="GMACs", log=True)
    results = [wr.ParallelCoordinatesPlotColumn(wr.SummaryMetric(metric)) for metric in metrics]
    return wr.ParallelCoordinatesPlot(title="Settings, cost, accuracy", columns=[*settings, cost, *results])


def curves(by: str) -> list[Panel]:
    """Learning curves over steps, a line per value of a config key: the mean of its runs, and their range."""
    return [
        wr.LinePlot(
            title=name,
            x=wr.Metric(STEP),
            y=[wr.Metric(name)],
            groupby=wr.Config(by),
            groupby_aggfunc="mean",
            groupby_rangefunc="minmax",
            aggregate=True,
        )
        for name in CURVES
    ]


def pictures() -> list[Panel]:
    """The figures of each run side by side: confusions, calibration, and what the model attends to where drawn."""
    titles = {
        "figures/confusion": "Confusion matrices",
        "figures/calibration": "Calibration",
        "figures/attention": "Attention",
    }
    return [
        wr.MediaBrowser(title=title, media_keys=[key], num_columns=3, mode="gallery", gallery_axis="run")
        for key, title in titles.items()
    ]


def class_panels() -> list[Panel]:
    """The accuracy of every class, as a table."""
    return [wr.WeavePanelSummaryTable(table_name="test/classes")]


def comparer() -> wr.RunComparer:
    """Settings and results of the runs side by side, where they differ."""
    return wr.RunComparer(diff_only="split")


def named(panel: Panel) -> list[str]:
    """What a panel looks up in runs: ``config KEY``, ``summary KEY``, ``history KEY``, ``media KEY``, ``table KEY``."""
    match panel:
        case wr.ScatterPlot(x=x, y=y):
            keys = [_key(x), _key(y)]
        case wr.BarPlot(metrics=metrics, groupby=by):
            keys = [*(f"summary {metric.name}" for metric in metrics), _key(by)]
        case wr.LinePlot(x=x, y=y, groupby=by):
            keys = [*(f"history {metric.name}" for metric in (x, *y)), _key(by)]
        case wr.ParallelCoordinatesPlot(columns=columns):
            keys = [_key(column.metric) for column in columns]
        case wr.MediaBrowser(media_keys=media):
            keys = [f"media {key}" for key in media]
        case wr.WeavePanelSummaryTable(table_name=table):
            keys = [f"table {table}"]
        case wr.RunComparer():
            keys = []
    return keys


def _key(metric: wr.Config | wr.SummaryMetric) -> str:
    return f"{'config' if isinstance(metric, wr.Config) else 'summary'} {metric.name}"
