"""The ``predict`` command: its arguments, checked before anything heavy is loaded. Imports no torch by itself."""

from __future__ import annotations

from pathlib import Path

from lit_video.inference.options import add_evaluation
from lit_video.utils.parser import Parser, check_file, ending, positive

DESCRIPTION = """Names and probabilities for your own videos. The checkpoint of a run is all it takes: it holds the
names of the classes and how clips are made. A video that cannot be read is listed with the reason, the others are
predicted, and the exit status is 1."""


def predict(argv: list[str]) -> int:
    """Print predictions, write those files that are asked for; returns the exit status."""
    known = _parser().parse_intermixed_args(argv)
    for flag, path in (("--output", known.output), ("--features", known.features)):
        if path is not None:
            check_file(flag, path)
    from lit_video.inference.predict import run  # torch takes its seconds only now

    return run(known)


def _parser() -> Parser:
    parser = Parser("predict", DESCRIPTION)
    parser.add_argument("videos", nargs="+", metavar="VIDEO|FOLDER|GLOB", help="a folder: all videos below it")
    parser.add_argument("--ckpt", "--ckpt_path", type=Path, required=True, metavar="FILE", help="a run's last.ckpt")
    parser.add_argument("--top", type=positive, default=5, metavar="K", help="classes to name (default 5)")
    parser.add_argument(
        "--output", "-o", type=ending(".csv", ".json"), metavar="FILE", help="write them, as .csv or .json"
    )
    parser.add_argument(
        "--features",
        type=ending(".npz"),
        metavar="FILE",
        help="write what enters the classifier's last layer, averaged over the views: arrays features, paths, logits, "
        "class_names, tasks (.npz)",
    )
    parser.add_argument(
        "--draw",
        type=Path,
        metavar="FILE|DIR",
        help="write the video with its prediction on it, as .mp4, without sound; of several videos, into a folder",
    )
    add_evaluation(parser)
    return parser
