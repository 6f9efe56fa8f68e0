"""The ``embed`` command: draws video features in two dimensions (t-SNE), coloured by class."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lit_video.commands.arguments import add_evaluation, add_output, add_shared, evaluation, writing
from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.runs.checkpoint import settings_of
from lit_video.utils.files import write_bytes
from lit_video.utils.text import printable

if TYPE_CHECKING:
    from lit_video.video.clips import VideoRecord


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("--ckpt RUN", "--ckpt RUN videos -o features.png")
    add_shared(parser, "videos", nargs="*", help="default: the run's test split")
    add_shared(parser, "--ckpt", required=True)
    add_shared(parser, "--scheme")
    add_output(parser, "FILE", default="embed.png", endings=[".png", ".svg", ".pdf"])
    add_shared(parser, "--seed")
    add_evaluation(parser)


def run(arguments: Namespace) -> int:
    """Draw features of videos in the plane, coloured by class.

    The features before the classifier's last layer are brought into the plane by t-SNE, so that neighbours stay
    neighbours. Without videos those of the run's own test split (run.json beside the checkpoint) are drawn. The class
    of your own videos is the name of their folder. Exit status 1: a video could not be read.
    """
    from lit_video.inference.predict import load, predict  # here, because importing torch takes seconds
    from lit_video.inference.projection import project, scatter
    from lit_video.inference.ranking import label_name
    from lit_video.inference.videos import find_videos, own_folder
    from lit_video.video.trained_on import said

    trained = load(arguments.ckpt)
    if arguments.videos:
        records = find_videos(arguments.videos, arguments.fps)
        classes = [own_folder(record.path) for record in records]
    else:
        records = _test_split(settings_of(arguments.ckpt))
        classes = [label_name(record, trained.class_names) for record in records]
    found = predict(trained, records, 1, evaluation(arguments))
    read = [name for record, name in zip(records, classes, strict=True) if record.path not in found.broken]
    for path, reason in found.broken.items():
        print(printable(f"{path}: {reason}"), file=sys.stderr)
    places = project(found.features.numpy(), arguments.seed)
    known = [one.trained_on for one in found.ranked]
    title = f"t-SNE of the features of {len(read)} videos\n{arguments.ckpt}"
    title += f"\nhollow: {said(known)}" if said(known) else ""
    with writing("--output", arguments.output):
        ending, hollow = arguments.output.suffix[1:].lower(), [*map(bool, known)]
        write_bytes(arguments.output, scatter(places, read, title, ending, hollow))
    print("; ".join(filter(None, [f"wrote {arguments.output}", said(known)])), file=sys.stderr)
    return 1 if found.broken else 0


def _test_split(config: Path) -> list[VideoRecord]:
    """Return the test videos of a run's own data set."""
    if not config.is_file():
        raise UserError(f"{config}: no such file; give videos, or the last.ckpt in its run's folder")
    from lit_video.training.cli import CheckCLI, user_errors
    from lit_video.training.recorded import run_flags

    with user_errors(lambda key: str(config)):
        data = CheckCLI(run_flags(config)).datamodule
        data.prepare_data()
        data.check()
        return list(data.records("test"))
