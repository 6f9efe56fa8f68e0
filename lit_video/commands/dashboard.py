"""The command ``dashboard``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import add_shared
from lit_video.commands.parser import Parser
from lit_video.utils.stop_signals import DONE
from lit_video.utils.wandb_login import wandb_project


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("", "--entity TEAM experiments/ablation_tw.yaml own/videos/videos_compare.yaml", "--preview")
    add_shared(parser, "tables", help="default: all tables in experiments")
    add_shared(parser, "--config", "--recipe")
    parser.add_argument("--entity", help="user or team at W&B (default: yours)")
    parser.add_argument(
        "--project", default=wandb_project(), help="project at W&B (default: $WANDB_PROJECT, else lit_video)"
    )
    parser.add_argument("--preview", action="store_true", help="list the panels, without an account; send nothing")


def run(arguments: Namespace) -> int:
    """Save a workspace and a report at W&B that compare the rows of tables."""
    dashboard = lit_video.dashboard(
        arguments.tables,
        arguments.config,
        recipe=arguments.recipe,
        entity=arguments.entity,
        project=arguments.project,
        preview=arguments.preview,
    )
    print(dashboard, flush=True)
    return DONE
