"""Arguments that several commands have, and what they become below the commands, which do not use argparse."""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from lit_video.commands.parser import Parser, natural, positive, positive_number, whole_numbers
from lit_video.inference.options import Evaluation
from lit_video.training.request import Request, build_request


def add_evaluation(parser: Parser) -> None:
    """The arguments for how videos are put through a model."""
    parser.add_argument("--clips", type=positive, metavar="N", help="views in time (default: as tested in training)")
    parser.add_argument("--crops", type=positive, metavar="M", help="views in space of each (likewise)")
    parser.add_argument("--fps", type=positive_number, metavar="N", help="of folders of pictures, one video each")
    parser.add_argument("--device", choices=["cpu", "cuda"], help="default: cuda where there is one")
    parser.add_argument("--batch", type=positive, default=8, metavar="B", help="clips at a time (default 8)")
    parser.add_argument("--workers", type=natural, default=2, metavar="W", help="processes that decode (default 2)")


def evaluation(arguments: Namespace) -> Evaluation:
    """The arguments of :func:`add_evaluation` as options; commands show progress."""
    return Evaluation(
        arguments.clips,
        arguments.crops,
        arguments.batch,
        arguments.workers,
        arguments.device,
        progress=True,
        fps=arguments.fps,
    )


def table_parser(command: str, description: str = "", add_help: bool = False) -> Parser:
    """Arguments that name a table, its seeds and the folder of its runs."""
    parser = Parser(command, description, add_help)
    parser.add_argument(
        "--config",
        "-c",
        action="append",
        type=Path,
        required=True,
        metavar="FILE",
        help="the table's YAML; then, for another scale, experiments/scale/X.yaml",
    )
    parser.add_argument("--recipe", help="of the scale, where the paper and its code disagree: paper or released")
    parser.add_argument("--seeds", type=whole_numbers, metavar="0,1,2", help="each row once per seed")
    parser.add_argument("--runs", type=Path, default=Path("runs"), metavar="DIR", help="of the runs (default: runs)")
    return parser


def add_row(parser: Parser) -> None:
    """The argument for some rows of a table."""
    parser.add_argument(
        "--row", action="append", metavar="NAMES", help="these rows only, by names or numbers from 0, with commas"
    )


def parse_request(argv: Sequence[str]) -> Request:
    """Read the flags of ``fit`` and the table.

    Raises:
        UserError: a flag, a file or the table is wrong.
    """
    parser = table_parser("fit")
    add_row(parser)
    parser.add_argument("--seed_everything", type=int)
    arguments, flags = parser.parse_known_args(argv)
    seeds = arguments.seeds or [arguments.seed_everything or 0]
    return build_request(arguments.config, arguments.row, seeds, arguments.runs, arguments.recipe, flags)
