"""The settings that suit a user's videos and machine, each with its reason; whether training may mirror clips."""

import json
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from lit_video.datamodules.probe import VideoInfo
from lit_video.network.vit import vit_size
from lit_video.own_videos.dividing import FEW_TO_TRAIN
from lit_video.own_videos.starts import Start
from lit_video.utils.columns import words_of
from lit_video.utils.processes import usable_cores

FLAG = "--mirror"
# words of actions, postures and things that have no side; in and out, open and close, push and pull may have one where
# the camera stands still, so they are not among them
WITHOUT_SIDE = {
    "a", "an", "and", "the", "with", "while", "no", "not", "none", "other", "nothing", "else", "background", "normal",
    "idle", "still", "empty", "person", "people", "man", "woman", "child", "baby", "hand", "hands", "arm", "arms",
    "leg", "legs", "head", "face", "mouth", "teeth", "hair", "eye", "eyes", "foot", "feet", "body", "knee", "walk",
    "run", "jog", "sprint", "stand", "sit", "lie", "lay", "fall", "stumble", "trip", "slip", "jump", "hop", "leap",
    "squat", "kneel", "crouch", "bend", "crawl", "climb", "dance", "sleep", "rest", "wake", "eat", "drink", "chew",
    "bite", "cough", "sneeze", "yawn", "laugh", "smile", "frown", "cry", "speak", "talk", "sing", "shout", "whisper",
    "read", "write", "draw", "paint", "type", "clap", "applaud", "wave", "nod", "bow", "hug", "kiss", "shake",
    "greet", "pray", "think", "cook", "bake", "chop", "cut", "peel", "stir", "pour", "wash", "rinse", "dry", "brush",
    "clean", "sweep", "mop", "vacuum", "iron", "fold", "sew", "knit", "cycle", "bike", "bicycle", "ride", "swim",
    "dive", "row", "ski", "skate", "surf", "box", "boxing", "kick", "punch", "fight", "wrestle", "throw", "catch",
    "dribble", "shoot", "bowl", "bat", "golf", "tennis", "football", "soccer", "basketball", "volleyball", "baseball",
    "lift", "carry", "hold", "drop", "pick", "stretch", "yoga", "pushup", "situp", "pullup", "plank", "burpee",
    "lunge", "skip", "exercise", "workout", "smoke", "shave", "comb", "dress", "undress", "phone", "call", "text",
    "tickle", "scratch", "massage", "juggle", "fish", "hike", "camp", "garden", "dig", "plant", "water", "feed",
    "pet", "blink", "upright", "up", "down", "standup", "sitdown", "liedown", "laydown", "getup", "lying", "happy",
    "sad", "angry", "fear", "disgust", "surprise", "neutral", "calm", "ball", "dog", "cat", "horse", "bed", "chair",
    "sofa", "table", "floor", "food", "bread", "apple", "book", "paper", "cup", "bottle", "glass", "computer",
    "laptop", "keyboard", "guitar", "piano", "drum", "violin", "flute",
}  # fmt: skip
LONGEST_WHOLE = 12.0  # seconds; a clip shows only a part of longer videos
# learning rate of fine-tuning times the model's width: 1e-4 for ViT-B; Adam's best rate is in proportion to 1 / width
# (arXiv:2203.03466)
RATE_OF_WIDTH = 0.0768
# optimization of small models, from scratch and from weights
MUON = {"optimizer": "muon", "lr": 3e-3, "weight_decay": 0.05, "warmup": 0.1, "warmup_start": 0.01}
# drawn pictures, from which the model first learns if fewer than FEW_TO_TRAIN videos train: with 40 videos a model of
# width 48 then had 14 of 19 test videos right, one of width 96 from scratch had 8
STILLS = "stills:24576"
# sides of clips in pixels
STILLS_SIDE = 32
GPU_SIDE = 112
SIDES = (48, 72, 96, 120)  # 4, 6, 8 and 10 patches
WHY = {STILLS_SIDE: "the size of the drawn pictures that it learns from first", GPU_SIDE: "a GPU"}
FRAMES = 8
MORE_FRAMES = 16
LEAST_CROP = 0.9  # smallest crop in short trainings, as a share of the side; with 0.73, UTD-MHAD took twice as long
KEEP = 0.25  # share of the memory for decoded videos, or for the clips of all decoding processes
LARGE_CLIP = 0.5  # GB of a clip's frames from which on the plan says so
# names in words of the choices that matter most
MAIN = {
    "data.sampling": "clips",
    "data.num_frames": "frames of a clip",
    "data.image_size": "pixels a side",
    "data.augmentation": "mirrored in training",
    "data.num_workers": "decoding processes",
    "model.weights": "model",
    "model.image_weights": "image model",
    "model.size": "size of the model",
    "model.freeze": "frozen",
    "model.probe": "classifier",
    "data.test_orders": "whether time matters",
    "trainer.max_epochs": "epochs (rounds through the training videos)",
}


