"""The command ``finetune``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import YES_OR_NO, add_own_videos, asked_own_videos, natural_number
from lit_video.commands.parser import Parser
from lit_video.utils.stop_signals import DONE


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("videos", "videos --weights xvit-b-k600 --minutes 60")
    add_own_videos(parser)
    text = (
        "weights to start from: published ones, drawn (a small model that comes along), a run of yours, or none "
        "(default: VideoMAE-B of Kinetics-400, without a network drawn)"
    )
    parser.add_argument("--weights", metavar="auto|none|NAME|RUN", help=text)
    text = (
        "yes: train a probe on the frozen backbone of --weights; no: all layers (default: yes on a CPU, unless the "
        "model is as small as drawn; no on a GPU)"
    )
    parser.add_argument("--frozen", choices=[*YES_OR_NO], help=text)
    parser.add_argument("--scheme", help="attention scheme of a model from scratch (default: xvit)")
    parser.add_argument(
        "--seed", type=natural_number, default=0, metavar="N", help="seed of all random draws (default: 0)"
    )


def run(arguments: Namespace) -> int:
    """Train and test a model on a folder of your own videos.

    Says what it finds, writes an experiment with a reason for every setting, trains, tests, and writes a page of the
    results and a model card. Repeating the command resumes it. With fewer than 300 videos it cross-validates, so every
    video is tested; the model to use is trained on all videos.
    """
    tested = lit_video.finetune(
        **asked_own_videos(arguments),
        frozen=None if arguments.frozen is None else YES_OR_NO[arguments.frozen],
        scheme=arguments.scheme,
        seed=arguments.seed,
    )
    print(tested, flush=True)
    return DONE
