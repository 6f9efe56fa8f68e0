"""Transfer of trials to real videos: logistic regression on their frozen features."""

import csv
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning import seed_everything
from numpy.typing import NDArray
from safetensors.torch import load_file
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor
from torchvision.transforms.v2 import functional as F

from benchmarks.harness import provenance
from benchmarks.pretraining.release import WEIGHTS
from benchmarks.pretraining.targets import patch_tokens
from benchmarks.pretraining.trials import PLAN, Trial, read_trial
from benchmarks.transfer import TRAINED
from lit_video.datamodules import Segments, VideoCSV
from lit_video.engine.frame_features import layer_inputs
from lit_video.errors import UserError
from lit_video.modules import XViT
from lit_video.training.command_line import recorded_command
from lit_video.utils.files import write_atomically
from lit_video.utils.text import text_table

PIXELS_SIDE = 12  # side of the small frames beside the trials
FIRST_DAYS = ("20200626", "20200628")  # recordings of room_actions that train
STRENGTHS = (0.001, 0.01, 0.1)  # inverse regularisation of the logistic regression; the best of each set is shown


@dataclass(frozen=True)
class Task:
    """Real videos of training persons or recordings, with the fold that each one is tested in (-1: trains only)."""

    name: str
    clips: Tensor  # uint8 (videos, frames, 3, side, side)
    labels: NDArray[np.int64]
    folds: NDArray[np.int64]


def real_videos(root: Path, num_frames: int, side: int) -> Iterator[Task]:
    """Yield the sets of real videos below a folder, their whole frames squeezed into squares."""
    shape: dict[str, Any] = {"num_frames": num_frames, "image_size": side}
    shape |= {"sampling": Segments(), "views": "whole", "test_crops": 1}
    sources: dict[str, tuple[str, Callable[[str], bool], Callable[[str], int]]] = {
        "utd_mhad": ("person", lambda person: person in TRAINED, TRAINED.index),
        "room_actions": ("recording", lambda recording: recording.startswith(FIRST_DAYS), _number_of),
        "avletters": ("repetition", lambda repetition: repetition in "12", lambda repetition: int(repetition) - 2),
    }
    for name, (column, is_training, fold_of) in sources.items():
        if not (root / name).is_dir():
            continue
        with (root / name / "labels.csv").open(newline="") as file:
            values = {row[column] for row in csv.DictReader(file)}
        wanted: list[str | int] = sorted(value for value in values if is_training(value))
        videos = VideoCSV(
            root=str(root / name),
            train="labels.csv",
            split_column=column,
            draw_column=column,
            train_values=wanted,
            val_values=[],
            **shape,
        )
        records = videos.records("train")
        clips = torch.stack([videos.centre_view(record)[0]["clip"][0, 0] for record in records])
        labels = np.array([record.label for record in records])
        groups = videos.draw_names("train")
        yield Task(name, clips, labels, np.array([fold_of(group) for group in groups]))


def _number_of(recording: str) -> int:
    """Return date and time of a recording's name as one number."""
    date, clock = recording.split("_")[:2]
    return int(date + clock)


def answers(model: Any, features: NDArray[Any], labels: NDArray[Any], folds: NDArray[np.int64]) -> list[bool]:
    """Return which videos a classifier of scikit-learn gets right, each one when its fold is left out of training.

    Videos of fold -1 are always trained on and never tested.
    """
    right: list[bool] = []
    for fold in sorted({*folds.tolist()} - {-1}):
        tested = folds == fold
        model.fit(features[~tested], labels[~tested])
        right += (model.predict(features[tested]) == labels[tested]).tolist()
    return right


def accuracy(features: NDArray[np.float32], task: Task, strength: float) -> float:
    """Return the percentage of left-out videos that logistic regression on features gets right."""
    model = make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=1000))
    return 100 * float(np.mean(answers(model, features, task.labels, task.folds)))


