"""Test of a run or of published weights on all views of the test videos."""

from __future__ import annotations  # a signature then shows names of types, such as Count

import logging
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from lit_video.api.arguments import File, Files, listed
from lit_video.errors import UserError, one_line
from lit_video.runs.chosen_checkpoint import WAYS, find_checkpoint, record_beside
from lit_video.settings.flags import Settings, UserSetting, as_user_settings
from lit_video.settings.nested import Nested, merged
from lit_video.utils.messages import are_shown
from lit_video.utils.startup import set_up_process
from lit_video.utils.text import Part, Shown, plural
from lit_video.weights.hub import find
from lit_video.weights.integrity import refuse_no_checkpoint

if TYPE_CHECKING:
    from lit_video.experiment.cli import VideoCLI
    from lit_video.runs.predictions import Predictions
    from lit_video.tables.time_use import TimeUse

_logger = logging.getLogger(__name__)

SEED = "seed_everything"


@dataclass(frozen=True, repr=False)
class Measured(Shown):
    """Metrics of a test."""

    metrics: dict[str, float]  # in percent, by name
    videos: int
    order: str  # order of the frames of every clip: as they are, reversed, shuffled, static
    trained_on: str  # how many of the videos the model was trained on, in words; empty if none or unknown
    time: TimeUse | None = None  # use of time by the model, from tests in the orders of ``data.test_orders``

    def parts(self) -> Sequence[Part]:
        """Return the number of videos, the metrics, with two decimals like in the papers, and the use of time."""
        lines = [f"{self.videos} videos, their frames {self.order}"]
        for key, value in self.metrics.items():
            lines.append(", ".join(filter(None, [f"  {key} {value:z.2f}", self.trained_on])))
        if self.time:
            lines += self.time.sentences
        return ["\n".join(lines)]


def test(
    ckpt: File | None = None,
    *,
    weights: str | None = None,
    configs: Files = (),
    settings: Settings = (),
) -> Measured:
    """Test a run or published weights on all views of the test videos.

    With ``data.test_orders``, as of videos of your own, the model is also tested with the frames in these orders:
    ``time`` then says what the model uses of time.

    Args:
        ckpt: a run's folder or checkpoint.
        weights: published weights, ``hub:NAME``, with their settings.
        configs: names or paths of settings files, in place of a run's own settings.
        settings: nested data as in a YAML file, over all others: ``{"data": {"order": "shuffled"}}``.

    Raises:
        UserError: neither a run nor weights are given, a setting is wrong, or the weights do not suit the model.
    """
    set_up_process()
    resolved, checkpoint = _settings(ckpt, weights, listed(configs), user_settings=as_user_settings(settings, [SEED]))

    from lit_video.engine.finite import refuse_not_finite
    from lit_video.experiment.cli import VideoCLI, user_errors
    from lit_video.inference.checkpoints import no_larger_than, read_checkpoint
    from lit_video.training.process_state import process_as_before
    from lit_video.video.trained_on import overlap_in_words, seen

    stored = read_checkpoint(checkpoint)["state_dict"] if checkpoint else {}
    silent = {} if are_shown() else {"enable_progress_bar": False}
    resolved["trainer"] = {**resolved.get("trainer", {}), "logger": False, **silent}
    resolved |= {"ckpt_path": checkpoint and str(checkpoint), "verbose": False}
    began = perf_counter()
    with process_as_before():
        try:
            with user_errors(lambda key: "test"), no_larger_than(stored) if stored else nullcontext():
                cli = VideoCLI({"subcommand": "test", "test": resolved}, execute=True)
        except RuntimeError as error:  # names or shapes of weights differ
            raise UserError(f"--ckpt: {checkpoint} does not load into this model: {one_line(error)[:200]}") from error

        metrics = {key: float(value) for key, value in cli.trainer.callback_metrics.items()}
        refuse_not_finite(metrics, f"test of {checkpoint or 'these weights'}")
        videos = int(metrics.pop("test/videos", 0))
        time = _time_use(cli, checkpoint, perf_counter() - began)
    overlap = overlap_in_words(seen(cli.model.trained_on, cli.datamodule.records("test")))
    return Measured(metrics, videos, cli.datamodule.order, overlap, time)