class Mirroring(NamedTuple):
    """Whether half of the training clips are mirrored, and why."""

    is_on: bool
    reason: str


def mirroring(classes: Sequence[str], asked: bool | None = None) -> Mirroring:
    """Decide whether training mirrors half of the clips, by the names of the classes, and say why.

    No list of words finds all names of sides (L and R, cw and ccw, east and west, letters drawn in the air, any other
    language), and a mirrored clip of one class with the label of another makes both unlearnable. So clips are mirrored
    only if every word of every name is known to have no side, and no two names differ in one word.

    Args:
        classes: names of the classes.
        asked: whether to mirror, where the user decides.
    """
    if asked is not None:
        return Mirroring(asked, f"half of the clips, as {FLAG} asks" if asked else "none, as --no-mirror asks")

    fault = next(filter(None, map(_unknown, classes)), "") or _nearly_equal(classes)
    if fault:
        advice = f"if all classes stay what they are in a mirror, {FLAG}"
        return Mirroring(False, f"none, because {fault}; {advice}")
    return Mirroring(
        True, "half of the clips, as every class is the same from the other side by its name; else --no-mirror"
    )


def _unknown(name: str) -> str:
    """Say why a class is not known to be the same in a mirror; empty if it is."""
    words = words_of(name)
    if not name.isascii():
        return f"{name!r} is in no English letters, so it may name a side"
    if not words or any(word.isdecimal() for word in words):
        return f"{name!r} is a number or has one, so it may name a side or a sign"
    if any(len(word) == 1 and word != "a" for word in words) or words == ["a"]:
        return f"{name!r} has a single letter, which may name a side or be drawn"
    if re.search(r"[^\w\s\-.,()&'/]", name):
        return f"{name!r} has signs, which may point to a side"
    unknown = next((word for word in words if not _has_no_side(word, WITHOUT_SIDE)), "")
    return f"nothing says that {name!r} has no side" if unknown else ""


def _has_no_side(word: str, words: Collection[str]) -> bool:
    """Return whether a word, or the verb or noun that it is a form of, is among some words."""
    forms = {word}
    for ending in ("s", "es", "ed", "ing", "er"):
        if word.endswith(ending):
            stem = word.removesuffix(ending)
            forms |= {stem, f"{stem}e", re.sub(r"(.)\1$", r"\1", stem)}
    return bool(forms & {*words})


def _nearly_equal(classes: Sequence[str]) -> str:
    """Name two classes that differ in one of several words; empty if there are none."""
    words_of_class = {name: words_of(name) for name in classes}
    for first, second in combinations(classes, 2):
        pairs = [*zip(words_of_class[first], words_of_class[second], strict=False)]
        same_length = len(words_of_class[first]) == len(words_of_class[second]) == len(pairs) > 1
        if same_length and sum(word != other for word, other in pairs) == 1:
            return f"{first!r} and {second!r} differ in one word, which may be a side"
    return ""


@dataclass(frozen=True)
class Choice:
    """A setting, such as ``data.num_frames``, its value, and the reason for it."""

    key: str
    value: Any
    reason: str


