"""A workspace and a report as JSON, without a server.

The library has no public way to write them to a file: ``save`` does it on its way to the server. So this file, and only
this, calls its ``_to_model`` and ``_from_model``, the two halves of ``save`` and ``from_url`` that need no network.
What is written is the library's whole message to the server; the part called ``spec`` is what the server stores.
"""

import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.reports.v2.internal as report_models
import wandb_workspaces.workspaces as ws
import wandb_workspaces.workspaces.internal as workspace_models

from lit_video.errors import UserError


def written_workspace(workspace: ws.Workspace) -> str:
    """JSON of a workspace; the ids of its panels are new and random for every workspace that is built."""
    return _json(workspace._to_model())


def read_workspace(text: str) -> ws.Workspace:
    """The workspace that a JSON text describes."""
    return ws.Workspace._from_model(workspace_models.View.model_validate_json(text))


def written_report(report: wr.Report) -> str:
    """JSON of a report; asks the server where a set of runs names its project, and only there."""
    return _json(report._to_model())


def read_report(text: str) -> wr.Report:
    """The report that a JSON text describes."""
    model = report_models.ReportViewspec.model_validate_json(text)
    report = wr.Report._from_model(model)
    report.width = model.spec.width  # which the library's own reader leaves out
    return report


def checked(workspace: ws.Workspace, report: wr.Report) -> tuple[str, str]:
    """JSON of both, each read back and written again to the same text.

    Raises:
        UserError: it is not the same; the installed library does not keep what it is given.
    """
    texts = written_workspace(workspace), written_report(report)
    again = written_workspace(read_workspace(texts[0])), written_report(read_report(texts[1]))
    for name, text, other in zip(("workspace", "report"), texts, again, strict=True):
        if text != other:
            raise UserError(
                f"wandb-workspaces reads another {name} than it writes; install the version that this was made with: "
                "pip install -e '.[dashboard]' -c constraints.txt"
            )
    return texts


def _json(model: workspace_models.View | report_models.ReportViewspec) -> str:
    return model.model_dump_json(by_alias=True, exclude_none=True, indent=2) + "\n"
