"""The ``attention`` command: what a model attends to, as a picture. Imports no torch by itself."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lit_video.commands.attention_of_test import draw_test
from lit_video.commands.checkpoint import add_checkpoint
from lit_video.commands.parser import Parser, check_file, positive, positive_number, writing
from lit_video.errors import UserError
from lit_video.inference.formats import FIGURES, MOVING, STILL
from lit_video.utils.did_you_mean import did_you_mean
from lit_video.utils.files import write_bytes

if TYPE_CHECKING:
    from lit_video.inference.checkpoints import TrainedModel
    from lit_video.modules import VideoClassifier
    from lit_video.video.clips import VideoRecord

DESCRIPTION = """Where a trained model looks in a video: attention rollout from what is classified back to the patches
of every frame, in the centre view of the video. As a picture (.png), or moving (.gif, .mp4). With --heads, each head of
the last layer alone (.png). Without a video, of the run's test: a picture of each class into the folder -o, the videos
that the test got wrong first. With --heads and without a video, of an X-ViT: which frames every head reads its channels
from; a row of a table instead of a checkpoint if you like."""


def attention(argv: list[str]) -> int:
    """Draw attention; returns the exit status."""
    arguments = _arguments(argv)
    if arguments.video is None and not arguments.heads:
        return draw_test(arguments)
    content = _maps(arguments) if arguments.video else _channels(arguments)
    with writing("--output", arguments.output):
        write_bytes(arguments.output, content)
    print(f"wrote {arguments.output}", file=sys.stderr)
    return 0


def _maps(arguments: Namespace) -> bytes:
    # here, because importing torch takes seconds
    from lit_video.inference.attention_maps import Follow, attention_of_heads, load_with_attention, maps_of, one_video
    from lit_video.inference.attention_picture import heads_picture, moving, picture
    from lit_video.inference.moving_picture import encoded

    (record,) = one_video(arguments.video, arguments.fps)
    trained = load_with_attention(arguments.ckpt)
    label, ending = _label(arguments, record, trained), arguments.output.suffix.lower()
    if arguments.heads:
        return heads_picture(attention_of_heads(trained, record, label, arguments.device))
    follow = Follow(arguments.token, arguments.layers == "last")
    maps = maps_of(trained, record, follow, label, arguments.device)
    return encoded(moving(maps), ending) if ending in MOVING else picture(maps)


def _label(arguments: Namespace, record: VideoRecord, trained: TrainedModel) -> str | None:
    """The true class: as given, or the video's folder.

    Raises:
        UserError: the model has no such class.
    """
    from lit_video.inference.attention_maps import folder_class

    given, names = arguments.label, trained.class_names
    if given is None:
        return folder_class(record.path, trained)
    if isinstance(names, list) and given not in names:
        raise UserError(f"--label {given}: no class of the model{did_you_mean(given, names)}; it has {_some(names)}")
    return str(given)


def _some(names: list[str]) -> str:
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _channels(arguments: Namespace) -> bytes:
    from lit_video.inference.heads_picture import heads_figure
    from lit_video.utils.figures import content_of, run_name

    name = str(run_name(arguments.ckpt) if arguments.ckpt else f"{arguments.config[0]}: row {arguments.row}")
    model = _model(arguments)
    try:
        figure = heads_figure(model, name)
    except ValueError as error:
        raise UserError(f"--heads: {error}") from error
    return content_of(figure, arguments.output.suffix.removeprefix("."))


def _model(arguments: Namespace) -> VideoClassifier:
    """The model of the checkpoint, or of the row of the table, that one without weights.

    Raises:
        UserError: there is none, or a setting is wrong.
    """
    if arguments.ckpt is not None:
        from lit_video.inference.checkpoints import load_model
        from lit_video.modules import VideoClassifier

        return load_model(VideoClassifier, arguments.ckpt)
    from lit_video.training.request import build_request
    from lit_video.training.run import build_row

    request = build_request(arguments.config, [arguments.row])
    return build_row(request, request.rows[0], 0).model


def _arguments(argv: list[str]) -> Namespace:
    parser = Parser("attention", DESCRIPTION)
    parser.add_argument("video", nargs="?", metavar="VIDEO", help="or a folder of pictures, with --fps")
    add_checkpoint(parser)
    parser.add_argument(
        "--output",
        "-o",
        type=Path,
        metavar="FILE|DIR",
        help=".png, .gif or .mp4; of the test a folder (default attention.png, heads.png, or attention)",
    )
    parser.add_argument("--label", metavar="CLASS", help="the true class (default: the video's folder, if it is one)")
    parser.add_argument(
        "--layers",
        choices=["all", "last"],
        default="all",
        help="follow attention through all layers of the encoder (default), or through the last one only",
    )
    parser.add_argument(
        "--token",
        type=_patch,
        metavar="T,ROW,COLUMN",
        help="follow it from this patch of the last layer, counted from 0, instead of from what is classified",
    )
    parser.add_argument(
        "--heads",
        action="store_true",
        help="of a video: each head of the last layer; without one, of an X-ViT: which frames each head reads",
    )
    parser.add_argument("--each", type=positive, default=3, metavar="N", help="videos of each class of the test (3)")
    parser.add_argument("--config", "-c", action="append", type=Path, metavar="TABLE.yaml", help="with --heads")
    parser.add_argument("--row", metavar="NAME|INDEX", help="of the table, with --heads")
    parser.add_argument("--fps", type=positive_number, metavar="N", help="of a folder of pictures")
    parser.add_argument("--device", choices=["cpu", "cuda"], help="default: cuda where there is one")
    arguments = parser.parse_intermixed_args(argv)
    name = "heads.png" if arguments.heads else "attention.png" if arguments.video else "attention"
    arguments.output = arguments.output or Path(name)
    _check(arguments)
    return arguments


def _check(arguments: Namespace) -> None:
    """Refuse flags that do not go together.

    Raises:
        UserError: they do not.
    """
    if arguments.heads and (arguments.token or arguments.layers != "all"):
        raise UserError("--heads: is about the last layer; leave out --token and --layers")
    of_model = arguments.heads and arguments.video is None
    if of_model:
        _check_model(arguments)
    elif arguments.config or arguments.row:
        raise UserError("--config, --row: are for --heads; maps of a video need a trained model, --ckpt RUN/last.ckpt")
    elif arguments.ckpt is None:
        raise UserError("--ckpt: give a run's last.ckpt")
    if arguments.video is None and (given := next((x for x in ("label", "token") if getattr(arguments, x)), None)):
        raise UserError(f"--{given}: is about one video; give it")
    if arguments.video is not None or of_model:
        allowed = FIGURES if of_model else STILL if arguments.heads else STILL + MOVING
        if arguments.output.suffix.lower() not in allowed:
            raise UserError(f"--output {arguments.output}: ends in none of {', '.join(allowed)}")
        check_file("--output", arguments.output)
    elif arguments.output.suffix.lower() in STILL + MOVING:
        raise UserError(
            f"--output {arguments.output}: without a video it is a folder of pictures; give one, or a video"
        )


def _check_model(arguments: Namespace) -> None:
    if (arguments.ckpt is None) == (arguments.config is None):
        raise UserError("--heads: give either --ckpt RUN/last.ckpt, or --config TABLE.yaml --row NAME")
    if (arguments.config is None) != (arguments.row is None):
        raise UserError("--heads: --config and --row belong together")
    if "," in (arguments.row or ""):
        raise UserError(f"--row {arguments.row}: the heads of one row are drawn; give one")


def _patch(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if len(parts) != 3 or not all(part.isdecimal() for part in parts):
        raise ArgumentTypeError(f"is {text}, expected frame, row and column of a patch, such as 0,3,2")
    return tuple(map(int, parts))
