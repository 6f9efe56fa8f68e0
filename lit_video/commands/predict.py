"""The ``predict`` command: its arguments, checked before anything heavy is loaded. Imports no torch by itself."""

from __future__ import annotations

import os
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path

from lit_video.commands.fit import Parser
from lit_video.errors import UserError

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


def add_evaluation(parser: Parser) -> None:
    """The arguments that say how videos are put through a model."""
    parser.add_argument("--clips", type=positive, metavar="N", help="views in time (default: as tested in training)")
    parser.add_argument("--crops", type=positive, metavar="M", help="views in space of each (likewise)")
    parser.add_argument("--device", choices=["cpu", "cuda"], help="default: cuda where there is one")
    parser.add_argument("--batch", type=positive, default=8, metavar="B", help="clips at a time (default 8)")
    parser.add_argument("--workers", type=natural, default=2, metavar="W", help="processes that decode (default 2)")


def check_file(flag: str, path: Path) -> None:
    """Refuse a file that cannot be written, before the work for it is done.

    Raises:
        UserError: its folder does not exist, it is a folder itself, or writing is not permitted.
    """
    if not path.parent.is_dir():
        raise UserError(f"{flag} {path}: no such folder {path.parent}")
    if path.is_dir():
        raise UserError(f"{flag} {path}: is a folder, expected a file")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UserError(f"{flag} {path}: writing there is not permitted")


def ending(*endings: str) -> Callable[[str], Path]:
    """Type of an argument that names a file with one of these endings."""

    def path(text: str) -> Path:
        if Path(text).suffix.lower() not in endings:
            raise ArgumentTypeError(f"{text} ends in none of {', '.join(endings)}")
        return Path(text)

    return path


def positive(text: str) -> int:
    """Type of an argument that is 1, 2, 3, ..."""
    return _at_least(text, 1)


def natural(text: str) -> int:
    """Type of an argument that is 0, 1, 2, ..."""
    return _at_least(text, 0)


def _at_least(text: str, least: int) -> int:
    if not text.lstrip("-").isdecimal() or int(text) < least:
        raise ArgumentTypeError(f"is {text}, expected a whole number from {least}")
    return int(text)
