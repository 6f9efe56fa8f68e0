"""Choice of the length of training, from the speed at which this machine trains the model."""

import inspect
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from lit_video import modules
from lit_video.datamodules.base import SOME
from lit_video.datamodules.features import RANDOM
from lit_video.engine.frame_features import takes_little
from lit_video.engine.step_times import Pace
from lit_video.network.aggregation import Probe
from lit_video.network.vit import ViTSize
from lit_video.own_videos.choices import Choice
from lit_video.own_videos.starts import Start
from lit_video.runs.predictions import ORDERS
from lit_video.schemes.own_classes import import_named
from lit_video.settings.effects import of_group, picked
from lit_video.utils.clip_shape import as_setting, height_and_width
from lit_video.utils.environment import choose_device, seconds
from lit_video.utils.text import plural

FEWEST_EPOCHS = 10  # epochs
MOST_EPOCHS = 200  # epochs
# optimizer steps for which few videos are shown more often, from scratch (docs/drawn_videos.md, "What they gain")
MOST_STEPS_FROM_SCRATCH = 2500
ENOUGH = 50  # epochs that must fit into the time before clips get more frames or pixels
STEPS = 3
GRADIENT_CLIP = 1.0
# optimizer steps after which four fifths of the validation videos of UTD-MHAD were right: 128 and 432
# (docs/own_videos_measured.md), and some more
STEPS_FROM_SMALL = 150
STEPS_FROM_SCRATCH = 500
PROBE_EPOCHS = 50
VALIDATIONS = 25
MOST_SEARCHED = 1_000_000  # epochs
TEST_ORDERS = "data.test_orders"
ORDERS_SHARE = 0.2  # share of the user's minutes that tests in other orders may take
ORDERS_SECONDS = 60.0  # time that these tests may take in any case