@dataclass(frozen=True)
class Machine:
    """Machine that trains: memory in GB, of its GPU (0 without one) and of its own, and number of usable cores."""

    gpu: float
    memory: float
    cores: int

    @classmethod
    def here(cls) -> "Machine":
        """Describe the machine that runs this."""
        gpu = 0.0
        if torch.cuda.is_available():
            gpu = torch.cuda.get_device_properties(0).total_memory / 1e9
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
        return cls(gpu, memory, usable_cores())

    @property
    def kind(self) -> str:
        """Kind of processor that trains."""
        return "GPU" if self.gpu else "CPU"

    def side_by_side(self, runs: int) -> int:
        """Return how many of ``runs`` runs train at once: on a CPU one per core, on a GPU one after the other."""
        return 1 if self.gpu else min(runs, self.cores)

    def shared(self, runs: int) -> "Machine":
        """Return the share of one of ``runs`` runs."""
        parts = self.side_by_side(runs)
        return replace(self, memory=self.memory / parts, cores=self.cores // parts)


def choose(
    videos: Sequence[VideoInfo],
    *,
    decoded: float,
    pixels: tuple[float, float] | None,
    mirroring: Mirroring,
    training: int,
    machine: Machine,
    start: Start,
    size: tuple[int, int],
) -> list[Choice]:
    """Choose the settings of data and model.

    Args:
        videos: facts of every video.
        decoded: size of all decoded frames in GB.
        pixels: mean and standard deviation of the training videos' pixels, from 0 to 1; ``None`` to choose neither.
        mirroring: whether training mirrors clips.
        training: number of training videos.
        machine: the machine that trains.
        start: where training starts.
        size: frames and side of a clip, one of :func:`sizes`.
    """
    few = training < FEW_TO_TRAIN and not machine.gpu
    own_pixels = None if start.weights or few else pixels
    num_frames, side = size
    # GB of a clip's decoded frames at most, before they are resized
    clip = float(3e-9 * num_frames * (measured(videos, "width") * measured(videos, "height")).max())
    chosen = [
        *_clips(videos, start, num_frames=num_frames, side=side),
        *_pictures(videos, own_pixels, mirroring),
        *_loading(decoded, training, machine, start=start, clip=clip),
    ]
    if start.weights:
        chosen += tuning(start)
    else:
        chosen += _scratch(start, machine, few=few)
    if machine.gpu:
        chosen.append(Choice("trainer.precision", "bf16-mixed", "a GPU"))
    return chosen


def measured(videos: Sequence[VideoInfo], name: str) -> NDArray[Any]:
    """Return one field of every video, such as ``frames``; 0 where it is unknown."""
    return np.array([getattr(video, name) or 0 for video in videos])


def sizes(videos: Sequence[VideoInfo], training: int, machine: Machine, *, start: Start) -> list[tuple[int, int]]:
    """Return the sizes of clips to choose from, (frames, side), cheapest first.

    There is only one, unless training starts from image weights, or from scratch with many videos on a CPU.
    """
    frames = [FRAMES]
    if not start.sides and np.median(measured(videos, "frames")) >= MORE_FRAMES:
        frames.append(MORE_FRAMES)
    if not start.sides and (start.weights or machine.gpu or training < FEW_TO_TRAIN):
        return [(frames[-1], GPU_SIDE if machine.gpu else STILLS_SIDE)]

    # first more frames, then more pixels, up to those of the videos
    first, *sides = start.sides or SIDES
    shorter = np.median(np.minimum(measured(videos, "width"), measured(videos, "height")))
    cheapest = [(count, first) for count in frames]
    larger = [(frames[-1], side) for side in sides if side <= shorter]
    return cheapest + larger


def _clips(videos: Sequence[VideoInfo], start: Start, *, num_frames: int, side: int) -> list[Choice]:
    """Choose how clips are cut, a whole video or a part if most are long, and their size."""
    seconds = np.sort(measured(videos, "seconds"))
    lengths = f"videos last {seconds[0]:.1f} to {seconds[-1]:.1f} s, half of them up to {np.median(seconds):.1f} s"
    ninth_tenth = seconds[int(0.9 * (len(seconds) - 1))]
    if ninth_tenth <= LONGEST_WHOLE:
        chosen = [
            Choice("data.sampling", {"class_path": "Segments"}, f"each shows a whole video; {lengths}"),
            Choice("data.test_clips", 1, "one clip shows all of a video"),
        ]
    else:
        sampling = {"class_path": "Dense", "init_args": {"seconds": 4.0}}
        chosen = [
            Choice("data.sampling", sampling, f"each shows 4 s; {lengths}"),
            Choice("data.test_clips", 4, "the test averages four clips, which show more of a video"),
        ]
    chosen += _of_the_weights("data", start.clips)
    if start.weights and not start.sides:
        return chosen

    frames_of_video = int(np.median(measured(videos, "frames")))
    why_side = WHY.get(side, "more needs larger videos, more time (--minutes) or a GPU")
    chosen.append(Choice("data.num_frames", num_frames, f"a typical video has {frames_of_video}"))
    chosen.append(Choice("data.image_size", side, why_side))
    return chosen


def _of_the_weights(group: str, settings: Mapping[str, Any]) -> list[Choice]:
    """Take settings from the weights."""
    return [Choice(f"{group}.{key}", value, "taken from the weights") for key, value in settings.items()]


def _pictures(videos: Sequence[VideoInfo], pixels: tuple[float, float] | None, mirroring: Mirroring) -> list[Choice]:
    """Choose how pictures are cropped, normalised and augmented."""
    width = int(np.median(measured(videos, "width")))
    height = int(np.median(measured(videos, "height")))
    squeezed = f"whole pictures of {width} x {height}, squeezed into a square, because a crop may cut off the action"
    chosen = [
        Choice("data.views", "whole", squeezed),
        Choice("data.test_crops", 1, "one crop holds a whole picture"),
    ]
    if pixels:
        mean, std = pixels
        chosen.append(Choice("data.mean", round(mean, 2), "of the pixels of these videos"))
        chosen.append(Choice("data.std", max(0.05, round(std, 2)), "of the pixels of these videos"))

    augmentation = {
        "crop": "whole",
        "flip": 0.5 if mirroring.is_on else 0.0,
        "policy": "none",
        "random_erasing": 0.0,
        "mixup": 0.0,
        "label_smoothing": 0.1,
    }
    chosen.append(Choice("data.augmentation", augmentation, mirroring.reason))
    return chosen


def _loading(decoded: float, training: int, machine: Machine, *, start: Start, clip: float) -> list[Choice]:
    """Choose the batch, the number of decoding processes, and whether decoded videos are kept in memory."""
    largest = 8 if start.weights and not start.is_small else 16
    if machine.gpu > 30:
        largest = 32
    batch_size = max(2, min(largest, training // 4))
    batch = Choice("data.batch_size", batch_size, f"there are {training} training videos")
    if start.probe:
        return [batch, Choice("data.num_workers", 0, "features are read from files")]

    # one process per core, or as many as have room for a clip (of large pictures)
    per_core = max(1, machine.cores - 1)
    processes = max(1, min(per_core, int(KEEP * machine.memory / clip)))
    reason = "one per core" if processes == per_core else "as many as the memory has room for"
    if clip > LARGE_CLIP or processes < per_core:
        reason += f": the frames of a clip take {clip:.1f} GB in each, as large as they are stored"
    workers = Choice("data.num_workers", processes, reason)

    need = f"all together need {decoded:.1f} GB"
    if decoded > KEEP * machine.memory:
        keep = Choice("data.keep_gb", 0.0, f"videos are decoded anew every epoch, too large for the memory: {need}")
        return [batch, keep, workers]

    keep_gb = round(1.2 * decoded + 0.1, 1)
    keep = Choice("data.keep_gb", keep_gb, f"videos are decoded once and kept in memory: {need}")
    if not machine.gpu:
        workers = Choice("data.num_workers", 0, "videos are decoded once")
    return [batch, keep, workers]


def tuning(start: Start) -> list[Choice]:
    """Choose the model and the optimization of a training that starts from weights."""
    width = vit_size(start.settings.get("size", "B")).embed_dim
    adamw = {
        "optimizer": "adamw",
        "lr": round(RATE_OF_WIDTH / width, 6),
        "weight_decay": 0.05,
        "layer_decay": 0.75,
        "warmup": 0.1,
    }
    optimization: dict[str, Any]
    if start.is_regression:
        optimization = {"optimizer": "logistic"}
        reason = "logistic regression, fitted in one step; its penalty is chosen within the training videos"
    elif start.probe:
        optimization = adamw | {"lr": 1e-3, "layer_decay": 1.0}
        reason = "a probe alone is trained: AdamW, a tenth is warm-up"
    elif start.is_small:
        optimization = MUON
        reason = "a small model: Muon at the rate of a training from scratch, a tenth is warm-up"
    else:
        optimization = adamw
        reason = "fine-tuning: AdamW, lower rates for wider models and lower layers, a tenth is warm-up"

    weights = "model.image_weights" if start.sides else "model.weights"
    return [
        *_of_the_weights("model", start.settings),
        Choice(weights, start.weights, "the start of training"),
        Choice("model.optimization", optimization, reason),
    ]


def _scratch(start: Start, machine: Machine, *, few: bool) -> list[Choice]:
    """Choose model and optimization of a training from scratch; with few videos, first train on drawn pictures."""
    size = {"embed_dim": 96, "depth": 4, "num_heads": 4}
    patch_size = 12
    first: list[Choice] = []
    if machine.gpu:
        size = {"embed_dim": 384, "depth": 8, "num_heads": 6}
        patch_size = 16
    elif few:
        size["embed_dim"] = 48
        patch_size = 8
        first = [Choice("model.image_weights", STILLS, "few videos, so it learns from drawn pictures first")]
    else:
        reason = "convolutions before the patches learn faster what moves where"
        first = [Choice(f"model.{name}", value, reason) for name, value in start.settings.items()]

    return [
        Choice("model.size", size, "small, because it starts from scratch; larger models need --weights"),
        Choice("model.patch_size", patch_size, "pixels a side"),
        Choice("model.positions", "space-time", "the order of frames may matter"),
        Choice("model.position_std", 0.5, "positions that start near zero barely move in short trainings"),
        Choice("model.dropout", 0.0, "few steps"),
        *first,
        Choice("model.optimization", MUON, "from scratch Muon needs fewer steps than AdamW here"),
    ]


def crop_less(choices: Sequence[Choice]) -> list[Choice]:
    """Return the choices with weaker crops, for a training from scratch that is too short for strong ones."""
    side = nested(choices)["data"]["image_size"]
    if side not in SIDES:
        return [*choices]

    weaker: list[Choice] = []
    for choice in choices:
        if choice.key == "data.augmentation":
            short_side = [side, round(side / LEAST_CROP, 3)]
            choice = replace(choice, value=choice.value | {"short_side": short_side})
        weaker.append(choice)
    return weaker


def nested(choices: Sequence[Choice]) -> dict[str, dict[str, Any]]:
    """Return values by group and name: ``{"data": {"num_frames": 8}}``."""
    groups: dict[str, dict[str, Any]] = {"trainer": {}, "data": {}, "model": {}}
    for choice in choices:
        group, _, name = choice.key.partition(".")
        groups[group][name] = choice.value
    return groups


def main_lines(choices: Sequence[Choice]) -> list[str]:
    """Return a line in words for each of the few choices that matter most."""
    choice_of = {choice.key: choice for choice in choices}
    lines: list[str] = []
    for key, words in MAIN.items():
        if key not in choice_of:
            continue
        choice = choice_of[key]
        if key == "data.num_workers" and "GB" not in choice.reason:  # said of large pictures only
            continue
        is_plain = isinstance(choice.value, int | str) and choice.value != STILLS
        lines.append(f"{words}: {choice.value}, {choice.reason}" if is_plain else f"{words}: {choice.reason}")
    return lines


def as_lines(choices: Sequence[Choice]) -> list[str]:
    """Return a line for each choice: setting, value and reason."""
    return [f"{choice.key} {json.dumps(choice.value)}: {choice.reason}" for choice in choices]
