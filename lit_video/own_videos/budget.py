"""Choose the length of training by the machine's speed, measured with the model to train."""

import inspect
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
from lit_video.schemes.loading import import_named
from lit_video.settings.effects import of_group, picked
from lit_video.utils.clip_shape import as_setting, height_and_width
from lit_video.utils.environment import choose_device, seconds
from lit_video.utils.text import plural

SHARE = 0.7  # share of the time for training steps; the rest is for decoding, validation, test
FEWEST, MOST = 10, 200  # fewest and most epochs
MOST_BLIND = 100  # most epochs without validation, where overfitting would go unseen
ENOUGH = 50  # epochs that must fit before clips get more frames or pixels
STEPS = 3
PROBE_EPOCHS = 50
VALIDATIONS = 25


def built(model: str, settings: Mapping[str, Any], data: Mapping[str, Any], classes: int, row: Any = None) -> nn.Module:
    """Build the network that ``fit`` trains for a table's ``row``, without loading weights."""
    changes = (row or {}).get("set", {})
    kind = getattr(modules, changes.get("model", model))
    # leave out settings that the class lacks, as fit does
    given = picked({**settings, **of_group(changes, "model")}, inspect.signature(kind).parameters)
    if isinstance(given.get("size"), Mapping):
        given["size"] = ViTSize(**given["size"])
    import_named(given)
    clip = {"num_frames": data["num_frames"], "image_size": as_setting(data["image_size"])}
    net: nn.Module = kind(num_classes=classes, **clip, **given).network
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
        clips = features.repeat(len(clips), *[1] * (features.ndim - 1))
    fastest = min(seconds(lambda: net(clips).sum().backward(), device) for _ in range(STEPS))
    return float(data["batch_size"] / fastest)


def _noise(data: Mapping[str, Any], clips: int) -> torch.Tensor:
    return torch.rand(clips, 3, data["num_frames"], *height_and_width(data["image_size"]))


def probed(start: Start, videos: int, training: int, minutes: float, classes: int) -> tuple[Start, list[Choice]]:
    """Choose what a probe on the frozen backbone reads: all tokens if its training fits ``minutes``, else frame means.

    ``training`` is the number of videos per epoch, summed over runs.
    """
    net = built(start.model, start.settings | {"probe": "attentive"}, start.clips, classes)
    clip, available = _noise(start.clips, 1), 60 * minutes * SHARE
    with torch.no_grad():
        once = min(seconds(lambda: net(clip), torch.device("cpu")) for _ in range(2))
    whole = PROBE_EPOCHS * training / clips_per_second(net, start.clips | {"batch_size": 8}, of_features=True)
    probe: Literal["attentive", "frames"] = "attentive"
    views = videos * (1 + RANDOM)
    read = f"{PROBE_EPOCHS} epochs of a probe of all tokens take {whole:.0f} s of {available:.0f}"
    if whole > available:
        probe, read = "frames", f"{read}, so it reads the mean of each frame"
    return replace(start, probe=probe), [
        Choice("model.freeze", "backbone", f"{views} views go through it once, about {views * once:.0f} s on a CPU"),
        Choice("model.probe", probe, read),
    ]


def duration(rate: float, training: int, epochs: int, minutes: float) -> str:
    """Say how long trainings take, validation and test included, and why if that is not what was asked for."""
    needed = epochs * training / rate / SHARE / 60
    line = f"This takes about {plural(max(1, round(needed)), 'minute')}"
    if needed < 1.5 * minutes or needed < 1:
        return line
    least = f"{epochs} epochs are the fewest that are trained"
    return f"{line}, not the {minutes:g} of --minutes: {least}. Fewer or shorter videos, or a GPU, take less"


def length(rate: float, training: int, minutes: float, validates: bool, runs: int = 1) -> list[Choice]:
    """Choose epochs and validation interval of ``runs`` trainings that share ``minutes``.

    ``rate`` is in clips per second; ``training`` is the number of videos per epoch, summed over runs.
    """
    fit, most = int(60 * minutes * SHARE * rate / training), MOST_BLIND
    if validates:
        most = MOST
    epochs = max(FEWEST, min(most, fit))
    reason = f"{fit} fit in {plural(minutes, 'minute')} ({plural(runs, 'training')}, {rate:.3g} clips/s)"
    if epochs > fit:
        reason = f"the minimum; {reason}"
    elif epochs < fit:
        reason = f"the most that is chosen, for more give --trainer.max_epochs N; {reason}"
    every, validations = epochs, "there are no validation videos"
    if validates:
        every = max(1, epochs // VALIDATIONS)
        validations = plural(epochs // every, "validation")
    chosen = [
        Choice("trainer.max_epochs", epochs, reason),
        Choice("trainer.check_val_every_n_epoch", every, validations),
        Choice("trainer.gradient_clip_val", 1.0, "as in the tables"),
    ]
    if not validates:
        return chosen
    best, patience = {"monitor": "val/clip_top1", "mode": "max"}, max(5, round(0.4 * epochs / every))
    callbacks = [
        {"class_path": "ModelCheckpoint", "init_args": best},
        {"class_path": "EarlyStopping", "init_args": best | {"patience": patience}},
    ]
    said = f"the checkpoint of the best validation is tested; {patience} validations without a gain end training"
    return [*chosen, Choice("trainer.callbacks", callbacks, said)]
