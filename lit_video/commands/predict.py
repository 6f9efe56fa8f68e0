"""The ``predict`` command: classes of the user's own videos."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from lit_video.commands.arguments import add_evaluation, add_output, add_shared, evaluation, new_file, positive, writing
from lit_video.commands.parser import Parser
from lit_video.runs.checkpoint import settings_of
from lit_video.runs.files import MISTAKES
from lit_video.utils.text import printable

if TYPE_CHECKING:
    from lit_video.inference.predict import VideoPredictions


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("--ckpt RUN videos -o names.csv --top 1", "--ckpt RUN VIDEO --features features.npz")
    add_shared(parser, "videos", nargs="+", help="a folder: all videos below it")
    add_shared(parser, "--ckpt", required=True)
    add_shared(parser, "--scheme")
    parser.add_argument("--top", type=positive, default=5, metavar="K", help="classes to name (default: 5)")
    add_output(parser, "FILE", endings=[".csv"])
    text = "write the input of the classifier's last layer, averaged over views, and the logits"
    parser.add_argument("--features", type=new_file("--features", ".npz"), metavar="FILE", help=text)
    add_evaluation(parser)


def run(arguments: Namespace) -> int:
    """Predict names and probabilities for your own videos.

    Only the checkpoint of a run is needed: it holds the class names and the clip settings. A video that
    cannot be read is listed with the reason, the others are predicted, and the exit status is 1.
    """
    from lit_video.inference.predict import load, predict  # here, because importing torch takes seconds
    from lit_video.inference.videos import find_videos
    from lit_video.video.trained_on import said

    records, options = find_videos(arguments.videos, arguments.fps), evaluation(arguments)
    found = predict(trained := load(arguments.ckpt), records, arguments.top, options)
    _write(found, arguments)
    if how_many := said(trained.saw(records)):
        tested = settings_of(arguments.ckpt).with_name(MISTAKES)
        advice = f"; mistakes of its test: {tested}" if tested.is_file() else ""
        print(printable(f"{how_many}: right answers there say nothing about new videos{advice}"), file=sys.stderr)
    for path, reason in found.broken.items():
        print(printable(f"{path}: {reason}"), file=sys.stderr)
    if found.broken:
        print(f"{len(found.broken)} of {len(records)} videos could not be read", file=sys.stderr)
    return 1 if found.broken else 0


def _write(found: VideoPredictions, arguments: Namespace) -> None:
    """Print a table, and write the files of the other flags."""
    from lit_video.inference.ranking import table_of, write_features, write_ranking

    if arguments.output:
        with writing("--output", arguments.output):
            write_ranking(arguments.output, found.ranked, found.broken)
    if arguments.features:
        with writing("--features", arguments.features):
            write_features(arguments.features, found.paths, found.features, found.logits, found.class_names)
    if found.ranked:
        print(table_of(found.ranked))
    if written := [str(path) for path in (arguments.output, arguments.features) if path]:
        print(printable(f"wrote {' and '.join(written)}"), file=sys.stderr)
