"""The ``sweep`` command: every row and seed of many tables, on this machine or by Slurm. Imports no torch by itself."""

from argparse import ArgumentTypeError, Namespace
from collections.abc import Sequence
from pathlib import Path

from lit_video.commands.arguments import add_row
from lit_video.commands.parser import Parser, positive, whole_numbers
from lit_video.errors import UserError
from lit_video.launching.local import places
from lit_video.launching.slurm import Resources, array_script, check_slurm, submit
from lit_video.launching.terminal import not_elsewhere, run_here, show, tell
from lit_video.launching.work import Run, Sources, build_requests, work_list
from lit_video.utils.stop_signals import DONE

DESCRIPTION = """Runs every row of the tables with every seed. Rows that are finished, running or queued are
skipped: the same command again is always right. Mistakes in any row are found before anything starts."""

SLURM = ("cpus", "mem", "time", "partition", "account", "qos")


def sweep(argv: list[str]) -> int:
    """Run what is left of the tables, or show how far they are; returns the exit status."""
    arguments, flags = _arguments(argv)
    resources, seeds = _resources(arguments), arguments.seeds or [0]
    requests = build_requests(
        Sources(arguments.tables, arguments.config, arguments.recipe),
        arguments.row,
        seeds,
        arguments.runs,
        [*flags, *resources.flags],
    )
    runs = work_list(requests)
    if arguments.status:
        return show(runs)
    if arguments.launcher == "slurm":
        check_slurm()
    here = places(arguments.jobs, arguments.gpus_per_run) if arguments.launcher == "local" else []
    from lit_video.training.run import check_rows  # here, because importing torch takes seconds

    to_do = [Run(request, row, seed) for request in requests for row, seed in check_rows(request)]
    if len(to_do) < len(runs):
        tell(f"{len(runs) - len(to_do)} of {len(runs)} runs are done, skipped")
    left = not_elsewhere(to_do)
    if arguments.launcher == "local":
        return run_here(runs, left, here)
    if left and arguments.launcher == "print":
        print(array_script(left, resources), end="")
    elif left:
        submit(left, resources, tell)
        tell("the same command with --status shows how far they are")
    return DONE


def _resources(arguments: Namespace) -> Resources:
    """What runs ask Slurm for.

    Raises:
        UserError: a flag is for another launcher.
    """
    names = {"cpus": "cpus-per-task"}
    options = {names.get(name, name): getattr(arguments, name) for name in SLURM if getattr(arguments, name)}
    given = [f"--{name}" for name in (*SLURM, "nodes", "array_parallelism", "slurm") if getattr(arguments, name)]
    if given and arguments.launcher == "local" and not arguments.status:
        raise UserError(f"{given[0].replace('_', '-')}: is for Slurm; add --launcher slurm or --launcher print")
    if arguments.jobs and arguments.launcher != "local":
        raise UserError(
            "--jobs: is for --launcher local; --array-parallelism N limits how many tasks Slurm runs at a time"
        )
    further = dict(arguments.slurm or [])
    return Resources(arguments.nodes, arguments.gpus_per_run, options | further, arguments.array_parallelism)


def _arguments(argv: Sequence[str]) -> tuple[Namespace, list[str]]:
    """The command's own arguments, and settings of the runs as ``--key=value``."""
    parser = Parser("sweep", DESCRIPTION)
    parser.add_argument("tables", nargs="+", type=Path, metavar="TABLE.yaml")
    parser.add_argument(
        "--config", "-c", action="append", type=Path, default=[], metavar="OVERLAY.yaml", help="a scale"
    )
    parser.add_argument("--seeds", type=whole_numbers, metavar="0,1,2", help="each row once per seed (default 0)")
    add_row(parser)
    parser.add_argument("--recipe", help="of the scale, where the paper and its code disagree")
    parser.add_argument(
        "--runs", type=Path, default=Path("runs"), metavar="DIR", help="where runs live (default: runs)"
    )
    parser.add_argument("--status", action="store_true", help="start nothing; show how far all runs are")
    parser.add_argument(
        "--launcher",
        choices=["local", "slurm", "print"],
        default="local",
        help="here (default); an array per table by Slurm; or print such an array's script",
    )
    parser.add_argument(
        "--jobs", type=positive, metavar="N", help="here: runs at a time (default: one, or as GPUs allow)"
    )
    parser.add_argument(
        "--gpus-per-run",
        "--gpus-per-node",
        type=positive,
        metavar="N",
        help="of each run (by Slurm: on each of its nodes)",
    )
    slurm = parser.add_argument_group("for --launcher slurm and print", "options of sbatch for each run")
    slurm.add_argument("--nodes", type=positive, metavar="N")
    slurm.add_argument("--cpus", metavar="N", help="per process")
    for name in SLURM[1:]:
        slurm.add_argument(f"--{name}")
    slurm.add_argument("--array-parallelism", type=positive, metavar="N", help="runs at a time")
    slurm.add_argument(
        "--slurm", action="append", type=_option, metavar="KEY=VALUE", help="any other, by its long name"
    )
    known, flags = parser.parse_known_intermixed_args(parser.joined(argv))
    if wrong := [flag for flag in flags if not flag.startswith("--")]:
        parser.error(f"unrecognized arguments: {' '.join(wrong)}")
    return known, flags


def _option(text: str) -> tuple[str, str]:
    key, equals, value = text.lstrip("-").partition("=")
    if not key or not equals:
        raise ArgumentTypeError(f"is {text}, expected KEY=VALUE, such as constraint=a100")
    return key, value
