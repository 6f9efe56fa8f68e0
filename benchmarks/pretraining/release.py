"""Weights of a trial as the package ships them, with their card."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from benchmarks.pretraining.legs import LAST, read_record
from benchmarks.pretraining.trials import Trial
from lit_video.datamodules import Segments, VideoFolder
from lit_video.modules import XViT
from lit_video.utils.class_paths import class_path
from lit_video.utils.files import write_atomically
from lit_video.video.settings import stored_settings
from lit_video.weights.integrity import DIGEST, EXPORTED
from lit_video.weights.reading import tensors_digest

WEIGHTS = "model.safetensors"  # the file in the folder of released weights

CARD = """\
# {name}: a small X-ViT, pretrained on drawn videos

{parameters:.2f} million parameters in half precision; clips of {num_frames} frames of {image_size} pixels. No
filmed video, no picture and no published weights went into it: `benchmarks.pretraining.drawn_videos` draws the videos
(docs/drawn_videos.md of the repository).

- Command: `{command}`
- Commit: {commit}
- Videos: {clips:,}, each shown once; {hours:.1f} hours of one core ({device})
- Targets: {targets}
- On new drawn videos: {metrics}
  ({units})

A start for training on videos of your own: `lit_video finetune VIDEOS --weights {name}`.
What such a start gains on real videos is in docs/drawn_videos.md.

Bad at: what needs knowledge of the world (objects, scenes, faces, text), fine detail (pictures of {image_size} pixels),
events longer than a clip, sound. Its own classes are those of drawn videos, so `predict` with it alone is of no use.
"""


# texts of the card: each target, and the unit of its numbers
TARGET_TEXT = {
    "flow": "the displacement of each patch until the next frame, and labels of what is drawn",
    "labels": "labels of what is drawn",
    "pixels": "pixels of masked patches",
}
UNIT_TEXT = {
    "flow": "% of the displacement that is explained, then % of videos whose label is right",
    "labels": "% of videos whose label is right, and the loss",
    "pixels": "mean squared error of pixels, normalised in each patch",
}


def card(trial: Trial, record: dict[str, Any], parameters: int) -> str:
    """Return the card of a trial's weights, from the record of its training and their number of parameters."""
    metrics = {name.removeprefix("val/"): value for name, value in record["metrics"].items()}
    return CARD.format(
        name=trial.name,
        parameters=parameters / 1e6,
        num_frames=trial.data["num_frames"],
        image_size=trial.data["image_size"],
        command=record["command"],
        commit=record["commit"],
        clips=record["step"] * trial.data["batch_size"],
        hours=record["cpu_seconds"] / 3600,
        device=record["device"],
        targets=TARGET_TEXT[trial.target],
        metrics=", ".join(f"{name} {value:.3g}" for name, value in metrics.items()),
        units=UNIT_TEXT[trial.target],
    )


def release(trial: Trial, folder: Path, output: Path) -> int:
    """Write a trial's weights in half precision with its settings, as ``export --to safetensors`` writes a run's."""
    checkpoint = torch.load(folder / trial.name / LAST, weights_only=True)
    network = trial.network()
    network.load_state_dict(checkpoint["state_dict"])
    weights = {name: value.half().contiguous() for name, value in network.network.state_dict().items()}

    # a clip shows a whole video, and whole pictures, as in `transfer`
    videos = trial.videos
    shape: dict[str, Any] = {"num_frames": videos.num_frames, "image_size": trial.data["image_size"]}
    clips = VideoFolder(".", sampling=Segments(), views="whole", test_crops=1, **shape)
    settings = {
        "model": class_path(XViT),
        "data": stored_settings(clips) | {"mean": videos.mean, "std": videos.std},
        "class_names": videos.class_names,
        "trained_on": "",
        "hyper_parameters": checkpoint["hyper_parameters"],
        "temperature": None,
        DIGEST: tensors_digest(weights),
    }

    record = read_record(folder / trial.name)
    parameters = sum(value.numel() for value in weights.values())

    output.mkdir(parents=True, exist_ok=True)
    write_atomically(output / "README.md", card(trial, record, parameters))
    save_file(weights, output / WEIGHTS, metadata={"format": "pt"})
    write_atomically(output / EXPORTED, json.dumps(settings, indent=1) + "\n")
    print(f"{output}: {checkpoint['global_step']} of {trial.steps} steps")
    return 0
