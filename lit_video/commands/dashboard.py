"""The ``dashboard`` command: the W&B workspace and report of our tables. Imports no torch."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.tables.reading import read_table
from lit_video.tables.table import Table
from lit_video.utils.files import write_atomically
from lit_video.utils.text import did_you_mean
from lit_video.utils.wandb_login import has_key

if TYPE_CHECKING:
    from wandb_workspaces.reports.v2 import Report
    from wandb_workspaces.workspaces import Workspace

    from lit_video.reports.wandb.panels import Panel

EXPERIMENTS = Path("experiments")
SCALES = EXPERIMENTS / "scale"
CHECKED = """\
checked: both files read back to the same text; runs log the names above (tests/training/test_wandb_logger.py), but for
settings that their scheme does not have, and figures/attention, which CNNs and clips of very many patches do not have
not checked, which needs a server: how W&B draws them. Runs in report.json have no project of their own; saving adds it.
"""


def dashboard(argv: list[str]) -> int:
    """Make the workspace and the report, and write or save them; returns the exit status."""
    arguments = _arguments(argv)
    tables = _tables(arguments.table, arguments.scale, arguments.recipe)
    if find_spec("wandb_workspaces") is None:
        raise UserError("dashboard needs wandb-workspaces: pip install 'lit_video[dashboard]' (here: '.[dashboard]')")
    if arguments.dry_run:
        _write(tables, arguments.entity or "", arguments.project, arguments.out or Path("dashboard"))
        return 0
    if arguments.out:
        raise UserError("-o is for --dry-run, which writes files; without it W&B keeps the workspace and the report")
    if not has_key():
        raise UserError("no W&B API key: run wandb login or set WANDB_API_KEY, or look at the files of --dry-run")
    from lit_video.reports.wandb.saving import save

    save(tables, arguments.entity, arguments.project)
    return 0


def _arguments(argv: list[str]) -> Namespace:
    parser = Parser("dashboard", "The W&B workspace and report that compare the schemes of our tables.")
    parser.add_argument("--dry-run", action="store_true", help="write workspace.json and report.json; needs no key")
    parser.add_argument("--entity", help="user or team at W&B (default: yours)")
    parser.add_argument("--project", default=os.environ.get("WANDB_PROJECT", "lit_video"))
    parser.add_argument(
        "--table",
        nargs="+",
        default=[],
        metavar="NAME|FILE",
        help="of experiments/NAME.yaml, or your own FILE.yaml (default: all of experiments)",
    )
    parser.add_argument("--scale", help="of experiments/scale/NAME.yaml (default: each table's own)")
    parser.add_argument("--recipe", help="of that scale, such as released (default: each family's first)")
    parser.add_argument("-o", dest="out", type=Path, metavar="DIR", help="folder of --dry-run (default: dashboard)")
    return parser.parse_args(argv)


def _tables(names: Sequence[str], scale: str | None, recipe: str | None) -> list[Table]:
    """The tables of these names, or all, of ``experiments`` in the working directory, at their own scale or at another.

    Raises:
        UserError: there are none, or not this one, or not at this scale.
    """
    paths = {path.stem: path for path in sorted(EXPERIMENTS.glob("*.yaml"))}
    paths |= {name: Path(name) for name in names if name.endswith(".yaml") and Path(name).is_file()}
    if not paths:
        raise UserError(f"no tables in {EXPERIMENTS.absolute()}; run this in the repository's root")
    for name in names:
        if name not in paths:
            near = did_you_mean(name, paths)
            raise UserError(f"--table: no table {name!r}{near}; tables: {', '.join(paths)}, or a file of your own")
    overlay = SCALES / f"{scale}.yaml"
    if scale and not overlay.exists():
        raise UserError(
            f"--scale: no {overlay}; scales: {', '.join(sorted(path.stem for path in SCALES.glob('*.yaml')))}"
        )
    overlays = [overlay] if scale else []
    return [read_table([paths[name], *overlays], recipe) for name in dict.fromkeys(names or paths)]


def _write(tables: Sequence[Table], entity: str, project: str, folder: Path) -> None:
    """Write both specifications, and print what is in them."""
    from lit_video.reports.wandb.report import build_report
    from lit_video.reports.wandb.specification import checked
    from lit_video.reports.wandb.workspace import build_workspace

    workspace, report = build_workspace(tables, entity, project), build_report(tables, entity, project, look_up=False)
    texts = checked(workspace, report)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in zip(("workspace.json", "report.json"), texts, strict=True):
            write_atomically(folder / name, text)
    except OSError as error:
        raise UserError(f"-o: cannot write {folder} ({error.strerror}); give another folder") from error
    _print_contents(tables, workspace, report, project)
    print(f"wrote {folder / 'workspace.json'}, {folder / 'report.json'}")
    print(CHECKED, end="")


def _print_contents(tables: Sequence[Table], workspace: Workspace, report: Report, project: str) -> None:
    from lit_video.reports.wandb.report import table_panels

    print(f"workspace {workspace.name!r}, project {project}: {workspace.runset_settings.filters}")
    for section in workspace.sections:
        print(f"  {section.name}")
        _print_panels(section.panels)
    print(f"report {report.title!r}")
    for table in tables:
        print(f"  {table.name} at {table.scale}: {table.title}")
        _print_panels(table_panels(table))


def _print_panels(panels: Sequence[Panel]) -> None:
    from lit_video.reports.wandb.panels import named

    for panel in panels:
        print(f"    {type(panel).__name__}: {', '.join(named(panel)) or 'whatever differs'}")
