"""The command ``report``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import add_output, add_shared
from lit_video.commands.parser import Parser
from lit_video.utils.stop_signals import DONE, FAILED


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("runs", "runs own/videos/runs -o report.html")
    add_shared(parser, "runs", "--experiments", "--overridden")
    add_output(parser, "FILE", default="report.html")


def run(arguments: Namespace) -> int:
    """Write all results below some folders as one page that opens without a server.

    The page has tables, statistics, learning curves and confusions. If it cannot be made, an older page is kept.
    """
    report = lit_video.report(
        arguments.runs,
        output=arguments.output,
        experiments=arguments.experiments,
        overridden=arguments.overridden,
    )
    return FAILED if report.left_out else DONE
