"""The ``test`` command: a model on all views of every test video."""

from argparse import Namespace
from contextlib import nullcontext
from pathlib import Path

from lit_video.commands.arguments import add_settings, add_shared
from lit_video.commands.parser import Parser
from lit_video.errors import UserError, one_line
from lit_video.runs.checkpoint import WAYS, settings_of
from lit_video.training.request import setting_flags
from lit_video.weights.hub import find


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("--ckpt RUN --order shuffled", "--weights hub:timesformer-k400 --data.root DIR")
    add_shared(parser, "--ckpt", "--scheme", "--config")
    text = "published weights, with the settings of their evaluation"
    parser.add_argument("--weights", metavar="hub:NAME", help=text)
    orders = ["forward", "reversed", "shuffled", "static"]
    parser.add_argument("--order", choices=orders, help="order of the frames (default: forward)")
    add_settings(parser, "test", more=["--seed_everything", "--print_config"])


def run(arguments: Namespace) -> int:
    """Evaluate a run, or published weights, on the test videos: all views of each."""
    flags, checkpoint = _lightning_arguments(arguments)
    from lit_video.inference.checkpoints import no_larger_than, read_checkpoint
    from lit_video.training.callbacks.finite import refuse_not_finite
    from lit_video.training.cli import VideoCLI, refuse_ignored, user_errors
    from lit_video.video.trained_on import said, seen

    stored = read_checkpoint(checkpoint)["state_dict"] if checkpoint else {}
    argv = ["test", *flags]
    refuse_ignored(argv, "test")
    try:
        with user_errors(lambda key: "test"), no_larger_than(stored) if stored else nullcontext():
            cli = VideoCLI([*argv, "--trainer.logger=false", "--verbose=false"], execute=True)
    except RuntimeError as error:  # names or shapes differ
        raise UserError(f"--ckpt: {checkpoint} does not load into this model: {one_line(error)[:200]}") from error
    metrics = {key: float(value) for key, value in cli.trainer.callback_metrics.items()}
    refuse_not_finite(metrics, f"test of {checkpoint or 'these weights'}")
    if cli.trainer.is_global_zero:
        known = said(seen(cli.model.trained_on, cli.datamodule.records("test")))
        print(f"{int(metrics.pop('test/videos', 0))} videos, their frames {cli.datamodule.order}")
        for key, value in metrics.items():
            if not (cli.model.few_classes and key.endswith("_top5")):
                print(", ".join(filter(None, [f"  {key} {value:.2f}", known])))  # two decimals, like the papers
    return 0


def _lightning_arguments(arguments: Namespace) -> tuple[list[str], Path | None]:
    """Return LightningCLI's arguments and the file of the checkpoint; without one there must be pretrained weights.

    ``--weights hub:NAME`` becomes the settings of its published evaluation, ``--order`` a setting of the data, and a
    checkpoint brings the settings of its run if no others are given. The user's settings come after them.
    """
    flags = [f"--config={path}" for path in arguments.config] + arguments.settings
    if arguments.weights:
        flags = [*setting_flags(find(arguments.weights).settings), f"--model.weights={arguments.weights}", *flags]
    if arguments.order:
        flags.append(f"--data.order={arguments.order}")
    names = {flag.split("=")[0] for flag in flags}
    checkpoint: Path | None = arguments.ckpt
    if checkpoint is None:
        if not any(name.endswith(".weights") for name in names):
            raise UserError(f"--ckpt: {WAYS}")
        return flags, None
    own = settings_of(checkpoint)
    if not arguments.config and own.is_file():
        from lit_video.training.recorded import run_flags  # here, because importing torch takes seconds

        flags = [*run_flags(own, flags), *flags]
    elif not arguments.config and not {"--data", "--model"} <= names:
        raise UserError(f"--ckpt {checkpoint}: {own} does not exist, which holds its settings; give --config")
    return [*flags, f"--ckpt_path={checkpoint}"], checkpoint
