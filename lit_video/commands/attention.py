"""The ``attention`` command: what a model attends to, as a picture. Imports no torch by itself."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lit_video.commands.checkpoint import add_checkpoint
from lit_video.commands.parser import Parser, check_file, writing
from lit_video.errors import UserError
from lit_video.visual.formats import FIGURES, MOVING, STILL

if TYPE_CHECKING:
    from lit_video.modules import VideoClassifier

DESCRIPTION = """Where a trained model looks in a video: attention rollout from what is classified back to the patches
of every frame, in the centre view of the video. As a picture (.png), or moving (.gif, .mp4). With --heads, of an X-ViT:
which frames every head reads its channels from, which takes no video, and a row of a table instead of a checkpoint if
you like."""


def attention(argv: list[str]) -> int:
    """Draw attention; returns the exit status."""
    arguments = _arguments(argv)
    draw = _draw_heads if arguments.heads else _draw_maps
    draw(arguments)
    print(f"wrote {arguments.output}", file=sys.stderr)
    return 0


def _draw_maps(arguments: Namespace) -> None:
    from lit_video.utils.files import write_bytes  # here, because importing torch takes seconds
    from lit_video.visual.attention_maps import attention_maps
    from lit_video.visual.attention_picture import moving, picture
    from lit_video.visual.moving_picture import encoded

    maps = attention_maps(
        arguments.ckpt, arguments.video, arguments.token, arguments.layers == "last", arguments.device
    )
    ending = arguments.output.suffix.lower()
    content = encoded(moving(maps), ending) if ending in MOVING else picture(maps)
    with writing("--output", arguments.output):
        write_bytes(arguments.output, content)


def _draw_heads(arguments: Namespace) -> None:
    from lit_video.utils.figures import plt, run_name
    from lit_video.visual.heads_picture import heads_figure

    name = str(run_name(arguments.ckpt) if arguments.ckpt else f"{arguments.config[0]}: row {arguments.row}")
    model = _model(arguments)
    try:
        figure = heads_figure(model, name)
    except ValueError as error:
        raise UserError(f"--heads: {error}") from error
    with writing("--output", arguments.output):
        figure.savefig(arguments.output, dpi=150)
    plt.close(figure)


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

    request = build_request(arguments.config, arguments.row)
    return build_row(request, request.rows[0], 0).model


def _arguments(argv: list[str]) -> Namespace:
    parser = Parser("attention", DESCRIPTION)
    parser.add_argument("video", nargs="?", metavar="VIDEO")
    add_checkpoint(parser)
    parser.add_argument(
        "--output", "-o", type=Path, metavar="FILE", help=".png, .gif or .mp4 (default attention.png, or heads.png)"
    )
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
    parser.add_argument("--heads", action="store_true", help="of an X-ViT: which frames each head reads")
    parser.add_argument("--config", "-c", action="append", type=Path, metavar="TABLE.yaml", help="with --heads")
    parser.add_argument("--row", metavar="NAME|INDEX", help="of the table, with --heads")
    parser.add_argument("--device", choices=["cpu", "cuda"], help="default: cuda where there is one")
    arguments = parser.parse_intermixed_args(argv)
    arguments.output = arguments.output or Path("heads.png" if arguments.heads else "attention.png")
    _check(arguments)
    return arguments


def _check(arguments: Namespace) -> None:
    """Refuse flags that do not go together.

    Raises:
        UserError: they do not.
    """
    allowed = FIGURES if arguments.heads else STILL + MOVING
    if arguments.output.suffix.lower() not in allowed:
        raise UserError(f"--output {arguments.output}: ends in none of {', '.join(allowed)}")
    check_file("--output", arguments.output)
    if arguments.heads:
        if arguments.video or arguments.token or arguments.layers != "all":
            raise UserError("--heads: is about the model alone; leave out the video, --token and --layers")
        if (arguments.ckpt is None) == (arguments.config is None):
            raise UserError("--heads: give either --ckpt RUN/last.ckpt, or --config TABLE.yaml --row NAME")
        if (arguments.config is None) != (arguments.row is None):
            raise UserError("--heads: --config and --row belong together")
        return
    if arguments.config or arguments.row:
        raise UserError("--config, --row: are for --heads; maps of a video need a trained model, --ckpt RUN/last.ckpt")
    if arguments.video is None:
        raise UserError("give a video (or --heads); see python -m lit_video attention --help")
    if arguments.ckpt is None:
        raise UserError("--ckpt: give a run's last.ckpt")


def _patch(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if len(parts) != 3 or not all(part.isdecimal() for part in parts):
        raise ArgumentTypeError(f"is {text}, expected frame, row and column of a patch, such as 0,3,2")
    return tuple(map(int, parts))
