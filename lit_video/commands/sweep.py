"""The command ``sweep``."""

from argparse import ArgumentTypeError, Namespace

import lit_video
from lit_video.commands.arguments import FLAG_TYPES, call_arguments, derive
from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.utils.processes import DONE

FUNCTION = "sweep"
SAME_NAMES = ("mem", "time", "partition", "account", "qos")
SLURM = {"cpus": "cpus-per-task"} | {name: name for name in SAME_NAMES}  # our options -> options of sbatch


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("ablation_tw skills --jobs 2", "xvit_ssv2 --config scale/ssv2 --launcher slurm --gpus-per-run 8")
    text = "GPUs of each run; with Slurm, GPUs on each of its nodes"
    names = ("--gpus-per-run", "--gpus-per-node")
    derive(parser, FUNCTION, without=["slurm"], gpus_per_run=dict(names=names, help=text))

    parser.add_argument("--status", action="store_true", help="start nothing; show how far all runs are")
    parser.add_argument("--launcher", choices=["local", "slurm"], default="local", help="here, or as Slurm arrays")
    text = "start nothing; show the runs or, for Slurm, the command and script of each array"
    parser.add_argument("--dry-run", action="store_true", help=text)

    slurm = parser.add_argument_group("for --launcher slurm", "options of sbatch for each run")
    slurm.add_argument("--nodes", **FLAG_TYPES["Count"])
    slurm.add_argument("--cpus", metavar="N", help="cores of a process")
    for name in SAME_NAMES:
        slurm.add_argument(f"--{name}")
    slurm.add_argument(
        "--slurm", dest="options", action="append", type=_option, default=[], metavar="KEY=VALUE", help="more options"
    )


def run(arguments: Namespace) -> int:
    """Run, or print how far the runs are."""
    values = vars(arguments)
    slurm = None
    if arguments.launcher == "slurm":
        from lit_video.launching.slurm import Resources  # here, because a command's help needs none of it

        options = {SLURM[name]: values[name] for name in SLURM if values[name]}
        options |= dict(option.split("=", 1) for option in arguments.options)
        slurm = Resources(arguments.nodes, arguments.gpus_per_run, options, arguments.jobs)

    for name in (*SLURM, "nodes", "options"):
        if values[name] and not slurm and not arguments.status:
            flag = "slurm" if name == "options" else name
            raise UserError(f"--{flag}: is for Slurm; add --launcher slurm")

    if arguments.status or arguments.dry_run:
        submitted = None if arguments.status else slurm
        print(lit_video.progress(**call_arguments(arguments, "progress"), slurm=submitted), flush=True)
        return DONE

    lit_video.sweep(**call_arguments(arguments, FUNCTION), slurm=slurm)
    return DONE


def _option(text: str) -> str:
    if not text.partition("=")[1]:
        raise ArgumentTypeError(f"is {text}, expected KEY=VALUE, such as constraint=a100")
    return text.lstrip("-")
