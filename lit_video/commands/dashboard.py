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
    parser.examples("", "--entity TEAM experiments/ablation_tw.yaml own/videos/videos_compare.yaml")
    add_shared(parser, "tables", help="default: all of experiments")
    add_shared(parser, "--config", "--recipe")
    parser.add_argument("--entity", help="user or team at W&B (default: yours)")
    text = "at W&B (default: $WANDB_PROJECT, else lit_video)"
    parser.add_argument("--project", default=project(), help=text)


def run(arguments: Namespace) -> int:
    """Save a workspace and a report at W&B that compare the rows of tables."""
    paths = arguments.tables or sorted(find_experiments().glob("*.yaml"))
    tables = [read_table([path, *arguments.config], arguments.recipe) for path in paths]
    if find_spec("wandb_workspaces") is None:
        raise UserError("dashboard needs wandb-workspaces: pip install 'lit_video[dashboard]' (here: '.[dashboard]')")
    if not has_key():
        raise UserError("no W&B API key: run wandb login or set WANDB_API_KEY")
    from lit_video.reports import wandb

    wandb.save(tables, arguments.entity, arguments.project)
    return 0
