"""Choice of the length of training, from the speed at which this machine trains the model."""

import inspect
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import nn

from lit_video import modules
from lit_video.datamodules.features import RANDOM
from lit_video.network.vit import ViTSize
from lit_video.own_videos.choices import Choice
from lit_video.own_videos.starts import Start
from lit_video.runs.predictions import ORDERS
from lit_video.schemes.loading import import_named
from lit_video.settings.effects import of_group, picked
from lit_video.utils.clip_shape import as_setting, height_and_width
from lit_video.utils.environment import choose_device, seconds
from lit_video.utils.text import plural

SHARE = 0.7  # share of the time for training steps; the rest is for decoding, validation, test
FEWEST_EPOCHS = 10  # epochs
MOST_EPOCHS = 200  # epochs
# optimizer steps for which few videos are shown more often, from scratch (docs/drawn_videos.md, "What they gain")
MOST_STEPS_FROM_SCRATCH = 2500
ENOUGH = 50  # epochs that must fit into the time before clips get more frames or pixels
STEPS = 3
# optimizer steps after which four fifths of the validation videos of UTD-MHAD were right: 128 and 432
# (docs/own_videos_measured.md), and some more
STEPS_FROM_SMALL = 150
STEPS_FROM_SCRATCH = 500
PROBE_EPOCHS = 50
VALIDATIONS = 25
TEST_ORDERS = "data.test_orders"
ORDERS_SHARE = 0.2  # share of the user's minutes that tests in other orders may take
ORDERS_SECONDS = 60.0  # time that these tests may take in any case


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


def clips_per_second(net: nn.Module, data: Mapping[str, Any], of_features: bool = False) -> float:
    """Measure the training speed in clips per second: the fastest of a few steps on random clips.

    With ``of_features`` only the classifier of a :class:`~lit_video.network.transformer.VideoTransformer` is timed.
    """
    device = choose_device(None)
    net = net.to(device)
    clips = _noise(data, data["batch_size"]).to(device)
    if of_features:
        with torch.no_grad():
            features = net.forward_features(clips[:1])  # type: ignore[operator]
        ones = [1] * (features.ndim - 1)
        clips = features.repeat(len(clips), *ones)

    fastest = min(seconds(lambda: net(clips).sum().backward(), device) for _ in range(STEPS))
    return float(data["batch_size"] / fastest)


def _noise(data: Mapping[str, Any], clips: int) -> torch.Tensor:
    """Return random clips of the data's size."""
    height, width = height_and_width(data["image_size"])
    return torch.rand(clips, 3, data["num_frames"], height, width)


def probed(
    start: Start, videos: int, training: int, *, minutes: float, classes: int
) -> tuple[Start, list[Choice], float]:
    """Put a probe on a frozen backbone: of all tokens if there is time to train it, else of the mean of each frame.

    Returns:
        The start with the probe, the choices that go with it, and the time of a view in the backbone, in seconds.
    """
    net = built(start.model, start.settings | {"probe": "attentive"}, start.clips, classes=classes)
    clip = _noise(start.clips, 1)
    with torch.no_grad():
        once = min(seconds(lambda: net(clip), torch.device("cpu")) for _ in range(2))
    views = videos * (1 + RANDOM)
    backbone = f"{views} views go through it once, about {views * once:.0f} s on a CPU"

    available = 60 * minutes * SHARE
    rate = clips_per_second(net, start.clips | {"batch_size": 8}, of_features=True)
    needed = PROBE_EPOCHS * training / rate
    probe: Literal["attentive", "frames"] = "attentive"
    reason = f"{PROBE_EPOCHS} epochs of a probe of all tokens take {needed:.0f} s of {available:.0f}"
    if needed > available:
        probe = "frames"
        reason += ", so it reads the mean of each frame"

    chosen = [Choice("model.freeze", "backbone", backbone), Choice("model.probe", probe, reason)]
    return replace(start, probe=probe), chosen, once


