"""The ``predict`` command: classes of the user's own videos, whole or frame by frame as a stream."""

from __future__ import annotations

import csv
import sys
from argparse import Namespace
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from lit_video.commands.arguments import (
    add_evaluation,
    add_output,
    add_shared,
    evaluation,
    new_file,
    positive,
    positive_number,
    writing,
)
from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.runs.checkpoint import settings_of
from lit_video.runs.files import MISTAKES
from lit_video.utils.text import printable

if TYPE_CHECKING:
    from lit_video.inference.predict import Evaluation, TrainedModel
    from lit_video.video.clips import VideoRecord

COLUMNS = ("path", "seconds", "task", "rank", "name", "probability", "trained_on")  # a stream's columns


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("--ckpt RUN videos -o names.csv --top 1", "--ckpt RUN VIDEO --stream")
    add_shared(parser, "videos", nargs="+", help="a folder: all videos below it")
    add_shared(parser, "--ckpt", required=True)
    add_shared(parser, "--scheme")
    parser.add_argument("--top", type=positive, metavar="K", help="classes to name (default: 5; of a stream 1)")
    add_output(parser, "FILE", endings=[".csv"])
    text = "write the input of the classifier's last layer, averaged over views, and the logits"
    parser.add_argument("--features", type=new_file("--features", ".npz"), metavar="FILE", help=text)
    text = "causal X-ViT only: write a CSV line per frame during decoding, predicted from all frames so far"
    parser.add_argument("--stream", action="store_true", help=text)
    text = "frames per second of a stream (default: as in its clips)"
    parser.add_argument("--rate", type=positive_number, metavar="N", help=text)
    add_evaluation(parser)


def run(arguments: Namespace) -> int:
    """Predict names and probabilities for your own videos.

    Only the checkpoint of a run is needed: it holds the class names and the clip settings. A video that
    cannot be read is listed with the reason, the others are predicted, and the exit status is 1.
    """
    from lit_video.inference.predict import load  # here, because importing torch takes seconds
    from lit_video.inference.videos import find_videos
    from lit_video.video.trained_on import said

    _check(arguments)
    records, options = find_videos(arguments.videos, arguments.fps), evaluation(arguments)
    predict = _predict_streams if arguments.stream else _predict_videos
    broken = predict(arguments, trained := load(arguments.ckpt), records, options)
    if how_many := said(trained.saw(records)):
        tested = settings_of(arguments.ckpt).with_name(MISTAKES)
        advice = f"; mistakes of its test: {tested}" if tested.is_file() else ""
        print(printable(f"{how_many}: right answers there say nothing about new videos{advice}"), file=sys.stderr)
    for line in broken:
        print(printable(line), file=sys.stderr)
    if broken:
        print(f"{len(broken)} of {len(records)} videos could not be read", file=sys.stderr)
    return 1 if broken else 0


def _check(arguments: Namespace) -> None:
    """Refuse flags that do not go together."""
    if arguments.rate is not None and not arguments.stream:
        raise UserError("--rate: goes with --stream only; give that too")
    for name in ("clips", "features"):
        if arguments.stream and getattr(arguments, name) is not None:
            raise UserError(f"--{name}: does not go with --stream, which predicts after every frame")


def _predict_videos(
    arguments: Namespace, trained: TrainedModel, records: list[VideoRecord], options: Evaluation
) -> list[str]:
    """Print a table, write the files of the other flags; gives the reasons of videos that cannot be read."""
    from lit_video.inference.predict import predict
    from lit_video.inference.ranking import table_of, write_features, write_ranking

    outputs = predict(trained, records, arguments.top or 5, options)
    if arguments.output:
        with writing("--output", arguments.output):
            write_ranking(arguments.output, outputs.ranked, outputs.broken)
    if arguments.features:
        with writing("--features", arguments.features):
            write_features(arguments.features, outputs.paths, outputs.features, outputs.logits, outputs.class_names)
    if outputs.ranked:
        print(table_of(outputs.ranked))
    _print_written(arguments.output, arguments.features)
    return [f"{path}: {reason}" for path, reason in outputs.broken.items()]


def _predict_streams(
    arguments: Namespace, trained: TrainedModel, records: list[VideoRecord], options: Evaluation
) -> list[str]:
    """Write a line per frame and class as they come, to the file or the terminal."""
    from lit_video.inference.ranking import YES, rank_rows
    from lit_video.inference.streaming import stream_predictor
    from lit_video.video.decoding import DecodeError

    predictor = stream_predictor(trained, options, arguments.top or 1, arguments.rate)
    broken, shown = [], str if arguments.output or not sys.stdout.isatty() else printable
    path: Path | None = arguments.output
    with ExitStack() as stack:
        file: TextIO = sys.stdout
        if path:
            stack.enter_context(writing("--output", path))
            file = stack.enter_context(path.open("w", newline="", encoding="utf-8", errors="surrogateescape"))
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        for record, known in zip(records, trained.saw(records), strict=True):
            try:
                for seconds, ranked in predictor(record):
                    lines = ((record.path, f"{seconds:.3f}", *row, YES[known]) for row in rank_rows(ranked))
                    rows.writerows([shown(str(cell)) for cell in line] for line in lines)
                    file.flush()
            except DecodeError as error:
                broken.append(str(error))
    _print_written(arguments.output)
    return broken


def _print_written(*paths: Path | None) -> None:
    if written := [str(path) for path in paths if path]:
        print(printable(f"wrote {' and '.join(written)}"), file=sys.stderr)
