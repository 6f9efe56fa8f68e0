"""The ``fit`` command: trains every row and seed of a table, each in a process of its own."""

import os
import shlex
from argparse import Namespace

from lit_video.commands.arguments import add_settings, add_shared, add_table, request_of
from lit_video.commands.parser import PROGRAM, Parser
from lit_video.errors import UserError
from lit_video.launching.queue import HERE, places
from lit_video.training.request import Request
from lit_video.utils.processes import end_with_starter, first_process
from lit_video.utils.stop_signals import DONE, FAILED, StopSignals, handled_by


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples(
        "--config experiments/ablation_tw.yaml --seeds 0,1,2 --jobs 2",
        "--config experiments/ablation_tw.yaml --config experiments/scale/ssv2.yaml --data.root DIR --row tw1",
    )
    add_table(parser)
    add_shared(parser, "--row", "--seeds", "--jobs", "--reuse")
    parser.add_argument("--quiet", action="store_true", help="print no table at the end")
    parser.add_argument("--print_config", action="store_true", help="print all settings of every row, start nothing")
    add_settings(parser)


def run(arguments: Namespace) -> int:
    """Train and test every row of a table, then print it.

    Finished rows are skipped and interrupted rows resume: repeating the same command is always safe.
    """
    if arguments.print_config:
        return print_settings(request_of(arguments))
    end_with_starter()
    stops = StopSignals("fit")
    with handled_by(stops.handle):
        request = request_of(arguments)
        if request.single:
            from lit_video.training.run import run_row

            return run_row(request.runs[0], stops)
    return run_table(request, arguments.jobs or 1, arguments.quiet)


def print_settings(request: Request) -> int:
    """Print what every row and seed would train with, as its run records it: a YAML document each."""
    import yaml

    from lit_video.training.run import build_row

    for run in request.runs:
        config = build_row(run).resolved()
        print(f"--- # {run.name}" if len(request.runs) > 1 else f"# {run.name}")
        print(yaml.safe_dump(config, sort_keys=False), end="")
    return DONE


def run_table(request: Request, jobs: int, quiet: bool = False) -> int:
    """Check all rows, run those that are not finished, print the table; 1 if a row has no result.

    One run at a time has all of the machine; of several each has a GPU, or its share of the cores.
    """
    from lit_video.launching.view import run_here
    from lit_video.tables.rendering import render
    from lit_video.tables.summary import summary

    if not first_process():
        raise UserError("several runs: not for processes that torchrun or srun starts; name one by --row and --seeds")
    if "WANDB_SWEEP_ID" in os.environ:
        raise UserError("several runs: a trial of a W&B sweep is one; name it by --row and --seeds")
    status = run_here("fit", request.runs, [HERE] if jobs == 1 else places(jobs, None), request.reuse)
    if status in (DONE, FAILED) and not quiet:
        print(render(summary(request.table, request.folder, request.seeds, pairs=False), "text"))
        folder = request.folder / request.table.name
        print(f"runs: {folder / request.table.scale}; a page of them: {PROGRAM} report {shlex.quote(str(folder))}")
    return status
