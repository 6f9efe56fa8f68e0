"""The workspace: all chosen tables together, grouped by table and row."""

from collections.abc import Sequence

import wandb_workspaces.expr as we
import wandb_workspaces.workspaces as ws

from lit_video.reports.wandb.panels import (
    USUAL,
    Panel,
    bars,
    class_panels,
    comparer,
    coordinates,
    cost_plots,
    curves,
    pictures,
    varied,
)
from lit_video.tables.table import Table


def build_workspace(tables: Sequence[Table], entity: str, project: str) -> ws.Workspace:
    """The workspace of these tables; needs no network."""
    metrics = list(dict.fromkeys(table.metric for table in tables))
    keys = list(dict.fromkeys([*USUAL, *varied(tables)]))
    columns = [
        *(f"config:{key}.value" for key in ("scheme", "scale", "seed", "gmacs", "params")),
        *(f"summary:{metric}" for metric in metrics),
    ]
    return ws.Workspace(
        entity=entity,
        project=project,
        name="Video transformers compared",
        sections=[
            _section("Accuracy and cost", _comparison(metrics), columns=3),
            _section("Settings", [coordinates(keys, metrics), comparer()], columns=1),
            _section("Learning curves", curves("scheme"), columns=2),
            _section("Classes", class_panels(), columns=1),
            _section("Confusion, calibration, attention", pictures(), columns=1),
        ],
        settings=ws.WorkspaceSettings(max_runs=100),
        runset_settings=ws.RunsetSettings(
            filters=runs_of(tables),
            groupby=[we.Config("table"), we.Config("scale"), we.Config("row")],
            order=[we.Ordering(we.Summary(metrics[0]), ascending=False)],
            pinned_columns=columns,
        ),
    )


def runs_of(tables: Sequence[Table]) -> we.And:
    """A filter for the runs of these tables, at their scales."""
    names, scales = sorted({table.name for table in tables}), sorted({table.scale for table in tables})
    return we.And(we.Config("table").isin(names), we.Config("scale").isin(scales))


def _comparison(metrics: Sequence[str]) -> list[Panel]:
    panels: list[Panel] = []
    for metric in metrics:
        panels += [*cost_plots(metric), bars([metric], "scheme", f"{metric} of each scheme, mean of the runs shown")]
    return [*panels, bars(["test/calibration_error"], "scheme", "Calibration error of each scheme")]


def _section(name: str, panels: Sequence[Panel], columns: int) -> ws.Section:
    rows = -(-len(panels) // columns)
    layout = ws.SectionLayoutSettings(columns=columns, rows=rows)
    return ws.Section(name=name, panels=list(panels), is_open=True, layout_settings=layout)
