"""The ``fit`` command: every row and seed of a table its own process. Imports no torch by itself."""

from argparse import Namespace
from dataclasses import replace

from lit_video.commands.arguments import add_row, parse_request, table_parser
from lit_video.commands.parser import Parser, positive
from lit_video.errors import UserError
from lit_video.launching.queue import HERE, places
from lit_video.launching.view import run_here
from lit_video.launching.work import unfinished, work_list
from lit_video.tables.rendering import render
from lit_video.tables.summary import summary
from lit_video.training.request import Request
from lit_video.utils.processes import end_with_starter, first_process
from lit_video.utils.stop_signals import DONE, FAILED, stop_signals

DESCRIPTION = """Train and test every row of a table, then print it. A finished row is skipped, an interrupted one
goes on where it stopped: the same command again is always right."""


def fit(argv: list[str]) -> int:
    """Run one row in this process, or several rows and seeds in a process each."""
    if argv in (["-h"], ["--help"]):
        _help().print_help()
        return DONE
    if {"-h", "--help"} & set(argv) or any(arg.endswith(".help") or arg.startswith("--print_config") for arg in argv):
        from lit_video.training.cli import show

        others = [arg for arg in argv if arg not in {"--reuse", "all"}]
        return show(["fit", *_without(others, {"--row", "--recipe", "--seeds", "--runs", "--jobs"})])
    end_with_starter()
    with stop_signals("fit") as stops:
        own, others = _own_arguments(argv)
        request = replace(parse_request(others), reuse=own.reuse)
        if request.single:
            from lit_video.training.run import run_row

            return run_row(request, request.rows[0], request.seeds[0], stops)
    return run_table(request, own.jobs)


def _help() -> Parser:
    """What there is to choose, on one screen."""
    parser = table_parser("fit", DESCRIPTION, add_help=True)
    add_row(parser)
    _add_own(parser)
    settings = parser.add_argument_group("settings, of the YAML or as flags")
    settings.add_argument(
        "--data NAME", dest="_", metavar="", help="a data set: TemporalSkills, VideoFolder, SomethingV2, ..."
    )
    settings.add_argument(
        "--data.X", dest="_", metavar="VALUE", help="root, frames, image_size, batch_size, sampling, augmentation, ..."
    )
    settings.add_argument("--model NAME", dest="_", metavar="", help="XViT, TimeSformer, ViViT, Perceiver, ConvNet")
    settings.add_argument(
        "--model.X",
        dest="_",
        metavar="VALUE",
        help="size, window, attention, optimization.lr, weights, image_weights, ...",
    )
    settings.add_argument(
        "--trainer.X", dest="_", metavar="VALUE", help="max_epochs, devices, precision, callbacks, ... (Lightning's)"
    )
    settings.add_argument(
        "--help all",
        action="store_true",
        dest="_",
        help="every setting; --model.help NAME, --data.help NAME: a class's",
    )
    return parser


def _own_arguments(argv: list[str]) -> tuple[Namespace, list[str]]:
    """What ``fit`` alone takes, and the arguments of a request."""
    parser = Parser("fit", add_help=False)
    _add_own(parser)
    return parser.parse_known_args(argv)


def _add_own(parser: Parser) -> None:
    parser.add_argument("--jobs", type=positive, default=1, metavar="N", help="rows side by side (default: 1)")
    parser.add_argument("--reuse", action="store_true", help="train once what several rows or tables have in common")


def run_table(request: Request, jobs: int) -> int:
    """Check all rows, run those that are not finished, print the table; 1 if a row has no result.

    One run at a time has all of the machine; of several each has a GPU, or its share of the cores.

    Raises:
        UserError: a row is wrong, or this process is one of several, which would each run the table.
    """
    if not first_process():
        raise UserError("several runs: not for processes that torchrun or srun starts; name one by --row and --seeds")
    left, runs = unfinished([request]), work_list([request])
    status = run_here("fit", runs, left, [HERE] if jobs == 1 else places(jobs, None), request.reuse)
    if status in (DONE, FAILED):
        print(render(summary(request.table, request.runs, request.seeds, pairs=False), "text"))
        print(f"runs: {request.runs / request.table.name / request.table.scale}")
    return status


def _without(argv: list[str], names: set[str]) -> list[str]:
    """The arguments without these flags, whether given as ``--x=1`` or as ``--x 1``."""
    kept, skip = [], False
    for arg in argv:
        if skip or arg.split("=")[0] in names:
            skip = not skip and "=" not in arg
            continue
        kept.append(arg)
    return kept