@dataclass(frozen=True)
class Effort:
    """Work of the runs of a plan, and the pace at which this machine does it."""

    pace: Pace
    trainings: Sequence[int]  # training videos of each run
    at_once: int  # runs that train side by side
    batch: int  # clips of a step
    videos: int  # videos that each run reads
    validated: int  # validation videos of each run
    tested: int  # test videos, summed over runs
    views: int  # views of a tested video
    orders: int = 0  # further orders of frames that are tested
    before: float = 0.0  # seconds of work before the runs

    def seconds(self, epochs: int) -> float:
        """Return the seconds of all runs, from their start to the end of their tests."""
        pace = self.pace
        runs = len(self.trainings)
        steps = epochs * sum(videos // self.batch for videos in self.trainings)
        validations = runs * (epochs // interval(epochs)) if self.validated else 0

        # a run tests its test videos and some training videos; these again as single frames, if that takes little time
        learned = self.views * sum(min(videos, SOME) for videos in self.trainings)
        views = validations * self.validated + self.views * self.tested + learned
        other_views = self.views * self.tested * self.orders
        stages = validations + runs * (2 + self.orders)
        test_seconds = self.views * self.tested * pace.other_view / runs
        if self.orders and takes_little(learned * pace.other_view / runs, test_seconds):
            other_views += learned
            stages += runs

        of_runs = runs * (pace.start + self.videos * pace.first_read) + steps * pace.step
        of_runs += views * pace.view + other_views * pace.other_view + stages * pace.stage
        return self.before + of_runs / runs * math.ceil(runs / self.at_once)

    def epochs(self, seconds: float) -> int:
        """Return the most epochs that fit into some seconds, 0 if none do."""
        return bisect_right(range(1, MOST_SEARCHED), seconds, key=self.seconds)


def interval(epochs: int) -> int:
    """Return the epochs from one validation to the next."""
    return max(1, epochs // VALIDATIONS)


def built(
    model: str, settings: Mapping[str, Any], data: Mapping[str, Any], *, classes: int, row: Any = None
) -> nn.Module:
    """Build the network that ``fit`` trains for a table's ``row``, without loading weights."""
    changes = (row or {}).get("set", {})
    kind = getattr(modules, changes.get("model", model))

    # leave out settings that the class lacks, as fit does
    settings_of_row = {**settings, **of_group(changes, "model")}
    arguments = picked(settings_of_row, inspect.signature(kind).parameters)
    if isinstance(arguments.get("size"), Mapping):
        arguments["size"] = ViTSize(**arguments["size"])
    import_named(arguments)

    module = kind(
        num_classes=classes,
        num_frames=data["num_frames"],
        image_size=as_setting(data["image_size"]),
        **arguments,
    )
    net: nn.Module = module.network
    return net


def _probe_step(net: nn.Module, data: Mapping[str, Any]) -> float:
    """Measure the seconds of a step of the probe on a :class:`~lit_video.network.transformer.VideoTransformer`."""
    device = choose_device(None)
    net = net.to(device)
    with torch.no_grad():
        features = net.forward_features(_noise(data, 1).to(device))  # type: ignore[operator]
    ones = [1] * (features.ndim - 1)
    clips = features.repeat(data["batch_size"], *ones)
    return min(seconds(lambda: net(clips).sum().backward(), device) for _ in range(STEPS))


def _noise(data: Mapping[str, Any], clips: int) -> torch.Tensor:
    """Return random clips of the data's size."""
    height, width = height_and_width(data["image_size"])
    return torch.rand(clips, 3, data["num_frames"], height, width)


def probed(
    start: Start, videos: int, training: int, *, minutes: float, classes: int
) -> tuple[Start, list[Choice], float]:
    """Put a probe on a frozen backbone: of all tokens if there is time to train it, else of the mean of each frame.

    A small backbone gets a probe that logistic regression fits in seconds.

    Returns:
        The start with the probe, the choices that go with it, and the seconds of a view in the backbone.
    """
    net = built(start.model, start.settings | {"probe": "attentive"}, start.clips, classes=classes)
    clip = _noise(start.clips, 1)
    with torch.no_grad():
        once = min(seconds(lambda: net(clip), torch.device("cpu")) for _ in range(2))
    views = videos * (1 + RANDOM)
    backbone = f"{views} views go through it once, about {views * once:.0f} s on a CPU"

    if start.is_small:
        reason = "a linear classifier of the mean over frames and of slow waves over time"
        chosen = [Choice("model.freeze", "backbone", backbone), Choice("model.probe", "waves", reason)]
        return replace(start, probe="waves"), chosen, once

    available = 60 * minutes
    needed = views * once + PROBE_EPOCHS * training * _probe_step(net, start.clips | {"batch_size": 8}) / 8
    probe: Probe = "attentive"
    reason = f"{PROBE_EPOCHS} epochs of a probe of all tokens take {needed:.0f} s of {available:.0f}, with the backbone"
    if needed > available:
        probe = "frames"
        reason += ", so it reads the mean of each frame"

    chosen = [Choice("model.freeze", "backbone", backbone), Choice("model.probe", probe, reason)]
    return replace(start, probe=probe), chosen, once


def other_orders(views: int, seconds: float, minutes: float, *, most: float = math.inf) -> Choice:
    """Choose whether to test with the frames in other orders too.

    Such tests are left out if they take more than a minute and more than ``ORDERS_SHARE`` of the time for training.

    With one repeated frame among the orders, a head on single frames is trained too, in at most twice this time.

    Args:
        views: number of views of all test videos.
        seconds: time of a view.
        minutes: time for training.
        most: seconds that they may take.
    """
    needed = len(ORDERS) * views * seconds
    time = f"about {needed:.0f} s" if needed < 120 else f"about {needed / 60:.0f} minutes"
    tests = "the test again, with reversed and with shuffled frames, and with one repeated frame"
    if needed > min(most, max(ORDERS_SECONDS, ORDERS_SHARE * 60 * minutes)):
        flag = f"--data.test_orders='[{','.join(ORDERS)}]'"
        return Choice(TEST_ORDERS, [], f"not tested, it would take {time}: {tests}; for it give {flag}")
    head = "a head on single frames of the training videos takes up to twice as long"
    return Choice(TEST_ORDERS, [*ORDERS], f"{tests}, {time}; {head}")


def duration_in_words(effort: Effort, epochs: int, *, minutes: float) -> str:
    """Say how long trainings take, with validation and test, and why if it is longer than the user's minutes."""
    needed = effort.seconds(epochs) / 60
    line = f"This takes about {minutes_in_words(needed)}"
    if needed < 1.15 * minutes or needed < 1:
        return line
    least = f"{epochs} epochs are the fewest that are trained"
    if epochs < FEWEST_EPOCHS:
        least = "features of the videos are computed once"
    return f"{line}, not the {minutes:g} of --minutes: {least}. Fewer or shorter videos, or a GPU, take less"


def minutes_in_words(minutes: float) -> str:
    """Return minutes in words, with a decimal below ten."""
    return plural(max(0.1, round(minutes, 1)) if minutes < 9.95 else round(minutes), "minute")


def steps_needed(start: Start) -> int:
    """Return the optimizer steps that a training needs to learn much; 0 if it is not known for this start."""
    if not start.weights:
        return STEPS_FROM_SCRATCH
    return STEPS_FROM_SMALL if start.is_small and not start.probe else 0


def most_epochs(start: Start, training: int, batch: int) -> int:
    """Return the most epochs that are chosen: ``MOST_EPOCHS``, from scratch more until they have enough steps.

    ``training`` is the number of training videos of a run, ``batch`` that of a step.
    """
    if start.weights:
        return MOST_EPOCHS
    return max(MOST_EPOCHS, math.ceil(MOST_STEPS_FROM_SCRATCH * batch / training))


def epochs_needed(start: Start, training: int, batch: int) -> int:
    """Return the epochs of :func:`steps_needed`, at most those of :func:`most_epochs`, with its arguments."""
    needed = math.ceil(steps_needed(start) * batch / training)
    return min(most_epochs(start, training, batch), needed)


def too_short(effort: Effort, needed: int, *, minutes: float) -> str:
    """Say that the user's minutes are too few to learn much, and how many would do; empty if they are enough.

    ``needed`` are the :func:`epochs_needed`.
    """
    enough = effort.seconds(needed) / 60
    if not needed or enough <= minutes:
        return ""
    rounded = max(1, math.ceil(enough))
    least = f"this start needs about {needed} epochs"
    return f"Too short to learn much: {least}, for which give --minutes {rounded} and another --output"


def one_step(effort: Effort) -> list[Choice]:
    """Choose the length of a training whose first step fits the classifier by logistic regression."""
    validations = "after it" if effort.validated else "there are no validation videos"
    return [
        Choice("trainer.max_epochs", 1, "logistic regression fits the classifier in the first step"),
        Choice("trainer.check_val_every_n_epoch", 1, validations),
    ]


def length(effort: Effort, minutes: float, *, most: int) -> list[Choice]:
    """Choose epochs and validation interval of trainings that share ``minutes``; ``most`` are :func:`most_epochs`."""
    fit = effort.epochs(60 * minutes)
    epochs = max(FEWEST_EPOCHS, min(most, fit))
    rate = effort.batch / effort.pace.step
    trainings = plural(len(effort.trainings), "training")
    reason = f"{fit} fit in {plural(minutes, 'minute')} ({trainings}, {rate:.3g} clips/s while they train)"
    if epochs > fit:
        reason = f"the minimum; {reason}"
    elif epochs < fit:
        reason = f"the most that is chosen, for more give --trainer.max_epochs N; {reason}"

    every = epochs
    validations = "there are no validation videos"
    if effort.validated:
        every = interval(epochs)
        validations = plural(epochs // every, "validation")
    chosen = [
        Choice("trainer.max_epochs", epochs, reason),
        Choice("trainer.check_val_every_n_epoch", every, validations),
        Choice("trainer.gradient_clip_val", GRADIENT_CLIP, "as in the tables"),
    ]
    if effort.validated:
        # training does not stop early, as the rate falls until its end
        best = {"monitor": "val/clip_top1", "mode": "max"}
        callbacks = [{"class_path": "ModelCheckpoint", "init_args": best}]
        chosen.append(Choice("trainer.callbacks", callbacks, "the checkpoint of the best validation is tested"))
    return chosen
