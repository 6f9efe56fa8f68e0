"""The command ``test``."""

from argparse import Namespace
from typing import Any

import lit_video
from lit_video.commands.arguments import accept_settings, add_shared
from lit_video.commands.parser import Parser
from lit_video.settings.flags import read_flags
from lit_video.utils.processes import first_process
from lit_video.utils.stop_signals import DONE

PRINT = "--print_config"


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("--ckpt RUN --data.order shuffled", "--weights hub:timesformer-k400 --data.root DIR")
    add_shared(parser, "--ckpt", required=False)
    add_shared(parser, "--scheme", "--config")
    parser.add_argument("--weights", metavar="hub:NAME", help="published weights, with their settings")
    accept_settings(parser, "test", more=["--seed_everything", PRINT])


def run(arguments: Namespace) -> int:
    """Evaluate a run or published weights on all views of the test videos."""
    asked: dict[str, Any] = {
        "ckpt": arguments.ckpt,
        "weights": arguments.weights,
        "configs": arguments.config,
        "settings": read_flags(word for word in arguments.settings if word != PRINT),
    }
    if PRINT in arguments.settings:
        import yaml  # here, because no other part of this command needs it

        print(yaml.safe_dump(lit_video.test_settings(**asked), sort_keys=False), end="")
        return DONE

    measured = lit_video.test(**asked)
    if first_process():
        print(measured)
    return DONE
