"""The ``validate`` and ``test`` commands: a checkpoint, or pretrained weights, on a data set."""

import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from lit_video.commands.checkpoint import WAYS, add_checkpoint, settings_of
from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.training.request import setting_flags
from lit_video.weights.hub import find


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
    from lit_video.training.callbacks.finite import refuse_not_finite
    from lit_video.training.cli import VideoCLI, refuse_ignored, show, user_errors  # importing torch takes seconds

    if {"-h", "--help"} & set(argv):
        return show([argument for argument in argv if argument != "all"])
    argv, checkpoint = _lightning_arguments(argv)
    refuse_ignored(argv, argv[0])
    try:
        with user_errors(lambda key: argv[0]):
            cli = VideoCLI([*argv, "--trainer.logger=false", "--verbose=false"], execute=True)
    except (pickle.UnpicklingError, EOFError, zipfile.BadZipFile) as error:
        raise UserError(f"--ckpt: {checkpoint} is damaged, or no checkpoint") from error
    except RuntimeError as error:  # names or shapes differ
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"--ckpt: {checkpoint} does not load into this model: {reason}") from error
    metrics = {key: float(value) for key, value in cli.trainer.callback_metrics.items()}
    refuse_not_finite(metrics, f"{argv[0]} of {checkpoint or 'these weights'}")
    if cli.trainer.is_global_zero:
        _print(metrics, cli.datamodule.order, cli.model.few_classes)
    return 0


def _print(metrics: Mapping[str, float], order: str, few_classes: bool) -> None:
    """Two decimals, as the papers print."""
    videos = f"{int(metrics['test/videos'])} videos, " if "test/videos" in metrics else ""
    print(f"{videos}their frames {order}")
    for key, value in metrics.items():
        if key != "test/videos" and not (few_classes and key.endswith("_top5")):
            print(f"  {key} {value:.2f}")


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


def _lightning_arguments(argv: list[str]) -> tuple[list[str], Path | None]:
    """The arguments as LightningCLI's, and the file of the checkpoint; without one there must be pretrained weights.

    ``--weights hub:NAME`` becomes the settings of its published evaluation, ``--order`` a setting of the data, and a
    checkpoint brings the settings of its run if no others are given. What the user sets comes after them.
    """
    from lit_video.video.clips import Order

    parser = Parser(argv[0], add_help=False)
    parser.add_argument("--weights", metavar="hub:NAME")
    parser.add_argument("--order", choices=get_args(Order))
    add_checkpoint(parser)
    arguments, (command, *flags) = parser.parse_known_args(parser.joined(argv))
    if arguments.weights:
        settings = find(arguments.weights).settings
        if not settings:
            raise UserError(
                f"--weights {arguments.weights}: its settings are not known; give them with --model.weights"
            )
        flags = [*setting_flags(settings), f"--model.weights={arguments.weights}", *flags]
    if arguments.order:
        flags.append(f"--data.order={arguments.order}")
    names = {flag.split("=")[0] for flag in flags}
    checkpoint: Path | None = arguments.ckpt
    if checkpoint is None:
        if not any(name.endswith(".weights") for name in names):
            raise UserError(f"--ckpt: {WAYS}")
        return [command, *flags], None
    if not checkpoint.is_file():
        raise UserError(f"--ckpt: {checkpoint}: no such file; {WAYS}")
    own = settings_of(checkpoint)
    if own.is_file() and not names & {"--config", "-c"}:
        flags = ["--config", str(own), *flags]
    return [command, *flags, f"--ckpt_path={checkpoint}"], checkpoint
