"""The settings that suit a user's videos and machine, each with its reason."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lit_video.datamodules.probe import VideoInfo
from lit_video.network.vit import vit_size
from lit_video.own_videos.starts import Start
from lit_video.utils.processes import usable_cores

WHOLE = 12.0  # seconds; a clip shows only a part of longer videos
RATE_OF_WIDTH = 0.0768  # rate of fine-tuning times width: 1e-4 for ViT-B; Adam's goes with 1 / width (arXiv:2203.03466)
FEW = 200  # training videos; with 40, width 48 from STILLS got 14 of 19 test videos right, width 96 from scratch got 8
STILLS = "stills:24576"
STILLS_SIDE, GPU_SIDE, SIDES = 32, 112, (48, 72, 96, 120)  # pixels a side; SIDES are 4, 6, 8 and 10 patches
WHY = {STILLS_SIDE: "the size of the drawn pictures that it learns from first", GPU_SIDE: "a GPU"}
FRAMES, MORE_FRAMES = 8, 16
LEAST_CROP = 0.9  # smallest crop of short trainings, as share of a side; with 0.73, UTD-MHAD was learned half as fast
KEEP = 0.25  # share of the memory, for decoded videos
# the choices that matter most, in words
MAIN = {
    "data.sampling": "clips",
    "data.num_frames": "frames of a clip",
    "data.image_size": "pixels a side",
    "data.augmentation": "mirrored in training",
    "model.weights": "model",
    "model.image_weights": "image model",
    "model.size": "size of the model",
    "model.freeze": "frozen",
    "model.probe": "classifier",
    "trainer.max_epochs": "epochs (rounds through the training videos)",
}
_SIDES = re.compile(r"left|right|clockwise|link|recht|uhrz|gauch|droit|izqu|derech|sinistr|destr|esquerd|direit", re.I)


@dataclass(frozen=True)
class Choice:
    """A setting, such as ``data.num_frames``, its value, and why."""

    key: str
    value: Any
    reason: str


@dataclass(frozen=True)
class Machine:
    """Machine that trains: GPU memory (0 without a GPU) and main memory, both in GB, and usable cores."""

    gpu: float
    memory: float
    cores: int

    @classmethod
    def here(cls) -> "Machine":
        """Describe the machine that runs this."""
        gpu = torch.cuda.get_device_properties(0).total_memory / 1e9 if torch.cuda.is_available() else 0.0
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
        return cls(gpu, memory, usable_cores())

    @property
    def kind(self) -> str:
        """Kind of processor that trains."""
        return "GPU" if self.gpu else "CPU"

    def shared(self, runs: int) -> "Machine":
        """Return one run's share on a CPU, where ``runs`` train side by side; with a GPU, return the whole machine."""
        parts = 1 if self.gpu else min(runs, self.cores)
        return replace(self, memory=self.memory / parts, cores=self.cores // parts)


def choose(
    videos: Sequence[VideoInfo],
    decoded: float,
    pixels: tuple[float, float] | None,
    classes: Sequence[str],
    training: int,
    machine: Machine,
    start: Start,
    size: tuple[int, int],
) -> list[Choice]:
    """Choose the settings of data and model.

    ``decoded`` is the size of all decoded frames in GB; ``pixels`` is the mean and the standard deviation (0 to 1) of
    the training videos' pixels, ``None`` to leave both out; ``training`` is the number of training videos; ``size`` is
    one of :func:`sizes`.
    """
    few = training < FEW and not machine.gpu
    chosen = _clips(videos, start, *size) + _pictures(videos, None if start.weights or few else pixels, classes)
    chosen += _loading(decoded, training, machine, start)
    chosen += _tuning(start) if start.weights else _scratch(machine, few)
    if machine.gpu:
        chosen.append(Choice("trainer.precision", "bf16-mixed", "a GPU"))
    return chosen


def measured(videos: Sequence[VideoInfo], name: str) -> NDArray[Any]:
    """Return one field of every video, such as ``frames``; 0 where it is unknown."""
    return np.array([getattr(video, name) or 0 for video in videos])


def sizes(videos: Sequence[VideoInfo], training: int, machine: Machine, start: Start) -> list[tuple[int, int]]:
    """Return pairs (frames, side), cheapest first: several for image weights or many videos from scratch on a CPU."""
    frames = [FRAMES]
    if not start.sides and np.median(measured(videos, "frames")) >= MORE_FRAMES:
        frames.append(MORE_FRAMES)
    first, *sides = start.sides or SIDES
    if not start.sides and (start.weights or machine.gpu or training < FEW):
        return [(frames[-1], GPU_SIDE if machine.gpu else STILLS_SIDE)]
    shorter = np.median(np.minimum(measured(videos, "width"), measured(videos, "height")))
    return [(count, first) for count in frames] + [(frames[-1], side) for side in sides if side <= shorter]


def _clips(videos: Sequence[VideoInfo], start: Start, count: int, side: int) -> list[Choice]:
    seconds = np.sort(measured(videos, "seconds"))
    frames = int(np.median(measured(videos, "frames")))
    length = f"videos last {seconds[0]:.1f} to {seconds[-1]:.1f} s, half of them up to {np.median(seconds):.1f} s"
    sampling: dict[str, Any] = {"class_path": "Segments"}
    shows = "a whole video"
    test = Choice("data.test_clips", 1, "one clip shows all of a video")
    if seconds[int(0.9 * (len(seconds) - 1))] > WHOLE:
        sampling, shows = {"class_path": "Dense", "init_args": {"seconds": 4.0}}, "4 s"
        test = Choice("data.test_clips", 4, "the test averages four clips, which show more of a video")
    chosen = [Choice("data.sampling", sampling, f"each shows {shows}; {length}"), test]
    chosen += _of_the_weights("data", start.clips)
    if start.weights and not start.sides:
        return chosen
    return [
        *chosen,
        Choice("data.num_frames", count, f"a typical video has {frames}"),
        Choice("data.image_size", side, WHY.get(side, "more needs larger videos, more time (--minutes) or a GPU")),
    ]


def _of_the_weights(group: str, settings: Mapping[str, Any]) -> list[Choice]:
    return [Choice(f"{group}.{key}", value, "taken from the weights") for key, value in settings.items()]


def _pictures(videos: Sequence[VideoInfo], pixels: tuple[float, float] | None, classes: Sequence[str]) -> list[Choice]:
    width, height = int(np.median(measured(videos, "width"))), int(np.median(measured(videos, "height")))
    squeezed = f"whole pictures of {width} x {height}, squeezed into a square, because a crop may cut off the action"
    chosen = [Choice("data.views", "whole", squeezed), Choice("data.test_crops", 1, "one crop holds a whole picture")]
    if pixels:
        mean, std = pixels
        chosen.append(Choice("data.mean", round(mean, 2), "of the pixels of these videos"))
        chosen.append(Choice("data.std", max(0.05, round(std, 2)), "of the pixels of these videos"))
    flip = 0.5
    why = "half of the clips, as no class has a word for a side in its name (left, links, gauche, ...)"
    sided = next(filter(_SIDES.search, classes), None)
    if sided:
        flip, why = 0.0, f"none, because {sided!r} would become another class"
    settings = {
        "crop": "whole",
        "flip": flip,
        "policy": "none",
        "random_erasing": 0.0,
        "mixup": 0.0,
        "label_smoothing": 0.1,
    }
    return [*chosen, Choice("data.augmentation", settings, why)]


def _loading(decoded: float, training: int, machine: Machine, start: Start) -> list[Choice]:
    most = 8 if start.weights else 16
    if machine.gpu > 30:
        most = 32
    chosen = [Choice("data.batch_size", max(2, min(most, training // 4)), f"there are {training} training videos")]
    if start.probe:
        return [*chosen, Choice("data.num_workers", 0, "features are read from files")]
    keep, often = 0.0, "decoded anew every epoch, too large for the memory"
    workers, why = max(1, machine.cores - 1), "one per core"
    if decoded <= KEEP * machine.memory:
        keep, often = round(1.2 * decoded + 0.1, 1), "decoded once and kept in memory"
        if not machine.gpu:
            workers, why = 0, "videos are decoded once"
    return [
        *chosen,
        Choice("data.keep_gb", keep, f"videos are {often}: all together need {decoded:.1f} GB"),
        Choice("data.num_workers", workers, why),
    ]


def _tuning(start: Start) -> list[Choice]:
    lr = round(RATE_OF_WIDTH / vit_size(start.settings.get("size", "B")).embed_dim, 6)
    rate = {"optimizer": "adamw", "lr": lr, "weight_decay": 0.05, "layer_decay": 0.75, "warmup": 0.1}
    reason = "fine-tuning: AdamW, lower rates for wider models and lower layers, a tenth is warm-up"
    if start.probe:
        rate, reason = rate | {"lr": 1e-3, "layer_decay": 1.0}, "a probe alone is trained: AdamW, a tenth is warm-up"
    setting = "model.image_weights" if start.sides else "model.weights"
    return [
        *_of_the_weights("model", start.settings),
        Choice(setting, start.weights, "the start of training"),
        Choice("model.optimization", rate, reason),
    ]


def _scratch(machine: Machine, few: bool) -> list[Choice]:
    size, patch, stills = {"embed_dim": 96, "depth": 4, "num_heads": 4}, 12, list[Choice]()
    if machine.gpu:
        size, patch = {"embed_dim": 384, "depth": 8, "num_heads": 6}, 16
    elif few:
        size, patch = size | {"embed_dim": 48}, 8
        stills = [Choice("model.image_weights", STILLS, "few videos, so it learns from drawn pictures first")]
    rate = {"optimizer": "muon", "lr": 3e-3, "weight_decay": 0.05, "warmup": 0.1, "warmup_start": 0.01}
    return [
        Choice("model.size", size, "small, because it starts from scratch; larger models need --weights"),
        Choice("model.patch_size", patch, "pixels a side"),
        Choice("model.positions", "space-time", "the order of frames may matter"),
        Choice("model.position_std", 0.5, "positions that start near zero barely move in short trainings"),
        Choice("model.dropout", 0.0, "few steps"),
        *stills,
        Choice("model.optimization", rate, "from scratch Muon needs fewer steps than AdamW here"),
    ]


def crop_less(choices: Sequence[Choice]) -> list[Choice]:
    """Return the choices with weaker crops, for a training from scratch that is too short for strong ones."""
    data, less = nested(choices)["data"], [*choices]
    if (side := data["image_size"]) in SIDES:
        i = [choice.key for choice in choices].index("data.augmentation")
        weaker = data["augmentation"] | {"short_side": [side, round(side / LEAST_CROP, 3)]}
        less[i] = replace(choices[i], value=weaker)
    return less


def nested(choices: Sequence[Choice]) -> dict[str, dict[str, Any]]:
    """Return values by group and name: ``{"data": {"num_frames": 8}}``."""
    groups: dict[str, dict[str, Any]] = {"trainer": {}, "data": {}, "model": {}}
    for choice in choices:
        group, _, name = choice.key.partition(".")
        groups[group][name] = choice.value
    return groups


def main_lines(choices: Sequence[Choice]) -> list[str]:
    """Return a line in words for each of the few choices that matter most."""
    chosen = {choice.key: choice for choice in choices}
    lines = []
    for key, words in MAIN.items():
        if key in chosen:
            value, reason = chosen[key].value, chosen[key].reason
            if isinstance(value, int | str) and value != STILLS:
                reason = f"{value}, {reason}"
            lines.append(f"{words}: {reason}")
    return lines


def as_lines(choices: Sequence[Choice]) -> list[str]:
    """Return a line for each choice: setting, value and reason."""
    return [f"{choice.key} {json.dumps(choice.value)}: {choice.reason}" for choice in choices]
