"""``predict --every SECONDS``: long videos as timelines."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lit_video.commands.arguments import evaluation, positive_number, writing
from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.utils.text import clock

if TYPE_CHECKING:
    from lit_video.inference.timeline import Timeline


def add_timeline(parser: Parser) -> None:
    """The arguments for timelines."""
    parser.add_argument(
        "--every",
        type=positive_number,
        metavar="SECONDS",
        help="a timeline of each video: the classes of a window that moves on by so much, as segments of one class",
    )
    parser.add_argument(
        "--window", type=positive_number, metavar="SECONDS", help="of that timeline (default: a clip of training)"
    )
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="FILE|DIR",
        help="draw the timeline (.png, .svg, .pdf); of several videos, into a folder",
    )


def check_timeline(arguments: Namespace) -> None:
    """Refuse flags that do not go together.

    Raises:
        UserError: they do not.
    """
    if arguments.rate is not None and not arguments.stream:
        raise UserError("--rate: is of a stream; give --stream too")
    if arguments.every is None:
        if given := [f"--{name}" for name in ("window", "plot") if getattr(arguments, name)]:
            raise UserError(f"{given[0]}: is about a timeline; give --every SECONDS too")
        return
    if arguments.stream:
        raise UserError("--stream, --every: give one of them, a line for every frame or a window that moves on")
    if given := [f"--{name}" for name in ("clips", "features", "draw") if getattr(arguments, name)]:
        raise UserError(f"{given[0]}: has no meaning in a timeline, every window of which is one clip; leave it out")


def predict_timelines(arguments: Namespace) -> int:
    """Print the segments of every video, write and draw timelines; 1 if a video could not be read to its end."""
    from lit_video.inference.checkpoints import load_trained_model  # here, because importing torch takes seconds
    from lit_video.inference.options import FIGURES
    from lit_video.inference.overlay import drawn_paths
    from lit_video.inference.predict import find_videos, unlabelled
    from lit_video.inference.timeline import Steps, timeline
    from lit_video.inference.timeline_output import print_segments, write_timelines

    paths = find_videos(arguments.videos, arguments.fps)
    targets = drawn_paths(arguments.plot, paths, "--plot", FIGURES) if arguments.plot else {}
    trained, options = load_trained_model(arguments.ckpt), evaluation(arguments)
    steps = Steps(arguments.every, arguments.window, arguments.top or 5)
    lines = []
    for i, record in enumerate(unlabelled(paths, arguments.fps), 1):
        name = f"{record.path.name} ({i} of {len(paths)}), windows"
        line = timeline(trained, record, options, steps, name)
        if line.windows and record.path in targets:
            _draw(line, targets[record.path])
        lines.append(line)
    if any(line.windows for line in lines):
        print_segments(lines)
    if arguments.output:
        with writing("--output", arguments.output):
            files = write_timelines(arguments.output, lines)
        print(f"wrote {' and '.join(map(str, files))}", file=sys.stderr)
    if drawn := [targets[line.path] for line in lines if line.windows and line.path in targets]:
        print(f"wrote {drawn[0]}" + (f" and {len(drawn) - 1} more" if len(drawn) > 1 else ""), file=sys.stderr)
    return _report_broken(lines)


def _draw(line: Timeline, path: Path) -> None:
    from lit_video.inference.timeline_output import timeline_figure
    from lit_video.utils.figures import content_of
    from lit_video.utils.files import write_bytes

    with writing("--plot", path):
        write_bytes(path, content_of(timeline_figure(line), path.suffix.removeprefix(".")))


def _report_broken(lines: Sequence[Timeline]) -> int:
    """Say which videos could not be read to their end; the exit status."""
    broken = [line for line in lines if line.broken]
    for line in broken:
        far = f" (read up to {clock(line.windows[-1].end, 1)})" if line.windows else ""
        print(f"{line.path}: {line.broken}{far}", file=sys.stderr)
    if broken:
        print(f"{len(broken)} of {len(lines)} videos could not be read to their end", file=sys.stderr)
    return 1 if broken else 0
