"""The command ``profile``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import accept_settings, add_output, add_shared
from lit_video.commands.parser import Parser
from lit_video.settings.flags import read_flags
from lit_video.utils.files import user_path
from lit_video.utils.stop_signals import DONE, FAILED


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("my_scheme.py", "my_scheme.py --on videos --seeds 0,1,2", "divided --look")
    parser.add_argument("scheme", metavar="SCHEME", help="FILE.py, FILE.py:CLASS, MODULE.CLASS, or a built-in one")
    add_output(parser, "DIR", otherwise="profile/NAME")
    add_shared(parser, "--seeds")
    parser.add_argument(
        "--on", type=user_path, metavar="VIDEOS", help="train on these videos (folder or list), not skills"
    )
    parser.add_argument("--look", action="store_true", help="train nothing")
    add_shared(parser, "--jobs", default=1)
    accept_settings(parser)


def run(arguments: Namespace) -> int:
    """Say what an attention scheme sees of time.

    A scheme is checked, drawn, compared with built-in schemes in parameters, multiply-adds, memory and time, and
    trained on temporal skills, beside the rows of the skills table.
    Exit status 1: the scheme breaks its contract.
    """
    profile = lit_video.profile(
        arguments.scheme,
        train=not arguments.look,
        on=arguments.on,
        seeds=arguments.seeds,
        output=arguments.output,
        jobs=arguments.jobs,
        settings=read_flags(arguments.settings),
    )
    if profile.compared:
        print(profile.compared, flush=True)
    return DONE if profile.ok else FAILED
