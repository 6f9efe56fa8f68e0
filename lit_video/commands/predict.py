"""The ``predict`` command: names and probabilities for the user's own videos."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lit_video.commands.arguments import add_evaluation, add_output, evaluation, new_file, positive, writing
from lit_video.commands.checkpoint import add_checkpoint
from lit_video.commands.parser import Parser
from lit_video.commands.predict_stream import add_stream, predict_stream
from lit_video.commands.timeline import add_timeline, check_timeline, predict_timelines
from lit_video.utils.parallel import with_progress

if TYPE_CHECKING:
    from lit_video.inference.ranking import RankedVideo


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("--ckpt RUN videos -o names.csv --top 1", "--ckpt RUN long.mp4 --every 0.5 --plot timeline.png")
    parser.add_argument("videos", nargs="+", metavar="VIDEO|FOLDER|GLOB", help="a folder: all videos below it")
    add_checkpoint(parser, required=True)
    parser.add_argument("--top", type=positive, metavar="K", help="classes to name (default: 5; of a stream 1)")
    add_output(parser, "FILE", endings=[".csv", ".json"])
    parser.add_argument(
        "--features",
        type=new_file("--features", ".npz"),
        metavar="FILE",
        help="write what enters the classifier's last layer, averaged over the views: arrays features, paths, logits, "
        "class_names, tasks (.npz)",
    )
    text = "write the video with its prediction on it, as .mp4, without sound; of several videos, into a folder"
    parser.add_argument("--draw", type=Path, metavar="FILE|DIR", help=text)
    add_stream(parser)
    add_timeline(parser)
    add_evaluation(parser)


def run(arguments: Namespace) -> int:
    """Predict names and probabilities for your own videos.

    The checkpoint of a run is all it takes: it holds the names of the classes and how clips are made. A video that
    cannot be read is listed with the reason, the others are predicted, and the exit status is 1. Of long videos
    --every gives a timeline.
    """
    check_timeline(arguments)
    if arguments.stream:
        return predict_stream(arguments)
    if arguments.every:
        return predict_timelines(arguments)
    from lit_video.inference import predict as api  # here, because importing torch takes seconds
    from lit_video.inference.overlay import drawn_paths
    from lit_video.inference.ranking import print_table, write_features, write_ranking

    paths = api.find_videos(arguments.videos, arguments.fps)
    targets = drawn_paths(arguments.draw, paths) if arguments.draw else {}
    outputs = api.predict(arguments.ckpt, paths, arguments.top or 5, evaluation(arguments))
    if arguments.output:
        with writing("--output", arguments.output):
            write_ranking(arguments.output, outputs.ranked, outputs.broken)
    if outputs.ranked:
        print_table(outputs.ranked)
    if arguments.output:
        print(f"wrote {arguments.output}", file=sys.stderr)
    if arguments.features:
        with writing("--features", arguments.features):
            write_features(arguments.features, outputs.paths, outputs.features, outputs.logits, outputs.class_names)
        print(f"wrote {arguments.features}", file=sys.stderr)
    broken = outputs.broken | dict(_draw_all(outputs.ranked, targets))
    if drawn := [targets[path] for path in targets if path not in broken]:
        print(f"wrote {drawn[0]}" + (f" and {len(drawn) - 1} more" if len(drawn) > 1 else ""), file=sys.stderr)
    for path, reason in broken.items():
        print(f"{path}: {reason}", file=sys.stderr)
    if broken:
        print(f"{len(broken)} of {len(paths)} videos could not be read", file=sys.stderr)
    return 1 if broken else 0


def _draw_all(videos: Sequence[RankedVideo], targets: Mapping[Path, Path]) -> Iterator[tuple[Path, str]]:
    """Write the videos with their predictions; yields those that cannot be decoded to their end, with the reason."""
    from lit_video.inference.overlay import draw
    from lit_video.video.decoding import DecodeError

    drawn = [video for video in videos if video.path in targets]
    for video in with_progress(drawn, len(drawn), "drawing"):
        try:
            draw(video.path, targets[video.path], video.lines())
        except DecodeError as error:
            yield video.path, str(error).removeprefix(f"{video.path}: ")