def other_orders(views: int, seconds: float, minutes: float) -> Choice:
    """Choose whether to test with the frames in other orders too.

    Such tests are left out if they take more than a minute and more than ``ORDERS_SHARE`` of the time for training.

    With one repeated frame among the orders, a head on single frames is trained too, in at most twice this time.

    Args:
        views: number of views of all test videos.
        seconds: time of a view.
        minutes: time for training.
    """
    needed = len(ORDERS) * views * seconds
    time = f"about {needed:.0f} s" if needed < 120 else f"about {needed / 60:.0f} minutes"
    tests = "the test again, with reversed and with shuffled frames, and with one repeated frame"
    if needed > max(ORDERS_SECONDS, ORDERS_SHARE * 60 * minutes):
        flag = f"--data.test_orders='[{','.join(ORDERS)}]'"
        return Choice(TEST_ORDERS, [], f"not tested, it would take {time}: {tests}; for it give {flag}")
    head = "a head on single frames of the training videos takes up to twice as long"
    return Choice(TEST_ORDERS, [*ORDERS], f"{tests}, {time}; {head}")


def duration_in_words(rate: float, training: int, epochs: int, *, minutes: float) -> str:
    """Say how long trainings take, with validation and test, and why if it is longer than the user's minutes."""
    needed = _minutes(rate, training, epochs)
    line = f"This takes about {plural(max(1, round(needed)), 'minute')}"
    if needed < 1.5 * minutes or needed < 1:
        return line
    least = f"{epochs} epochs are the fewest that are trained"
    return f"{line}, not the {minutes:g} of --minutes: {least}. Fewer or shorter videos, or a GPU, take less"


def _minutes(rate: float, training: int, epochs: int) -> float:
    """Return the minutes of a training with validation and test; ``training`` is the number of videos per epoch."""
    return epochs * training / rate / SHARE / 60


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


def too_short(rate: float, training: int, needed: int, *, minutes: float) -> str:
    """Say that the user's minutes are too few to learn much, and how many would do; empty if they are enough.

    ``rate`` is in clips per second; ``training`` is the number of videos per epoch, summed over runs; ``needed`` are
    the :func:`epochs_needed`.
    """
    enough = _minutes(rate, training, needed)
    if enough <= minutes:
        return ""
    rounded = max(1, math.ceil(enough))
    return f"Too short to learn much: this start needs about {needed} epochs, for which give --minutes {rounded}"


def length(rate: float, training: int, minutes: float, *, most: int, validates: bool, runs: int = 1) -> list[Choice]:
    """Choose epochs and validation interval of ``runs`` trainings that share ``minutes``.

    ``rate`` is in clips per second; ``training`` is the number of videos per epoch, summed over runs; ``most`` are the
    :func:`most_epochs`.
    """
    fit = int(60 * minutes * SHARE * rate / training)
    epochs = max(FEWEST_EPOCHS, min(most, fit))
    reason = f"{fit} fit in {plural(minutes, 'minute')} ({plural(runs, 'training')}, {rate:.3g} clips/s)"
    if epochs > fit:
        reason = f"the minimum; {reason}"
    elif epochs < fit:
        reason = f"the most that is chosen, for more give --trainer.max_epochs N; {reason}"

    interval = epochs
    validations = "there are no validation videos"
    if validates:
        interval = max(1, epochs // VALIDATIONS)
        validations = plural(epochs // interval, "validation")
    chosen = [
        Choice("trainer.max_epochs", epochs, reason),
        Choice("trainer.check_val_every_n_epoch", interval, validations),
        Choice("trainer.gradient_clip_val", 1.0, "as in the tables"),
    ]
    if validates:
        chosen.append(_checkpoint())
    return chosen


def _checkpoint() -> Choice:
    """Choose the best checkpoint by validation; training does not stop early, as the rate falls until its end."""
    best = {"monitor": "val/clip_top1", "mode": "max"}
    callbacks = [{"class_path": "ModelCheckpoint", "init_args": best}]
    return Choice("trainer.callbacks", callbacks, "the checkpoint of the best validation is tested")
