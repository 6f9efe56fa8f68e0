"""Saving the workspace and the report at W&B."""

from __future__ import annotations

from collections.abc import Sequence

import requests
import wandb

from lit_video.dashboard.report import build_report
from lit_video.dashboard.workspace import build_workspace
from lit_video.errors import UserError
from lit_video.tables import Table


def save(tables: Sequence[Table], entity: str | None, project: str) -> None:
    """Save both anew, beside earlier ones, and print where they are.

    Raises:
        UserError: W&B cannot be reached, refuses, or has no such project.
    """
    try:
        owner = entity or wandb.Api().default_entity
        if not owner:
            raise UserError("--entity: W&B knows no default for this key; give the user or team")
        workspace = build_workspace(tables, owner, project).save()
        report = build_report(tables, owner, project, look_up=True).save()
    except (wandb.Error, ValueError, requests.RequestException) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"W&B: {reason[:300]}") from error
    print(f"workspace: {workspace.url}\nreport: {report.url}")
