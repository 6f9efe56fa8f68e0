"""The command ``fit``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import call_arguments, derive
from lit_video.commands.parser import Parser
from lit_video.errors import RunFailed
from lit_video.utils.processes import DONE, end_with_starter

FUNCTION = "fit"


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("ablation_tw --seeds 0,1,2 --jobs 2", "ablation_tw --config scale/ssv2 --data.root DIR --row tw1")
    derive(parser, FUNCTION)
    parser.add_argument("--quiet", action="store_true", help="print no table at the end")
    parser.add_argument("--print-config", action="store_true", help="print all settings of every row, start nothing")


def run(arguments: Namespace) -> int:
    """Print the table at the end."""
    if arguments.print_config:
        import yaml  # here, because no other part of this command needs it

        for name, settings in lit_video.row_settings(**call_arguments(arguments, "row_settings")).items():
            print(f"--- # {name}")
            print(yaml.safe_dump(settings, sort_keys=False), end="")
        return DONE

    end_with_starter()
    try:
        fitted = lit_video.fit(**call_arguments(arguments, FUNCTION))
    except RunFailed as error:
        if error.fitted and not arguments.quiet:
            print(error.fitted)
        raise
    if not (fitted.request.single or arguments.quiet):
        print(fitted)
    return DONE
