"""The command ``test``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import accept_settings, add_own_code, call_arguments, derive
from lit_video.commands.parser import Parser
from lit_video.utils.processes import DONE, first_process

FUNCTION = "test"


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("--ckpt RUN --data.order shuffled", "--weights hub:timesformer-k400 --data.root DIR")
    derive(parser, FUNCTION, without=["settings"], weights=dict(metavar="hub:NAME"))
    add_own_code(parser)
    parser.add_argument("--print-config", action="store_true", help="print all settings, test nothing")
    accept_settings(parser, "test", more=["--seed_everything"])


def run(arguments: Namespace) -> int:
    """Print the metrics."""
    if arguments.print_config:
        import yaml  # here, because no other part of this command needs it

        settings = lit_video.test_settings(**call_arguments(arguments, "test_settings"))
        print(yaml.safe_dump(settings, sort_keys=False), end="")
        return DONE

    measured = lit_video.test(**call_arguments(arguments, FUNCTION))
    if first_process():
        print(measured)
    return DONE
