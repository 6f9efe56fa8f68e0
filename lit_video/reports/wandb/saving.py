"""Saving the workspace and the report at W&B."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import wandb

from lit_video.errors import UserError
from lit_video.reports.wandb.report import build_report
from lit_video.reports.wandb.workspace import build_workspace
from lit_video.tables.table import Table


def save(tables: Sequence[Table], entity: str | None, project: str) -> None:
    """Save both as new ones, beside earlier ones, and print their addresses.

    Raises:
        UserError: W&B cannot be reached, refuses, or has no such project.
    """
    with refusals():
        owner = entity or wandb.Api().default_entity
    if not owner:
        raise UserError("--entity: W&B knows no default for this key; give the user or team")
    workspace = build_workspace(tables, owner, project)
    report = build_report(tables, owner, project, look_up=True)
    with refusals():
        print(f"workspace: {workspace.save().url}", flush=True)
        print(f"report: {report.save().url}", flush=True)


@contextmanager
def refusals() -> Iterator[None]:
    """Report an error of W&B's client in one line."""
    try:
        yield
    except Exception as error:  # its errors have no class in common
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"W&B: {reason[:300]}") from error
