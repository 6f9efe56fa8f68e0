"""The ``validate`` and ``test`` commands: a checkpoint, or pretrained weights, on a data set."""

import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from lit_video.commands.checkpoint import WAYS, add_checkpoint, settings_of
from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.releases.release import find
from lit_video.training.request import setting_flags


def validate(argv: list[str]) -> int:
    """The centre view of every validation video."""
    return _evaluate(["validate", *argv])


def test(argv: list[str]) -> int:
    """All views of every test video."""
    return _evaluate(["test", *argv])


def _evaluate(argv: list[str]) -> int:
    """``validate`` and ``test`` of LightningCLI, on a run or on pretrained weights."""
    if argv[1:] in (["-h"], ["--help"]):
        _help(argv[0]).print_help()
        return 0
    from lit_video.training.cli import VideoCLI, refuse_ignored, show, user_errors  # importing torch takes seconds

    if {"-h", "--help"} & set(argv):
        return show([argument for argument in argv if argument != "all"])
    argv, checkpoint = _with_checkpoint(_with_order(_with_release(argv)))
    refuse_ignored(argv, argv[0])
    try:
        with user_errors(lambda key: argv[0]):
            cli = VideoCLI([*argv, "--trainer.logger=false", "--verbose=false"], execute=True)
    except (pickle.UnpicklingError, EOFError, zipfile.BadZipFile) as error:
        raise UserError(f"--ckpt: {checkpoint} is damaged, or no checkpoint") from error
    except RuntimeError as error:  # names or shapes differ
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"--ckpt: {checkpoint} does not load into this model: {reason}") from error
    if cli.trainer.is_global_zero:
        _print(cli.trainer.callback_metrics, cli.datamodule.order, cli.model.few_classes)
    return 0


def _print(metrics: Mapping[str, Any], order: str, few_classes: bool) -> None:
    """Two decimals, as the papers print."""
    videos = f"{int(metrics['test/videos'])} videos, " if "test/videos" in metrics else ""
    print(f"{videos}their frames {order}")
    for key, value in metrics.items():
        if key != "test/videos" and not (few_classes and key.endswith("_top5")):
            print(f"  {key} {float(value):.2f}")


def _help(command: str) -> Parser:
    what = "all views of every test video" if command == "test" else "the centre view of every validation video"
    parser = Parser(command, f"A trained model, or published weights, on a data set: {what}.")
    add_checkpoint(parser)
    parser.add_argument("--config", metavar="FILE", help="settings, if not those of the checkpoint's run")
    parser.add_argument(
        "--weights", metavar="hub:NAME", help="published weights, with the settings of their evaluation"
    )
    parser.add_argument("--order", metavar="ORDER", help="of the frames: reversed, shuffled or static")
    parser.add_argument(
        "--data.X, --model.X", metavar="VALUE", dest="_", help="any other setting; --help all lists them"
    )
    return parser


def _with_release(argv: list[str]) -> list[str]:
    """The arguments with ``--weights hub:NAME`` as the settings of its published evaluation; others come after them."""
    parser = Parser(argv[0], add_help=False)
    parser.add_argument("--weights", metavar="hub:NAME")
    arguments, others = parser.parse_known_args(parser.joined(argv))
    if not arguments.weights:
        return argv
    settings = find(arguments.weights).settings
    if not settings:
        raise UserError(f"--weights {arguments.weights}: its settings are not known; give them with --model.weights")
    return [argv[0], *setting_flags(settings), f"--model.weights={arguments.weights}", *others[1:]]


def _with_order(argv: list[str]) -> list[str]:
    """The arguments with ``--order X`` as ``--data.order=X``."""
    from lit_video.video.clips import Order

    parser = Parser(argv[0], add_help=False)
    parser.add_argument("--order", choices=get_args(Order))
    arguments, others = parser.parse_known_args(argv)
    return others + ([f"--data.order={arguments.order}"] if arguments.order else [])


def _with_checkpoint(argv: list[str]) -> tuple[list[str], Path | None]:
    """The arguments with ``--ckpt X`` as Lightning's, and with the settings of its run if none are given; the file.

    It may be left out if there are pretrained weights.
    """
    parser = Parser(argv[0], add_help=False)
    add_checkpoint(parser)
    arguments, others = parser.parse_known_args(argv)
    checkpoint: Path | None = arguments.ckpt
    if checkpoint is None:
        if not any(arg.split("=")[0].endswith(".weights") for arg in argv):
            raise UserError(f"--ckpt: {WAYS}")
        return argv, None
    if not checkpoint.is_file():
        raise UserError(f"--ckpt: {checkpoint}: no such file; {WAYS}")
    given = any(arg.split("=")[0] in {"--config", "-c"} for arg in others)
    own = settings_of(checkpoint)
    settings = ["--config", str(own)] if own.is_file() and not given else []
    return [others[0], *settings, *others[1:], f"--ckpt_path={checkpoint}"], checkpoint
