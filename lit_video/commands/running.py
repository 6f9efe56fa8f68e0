"""The commands ``fit`` and ``sweep``: train and test the rows of tables, here or by Slurm."""

import os
import shlex
from argparse import ArgumentTypeError, Namespace
from pathlib import Path

from lit_video.commands.arguments import add_settings, add_shared, configs, positive, request_of
from lit_video.commands.parser import PROGRAM, Parser
from lit_video.errors import UserError
from lit_video.launching.queue import HERE, slots
from lit_video.launching.slurm import Resources, scripts, submit
from lit_video.training.request import Request
from lit_video.utils.processes import end_with_starter, first_process
from lit_video.utils.stop_signals import DONE, FAILED, StopSignals, handled_by


def fit_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("ablation_tw --seeds 0,1,2 --jobs 2", "ablation_tw --config scale/ssv2 --data.root DIR --row tw1")
    add_shared(parser, "tables", "--config", "--recipe", "--runs", "--row", "--seeds", "--jobs", "--reuse")
    parser.add_argument("--quiet", action="store_true", help="print no table at the end")
    parser.add_argument("--print_config", action="store_true", help="print all settings of every row, start nothing")
    add_settings(parser)


def fit(arguments: Namespace) -> int:
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
    """Print the resolved settings of every row and seed, each as a YAML document."""
    import yaml

    from lit_video.training.run import build_row

    for run in request.runs:
        config = build_row(run).resolved()
        print(f"--- # {run.name}")
        print(yaml.safe_dump(config, sort_keys=False), end="")
    return DONE


def run_table(request: Request, jobs: int, quiet: bool = False) -> int:
    """Check all rows, run the unfinished ones, print the table; return 1 if a row has no result."""
    from lit_video.launching.queue import run_here
    from lit_video.tables.rendering import render
    from lit_video.tables.summary import read_runs

    if not first_process():
        raise UserError("several runs: a process of torchrun or srun trains only one; name it by --row and --seeds")
    if "WANDB_SWEEP_ID" in os.environ:
        raise UserError("several runs: a trial of a W&B sweep trains only one; name it by --row and --seeds")
    status = run_here("fit", request.runs, [HERE] if jobs == 1 else slots(jobs, None), request.reuse)
    if status in (DONE, FAILED) and not quiet:
        read = read_runs(request.table, request.folder, request.seeds, overridden=True)
        print(render(read.data, "text"))
        folder = request.folder / request.table.name
        report = f"{PROGRAM} report {shlex.quote(str(folder))}"
        if any(run.overridden for run in read.finished):
            report += " --overridden"
        print(f"runs: {folder / request.table.scale}; a page of them: {report}")
    return status


OTHERS = ("mem", "time", "partition", "account", "qos")
SLURM = {"cpus": "cpus-per-task"} | {name: name for name in OTHERS}  # our options -> options of sbatch


def sweep_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("ablation_tw skills --jobs 2", "xvit_ssv2 --config scale/ssv2 --launcher slurm --gpus-per-run 8")
    add_shared(parser, "tables", "--config", "--recipe", "--row", "--seeds", "--runs", "--jobs", "--reuse")
    parser.add_argument("--status", action="store_true", help="start nothing; show how far all runs are")
    parser.add_argument("--launcher", choices=["local", "slurm"], default="local", help="here, or as Slurm arrays")
    text = "GPUs of each run; with Slurm, GPUs on each of its nodes"
    parser.add_argument("--gpus-per-run", "--gpus-per-node", type=positive, metavar="N", help=text)
    text = "start nothing; show the runs or, for Slurm, the command and script of each array"
    parser.add_argument("--dry-run", action="store_true", help=text)
    slurm = parser.add_argument_group("for --launcher slurm", "options of sbatch for each run")
    slurm.add_argument("--nodes", type=positive, metavar="N")
    slurm.add_argument("--cpus", metavar="N", help="cores of a process")
    for name in OTHERS:
        slurm.add_argument(f"--{name}")
    slurm.add_argument("--slurm", action="append", type=_option, default=[], metavar="KEY=VALUE", help="more options")
    add_settings(parser)


def sweep(arguments: Namespace) -> int:
    """Run every row and seed of many tables, here or by Slurm.

    Rows that are finished, running or queued are skipped: repeating the same command is always safe. Mistakes in any
    row are found before anything starts.
    """
    from lit_video.launching.queue import free, run_here, say, show, unfinished

    resources = _resources(arguments)
    given = vars(arguments) | {"settings": [*arguments.settings, *resources.flags]}
    tables = dict.fromkeys(arguments.tables)
    files = [[table, *arguments.config] for table in tables] or [configs(arguments)]
    requests = [request_of(Namespace(**given | {"tables": [], "config": each})) for each in files]
    _refuse_twins(requests)
    runs = [run for request in requests for run in request.runs]
    if arguments.status or (arguments.dry_run and arguments.launcher == "local"):
        return show(runs)
    if arguments.launcher == "local":
        return run_here("sweep", runs, slots(arguments.jobs, arguments.gpus_per_run), arguments.reuse)
    if arguments.dry_run:
        print(*scripts(runs, resources), sep="\n")
        return DONE
    if left := free(unfinished(runs)):
        submit(left, resources, say)
        say("the same command with --status shows how far they are")
    return DONE


def _refuse_twins(requests: list[Request]) -> None:
    by_name: dict[str, Path] = {}
    for request in requests:
        path = request.configs[0]
        if (other := by_name.setdefault(request.table.name, path)) != path:
            raise UserError(f"{path}: has the name of {other}, so their runs would share folders; rename one")


def _resources(arguments: Namespace) -> Resources:
    """Return the Slurm resources of a run; refuse flags of the other launcher."""
    by_slurm = arguments.launcher == "slurm"
    given = vars(arguments)
    for name in (*SLURM, "nodes", "slurm"):
        if given[name] and not by_slurm and not arguments.status:
            raise UserError(f"--{name}: is for Slurm; add --launcher slurm")
    if by_slurm and arguments.reuse:
        raise UserError("--reuse: is for --launcher local")
    options = {SLURM[name]: given[name] for name in SLURM if given[name]}
    options |= dict(option.split("=", 1) for option in arguments.slurm)
    return Resources(arguments.nodes, arguments.gpus_per_run, options, arguments.jobs)


def _option(text: str) -> str:
    if not text.partition("=")[1]:
        raise ArgumentTypeError(f"is {text}, expected KEY=VALUE, such as constraint=a100")
    return text.lstrip("-")
