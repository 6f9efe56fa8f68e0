"""The command ``predict``."""

import sys
from argparse import Namespace

import lit_video
from lit_video.commands.arguments import VIDEO_PATHS, add_own_code, call_arguments, derive, new_file, refuse_bad_inputs
from lit_video.commands.parser import Parser
from lit_video.utils.processes import DONE, FAILED
from lit_video.utils.text import printable

FUNCTION = "predict"
MOST_LISTED = 20  # videos; of more a summary is printed


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("--ckpt RUN videos -o names.csv --top 1", "--ckpt RUN VIDEO --features features.npz")
    derive(parser, FUNCTION, without=["evaluation"], videos=VIDEO_PATHS, top=dict(names=("--top",)))
    add_own_code(parser)
    derive(parser, "Evaluation", without=["progress"])
    text = "write the classes of each video, .csv"
    parser.add_argument("--output", "-o", type=new_file("output", ".csv"), metavar="FILE", help=text)
    text = "write the input of the classifier's last layer, averaged over views, and the logits"
    parser.add_argument("--features", type=new_file("features", ".npz"), metavar="FILE", help=text)


def run(arguments: Namespace) -> int:
    """Print the classes of each video.

    With more than 20 videos a summary by class is printed, and -o writes the classes of each. A video that cannot be
    read is listed with the reason, the others are predicted, and the exit status is 1.
    """
    refuse_bad_inputs(arguments.videos, arguments)
    evaluation = lit_video.Evaluation(**call_arguments(arguments, "Evaluation"), progress=True)
    predictions = lit_video.predict(**call_arguments(arguments, FUNCTION), evaluation=evaluation)
    if arguments.output:
        predictions.write(arguments.output)
    if arguments.features:
        predictions.write_features(arguments.features)

    many = len(predictions.ranked) > MOST_LISTED
    if predictions.ranked:
        print(predictions.summary if many else predictions.table)
    lines = [f"wrote {path}" for path in (arguments.output, arguments.features) if path]
    if many and not arguments.output:
        lines.append(f"{len(predictions.ranked)} videos: -o FILE.csv writes the classes of each")
    if predictions.trained_on:
        from lit_video.runs.chosen_checkpoint import record_beside  # here, because the command's help needs none of it
        from lit_video.runs.predictions import MISTAKES

        lines.append(f"{predictions.trained_on}: right answers there say nothing about new videos")
        tested = record_beside(arguments.ckpt).with_name(MISTAKES)
        if tested.is_file():
            lines[-1] += f"; mistakes of its test: {tested}"
    lines += [f"{path}: {reason}" for path, reason in predictions.broken.items()]
    if predictions.broken:
        unread = len(predictions.broken)
        lines.append(f"{unread} of {unread + len(predictions.paths)} videos could not be read")
    for line in lines:
        print(printable(line), file=sys.stderr)
    return FAILED if predictions.broken else DONE