@torch.no_grad()
def features_of(model: XViT, clips: Tensor) -> dict[str, NDArray[np.float32]]:
    """Return frozen features of clips, ``(videos, features)``, by what a name adds: classifier's input, mean patch.

    A target on patches alone leaves class token and temporal attention at their random weights: take the mean patch.
    """
    model.eval()
    network = model.network
    means = []
    with layer_inputs(model.get_classifier()) as inputs:
        for some in torch.split(clips, 32):
            pixels = ((some.float() / 255 - 0.5) / 0.5).transpose(1, 2)
            tokens, grid = network.forward_tokens(pixels)
            network.aggregate(network.readout(tokens, grid, network.norm))
            means.append(patch_tokens(tokens, grid, network.norm).mean((1, 2)))
    return {"": torch.cat(inputs).numpy(), ", mean patch": torch.cat(means).numpy()}


def small_frames(clips: Tensor) -> NDArray[np.float32]:
    """Return the pixels of small frames, ``(videos, pixels)``."""
    small = F.resize(clips.flatten(0, 1), [PIXELS_SIDE, PIXELS_SIDE], antialias=True)
    return np.asarray(small.float().mean(1).reshape(len(clips), -1))


def shape_of(trial: Trial) -> tuple[object, ...]:
    """Return what trials share if their features are compared: the model, and frames and side of a clip."""
    return trial.model, trial.videos.num_frames, trial.data["image_size"]


def random_features(trial: Trial, clips: Tensor) -> dict[str, NDArray[np.float32]]:
    """Return the features that a trial's network gives with random weights, by their name."""
    seed_everything(0, verbose=False)
    return {f"random weights{kind}": features for kind, features in features_of(trial.network(), clips).items()}


def trained_features(trial: Trial, weights: Path, clips: Tensor) -> dict[str, NDArray[np.float32]]:
    """Return the features that a trial's network gives with its released weights, by their name."""
    model = trial.network()
    model.network.load_state_dict({name: value.float() for name, value in load_file(weights).items()})
    return {f"{trial.name}{kind}": features for kind, features in features_of(model, clips).items()}


def transfer(names: list[str], folder: Path, *, videos: Path, output: Path | None) -> int:
    """Show for each trial the share of real videos that its frozen features tell apart.

    Args:
        names: the trials. All have clips of one shape, and models of one size.
        folder: the folder in which ``release`` wrote a folder of weights for each trial.
        videos: the folder of the sets of real videos.
        output: a file of the results, written if given.

    Raises:
        UserError: clips or models of the trials differ, or weights are missing.
    """
    trials = [read_trial(PLAN, name) for name in names]
    weights = {name: folder / name / WEIGHTS for name in names}
    for file in weights.values():
        if not file.is_file():
            raise UserError(f"{file}: no such file; the command release writes it from the folder of a training")
    first = trials[0]
    for trial in trials:
        if shape_of(trial) != shape_of(first):
            raise UserError(f"{trial.name} and {first.name} differ in their clips or models: compare them one by one")

    accuracies: dict[str, dict[str, float]] = {}
    for task in real_videos(videos, first.videos.num_frames, first.data["image_size"]):
        inputs = {"pixels of small frames": small_frames(task.clips)} | random_features(first, task.clips)
        for trial in trials:
            inputs |= trained_features(trial, weights[trial.name], task.clips)
        for name, features in inputs.items():
            best = max(accuracy(features, task, strength) for strength in STRENGTHS)
            accuracies.setdefault(name, {})[task.name] = best
            print(f"{task.name}: {name}: {best:.1f}", flush=True)

    if output:
        command = recorded_command(sys.argv[1:], "python -m benchmarks.pretraining")
        facts = {"accuracies": accuracies} | provenance(command, "cpu")
        write_atomically(output, json.dumps(facts, indent=1) + "\n")

    tasks = sorted(next(iter(accuracies.values())))
    header = ["features", *tasks, "mean"]
    print(text_table("left-out training videos, % right", header, transfer_rows(accuracies, tasks)))
    return 0


def transfer_rows(accuracies: Mapping[str, Mapping[str, float]], tasks: Sequence[str]) -> list[list[str]]:
    """Return the rows of the table of transfer: a kind of features, its accuracy on each set, their mean."""
    rows = []
    for name, found in accuracies.items():
        values = [found[task] for task in tasks]
        rows.append([name, *(f"{value:.1f}" for value in values), f"{np.mean(values):.1f}"])
    return rows
