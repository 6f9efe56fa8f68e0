"""The ``dashboard`` command: a workspace and a report at W&B that compare the rows of tables."""

from argparse import Namespace
from importlib.util import find_spec

from lit_video.commands.arguments import add_shared
from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.tables.reading import read_table
from lit_video.utils.wandb_login import has_key, project
from lit_video.utils.yaml_files import find_experiments


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("--dry-run", "--entity TEAM experiments/ablation_tw.yaml own/videos/videos_compare.yaml")
    add_shared(parser, "tables", help="default: all of experiments")
    add_shared(parser, "--config", "--recipe")
    parser.add_argument("--entity", help="user or team at W&B (default: yours)")
    text = "at W&B (default: $WANDB_PROJECT, else lit_video)"
    parser.add_argument("--project", default=project(), help=text)
    text = "print panels and the keys of runs that each looks up; needs no key"
    parser.add_argument("--dry-run", action="store_true", help=text)


def run(arguments: Namespace) -> int:
    """Save a workspace and a report at W&B that compare the rows of tables."""
    paths = arguments.tables or sorted(find_experiments().glob("*.yaml"))
    tables = [read_table([path, *arguments.config], arguments.recipe) for path in paths]
    if find_spec("wandb_workspaces") is None:
        raise UserError("dashboard needs wandb-workspaces: pip install 'lit_video[dashboard]' (here: '.[dashboard]')")
    from lit_video.reports import wandb

    if arguments.dry_run:
        print("workspace, its runs grouped by scheme:")
        for name, panels in wandb.panels(tables, "scheme").items():
            print(f"  {name}")
            for panel in panels:
                print(f"    {type(panel).__name__}: {', '.join(wandb.keys_of(panel)) or 'whatever differs'}")
        sections = ", ".join(f"{table.name} at {table.scale}" for table in tables)
        print(f"report, the same panels for each table, its runs grouped by row: {sections}")
        return 0
    if not has_key():
        raise UserError("no W&B API key: run wandb login or set WANDB_API_KEY, or look at --dry-run")
    wandb.save(tables, arguments.entity, arguments.project)
    return 0
