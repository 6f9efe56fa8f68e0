"""The ``sweep`` command: every row and seed of many tables, on this machine or by Slurm."""

from argparse import ArgumentTypeError, Namespace
from pathlib import Path

from lit_video.commands.arguments import add_settings, add_shared, configs, positive, request_of
from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.launching.queue import places
from lit_video.launching.slurm import Resources, scripts, submit
from lit_video.training.request import Request
from lit_video.utils.stop_signals import DONE

SLURM = ("cpus", "mem", "time", "partition", "account", "qos")


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples(
        "experiments/ablation_*.yaml --seeds 0,1,2 --jobs 2",
        "experiments/xvit_ssv2.yaml --config experiments/scale/ssv2.yaml --launcher slurm --gpus-per-run 8",
    )
    add_shared(parser, "tables", "--config", "--recipe", "--row", "--seeds", "--runs", "--jobs", "--reuse")
    parser.add_argument("--status", action="store_true", help="start nothing; show how far all runs are")
    parser.add_argument(
        "--launcher", choices=["local", "slurm"], default="local", help="here (default), or an array per table by Slurm"
    )
    text = "GPUs of each run (by Slurm: on each of its nodes)"
    parser.add_argument("--gpus-per-run", "--gpus-per-node", type=positive, metavar="N", help=text)
    text = "start nothing; show the runs, or by Slurm the command and the script of each array"
    parser.add_argument("--dry-run", action="store_true", help=text)
    slurm = parser.add_argument_group("for --launcher slurm", "options of sbatch for each run")
    slurm.add_argument("--nodes", type=positive, metavar="N")
    slurm.add_argument("--cpus", metavar="N", help="cores of a process")
    for name in SLURM[1:]:
        slurm.add_argument(f"--{name}")
    slurm.add_argument("--array-parallelism", type=positive, metavar="N", help="runs at a time")
    slurm.add_argument(
        "--slurm", action="append", type=_option, metavar="KEY=VALUE", help="any other, by its long name"
    )
    add_settings(parser)


def run(arguments: Namespace) -> int:
    """Run every row and seed of many tables, here or by Slurm.

    Rows that are finished, running or queued are skipped: the same command again is always right. Mistakes in any row
    are found before anything starts.
    """
    from lit_video.launching.view import free, run_here, say, show, unfinished

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
        return run_here("sweep", runs, places(arguments.jobs, arguments.gpus_per_run), arguments.reuse)
    if arguments.dry_run:
        print(*scripts(runs, resources), sep="\n")
        return DONE
    if left := free(unfinished(runs)):
        submit(left, resources, say)
        say("the same command with --status shows how far they are")
    return DONE


def _refuse_twins(requests: list[Request]) -> None:
    """Refuse two tables whose runs would be in one folder."""
    by_name: dict[str, Path] = {}
    for request in requests:
        path = request.configs[0]
        if (other := by_name.setdefault(request.table.name, path)) != path:
            raise UserError(f"{path}: has the name of {other}, and so its runs the same folders; rename one")


def _resources(arguments: Namespace) -> Resources:
    """Resources that runs ask Slurm for; refuses flags of the other launcher."""
    by_slurm = arguments.launcher == "slurm"
    names = (*SLURM, "nodes", "array_parallelism", "slurm")
    given = {name: value for name in names if (value := vars(arguments)[name])}
    if given and not by_slurm and not arguments.status:
        raise UserError(f"--{next(iter(given)).replace('_', '-')}: is for Slurm; add --launcher slurm")
    if by_slurm and (local := [name for name in ("jobs", "reuse") if vars(arguments)[name]]):
        raise UserError(f"--{local[0]}: is for --launcher local; --array-parallelism N limits Slurm's tasks at a time")
    options = {"cpus-per-task" if name == "cpus" else name: given[name] for name in SLURM if name in given}
    options |= dict(option.split("=", 1) for option in given.get("slurm", ()))
    return Resources(arguments.nodes, arguments.gpus_per_run, options, arguments.array_parallelism)


def _option(text: str) -> str:
    if not text.partition("=")[1]:
        raise ArgumentTypeError(f"is {text}, expected KEY=VALUE, such as constraint=a100")
    return text.lstrip("-")