def _time_use(cli: VideoCLI, checkpoint: Path | None, seconds: float) -> TimeUse | None:
    """Test once more in each order of ``data.test_orders``, and a head on single frames; ``seconds``: of a test.

    Nothing is tested if the test's own frames are not as they are, or if a video may have several labels.
    """
    from lit_video.datamodules.split_test import SplitTest
    from lit_video.engine.frame_features import FrameFeatures
    from lit_video.engine.predictions import evaluated_predictions
    from lit_video.tables.time_use import time_use
    from lit_video.training.one_frame import frame_head

    data = cli.datamodule
    if not data.test_orders or data.order != "forward":
        return None
    draws = data.draws("test")
    forward = evaluated_predictions(cli.model.test_accuracy, data, draws)
    if forward is None:
        return None

    orders = ", ".join(data.test_orders)
    tests = plural(len(data.test_orders), "more test")
    _logger.info(f"{tests}, with frames {orders}: about {len(data.test_orders) * seconds:.0f} s")
    features = FrameFeatures()
    cli.trainer.callbacks.append(features)  # type: ignore[attr-defined]
    changed: dict[str, list[Predictions]] = {}
    for order in data.test_orders:
        cli.trainer.test(cli.model, SplitTest(data, order=order), ckpt_path=checkpoint, verbose=False)
        predictions = evaluated_predictions(cli.model.test_accuracy, data, draws)
        if predictions:
            changed[order] = [predictions]
    head = frame_head(cli.trainer, cli.model, data, checkpoint=checkpoint, features=features)
    return time_use([forward], changed, [head] if head else [])


def test_settings(
    ckpt: File | None = None,
    *,
    weights: str | None = None,
    configs: Files = (),
    settings: Settings = (),
) -> Nested:
    """Return all settings of a test, resolved: see :func:`test`."""
    layers, _ = _settings(ckpt, weights, listed(configs), user_settings=as_user_settings(settings, [SEED]))

    from lit_video.experiment.cli import VideoCLI, user_errors

    with user_errors(lambda key: "test"):
        return VideoCLI(layers).resolved()


def _settings(
    ckpt: File | None, weights: str | None, configs: Sequence[Path], *, user_settings: Sequence[UserSetting]
) -> tuple[Nested, Path | None]:
    """Return the settings of the run, of hub weights or of files, with the user's, and the checkpoint."""
    checkpoint = None if ckpt is None else find_checkpoint(str(ckpt))
    recorded = checkpoint is not None and not configs and record_beside(checkpoint).is_file()
    if checkpoint is not None:
        if not (recorded or configs or {"data", "model"} <= {setting.key for setting in user_settings}):
            own = record_beside(checkpoint)
            raise UserError(f"--ckpt {checkpoint}: {own}, which holds its settings, does not exist; give --config")
        refuse_no_checkpoint(checkpoint)
    elif not weights and not any(setting.key.endswith(".weights") for setting in user_settings):
        raise UserError(f"--ckpt: {WAYS}")

    of_weights: Nested = {}
    if weights:
        release = find(weights)
        if release.inside:
            how = f"lit_video finetune VIDEOS --weights {release.name}"
            raise UserError(f"--weights {weights}: no evaluation is published, they are a start for training: {how}")
        of_weights = {**release.settings, "model.weights": weights}

    # here, because importing torch takes seconds
    from lit_video.experiment.constructors import Constructors
    from lit_video.experiment.ignored import refuse_ignored
    from lit_video.experiment.layers import of_files, with_user_settings
    from lit_video.experiment.recorded import run_settings

    refuse_ignored(configs, [("test", [(setting.key, setting.value) for setting in user_settings])])
    settings: Nested = {}
    if recorded:
        assert checkpoint is not None
        settings = run_settings(record_beside(checkpoint), user_settings)
    settings = with_user_settings(settings, [UserSetting(key, value) for key, value in of_weights.items()])
    settings = merged(settings, of_files(configs), Constructors())
    return with_user_settings(settings, user_settings), checkpoint
