"""``predict --stream``: what a causal X-ViT says of a video while it is decoded."""

from __future__ import annotations

import csv
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from lit_video.commands.arguments import evaluation, positive_number, writing
from lit_video.commands.parser import Parser
from lit_video.errors import UserError

if TYPE_CHECKING:
    from lit_video.inference.streaming import Moment

COLUMNS = ("path", "seconds", "task", "rank", "name", "probability")


def add_stream(parser: Parser) -> None:
    """The arguments for streams."""
    text = "write a line (CSV) for every frame while the video is decoded: of a causal X-ViT, on all it has seen"
    parser.add_argument("--stream", action="store_true", help=text)
    text = "frames per second of a stream (default: as in its clips)"
    parser.add_argument("--rate", type=positive_number, metavar="N", help=text)


def predict_stream(arguments: Namespace) -> int:
    """Write a line per frame and class as they come, to the file or the terminal; 1 if a video could not be read."""
    _check(arguments)
    from lit_video.inference import predict as api  # here, because importing torch takes seconds
    from lit_video.inference.checkpoints import load_trained_model
    from lit_video.inference.streaming import StreamPredictor
    from lit_video.video.decoding import DecodeError

    records = api.unlabelled(api.find_videos(arguments.videos, arguments.fps), arguments.fps)
    trained = load_trained_model(Path(arguments.ckpt))
    predictor = StreamPredictor(trained, evaluation(arguments), arguments.top or 1, arguments.rate)
    broken = 0
    with _lines(arguments.output) as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        for record in records:
            try:
                for moment in _shown(predictor.predict(record), record.path, arguments.output is not None):
                    rows.writerows(_rows(moment))
                    file.flush()
            except DecodeError as error:
                print(error, file=sys.stderr)
                broken += 1
    if arguments.output:
        print(f"wrote {arguments.output}", file=sys.stderr)
    if broken:
        print(f"{broken} of {len(records)} videos could not be read to the end", file=sys.stderr)
    return 1 if broken else 0


def _check(arguments: Namespace) -> None:
    """Refuse what means nothing for a stream, instead of leaving it out."""
    for flag in ("features", "draw", "clips"):
        if getattr(arguments, flag) is not None:
            raise UserError(f"--{flag}: does not go with --stream, which has a prediction for every frame")
    if arguments.output and arguments.output.suffix.lower() != ".csv":
        raise UserError(f"--output {arguments.output}: --stream writes lines: give a file .csv")


@contextmanager
def _lines(path: Path | None) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
        return
    with writing("--output", path), path.open("w", newline="", encoding="utf-8") as file:
        yield file


def _shown(moments: Iterable[Moment], path: Path, progress: bool) -> Iterator[Moment]:
    """The moments, with how far the video is on a terminal whose standard output does not show it."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn

    shown = progress and sys.stderr.isatty()
    columns = (SpinnerColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not shown) as bar:
        task = bar.add_task(str(path), total=None)
        for moment in moments:
            yield moment
            bar.update(task, description=f"{path.name}: {moment.seconds:.1f} s")


def _rows(moment: Moment) -> Iterator[Sequence[object]]:
    for task, ranked in moment.ranked.ranked.items():
        for rank, one in enumerate(ranked, 1):
            yield moment.ranked.path, f"{moment.seconds:.3f}", task, rank, one.name, f"{one.probability:.4f}"
