"""A workspace and a report at W&B that compare the rows of tables."""

from __future__ import annotations  # a signature then shows names of types, such as Count

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from lit_video.api.arguments import Files, listed
from lit_video.errors import UserError
from lit_video.tables.reading import read_table
from lit_video.utils.text import Part, Shown
from lit_video.utils.wandb_login import has_key, wandb_project
from lit_video.utils.yaml_files import find_experiments


@dataclass(frozen=True, repr=False)
class Dashboard(Shown):
    """Addresses at W&B."""

    workspace: str
    report: str

    def parts(self) -> Sequence[Part]:
        """Return both addresses."""
        return [f"workspace: {self.workspace}\nreport: {self.report}"]


@dataclass(frozen=True, repr=False)
class DashboardPreview(Shown):
    """Panels of the workspace, and the runs that it compares; nothing was sent to W&B."""

    panels: Sequence[Sequence[str]]  # section, kind and keys of each panel
    tables: Sequence[str]  # "NAME at SCALE" of each table whose runs are shown

    def parts(self) -> Sequence[Part]:
        """Return the runs, the panels, and where the same is seen without an account."""
        runs = f"Runs of {', '.join(self.tables)}, grouped by table, scale and row:"
        lines = [f"{section}: {kind} of {keys}" for section, kind, keys in self.panels]
        here = "Nothing was sent. Without an account, lit_video report draws the results from the runs' folders."
        return ["\n".join([runs, *lines, here])]


def dashboard(
    tables: Files = (),
    overlays: Files = (),
    *,
    recipe: str | None = None,
    entity: str | None = None,
    project: str | None = None,
    preview: bool = False,
) -> Dashboard | DashboardPreview:
    """Save a workspace and a report at W&B that compare the rows of tables.

    Args:
        tables: names or paths of the tables' YAML files; without any, all tables in ``experiments``.
        overlays: names or paths of further files for all tables, such as ``scale/ssv2``.
        recipe: the scale's recipe where the paper and its code disagree.
        entity: user or team at W&B; ``None`` for yours.
        project: project at W&B; ``None`` for ``$WANDB_PROJECT``, else ``lit_video``.
        preview: only list the panels, without an account and without a network.

    Raises:
        UserError: a table is wrong, the library or a key is missing, or W&B refuses.
    """
    paths = listed(tables) or sorted(find_experiments().glob("*.yaml"))
    read = [read_table([path, *listed(overlays)], recipe) for path in paths]
    if find_spec("wandb_workspaces") is None:
        raise UserError("dashboard needs wandb-workspaces: pip install 'lit_video[dashboard]' (here: '.[dashboard]')")
    if not preview and not has_key():
        raise UserError("no W&B API key: run wandb login or set WANDB_API_KEY; --preview lists the panels without one")

    from lit_video.reports import wandb  # here, because importing W&B takes seconds

    if preview:
        names = [f"{table.name} at {table.scale}" for table in read]
        return DashboardPreview(wandb.preview(read), names)
    return Dashboard(*wandb.save(read, entity, project or wandb_project()))
