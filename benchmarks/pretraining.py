"""Pretrain small X-ViTs on drawn videos, by the trials of ``pretraining.yaml``, and choose among them by transfer.

``train NAME --folder DIR --minutes 20`` trains a trial in legs: the same command goes on from ``DIR/NAME/last.ckpt``,
to the bit. ``transfer NAME ... --folder DIR --videos DATA`` classifies real videos by logistic regression on the frozen
features. It uses training videos alone: of UTD-MHAD the training persons, each left out in turn; of room_actions the
recordings of the first two days, each left out in turn; of AVLetters repetition 2 after training on repetition 1.
Beside the trials: a network with random weights, and the pixels of small frames.
"""

import csv
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from einops import rearrange
from lightning import LightningModule, Trainer, seed_everything
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import CSVLogger
from numpy.typing import NDArray
from safetensors.torch import save_file
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn
from torchvision.transforms.v2 import functional as F

from benchmarks.harness import parser, provenance, ran
from benchmarks.transfer import TRAINED
from lit_video.datamodules import Segments, VideoCSV, VideoFolder
from lit_video.datamodules.drawn_videos import DrawnVideos
from lit_video.engine.progress import Progress
from lit_video.engine.resumption import ExactResumption
from lit_video.errors import UserError
from lit_video.modules import XViT
from lit_video.modules.optimization import Optimization
from lit_video.network.vit import ViTSize
from lit_video.training.command_line import recorded_command
from lit_video.utils.class_paths import class_path
from lit_video.utils.classes import by_task, per_task
from lit_video.utils.files import write_atomically
from lit_video.utils.text import did_you_mean, text_table
from lit_video.utils.yaml_files import read_yaml
from lit_video.video.settings import stored_settings
from lit_video.weights.integrity import DIGEST, EXPORTED
from lit_video.weights.reading import tensors_digest

PLAN = Path(__file__).with_suffix(".yaml")
LAST = "last.ckpt"
RECORD = "trial.json"
SAVE_EVERY = 300.0  # seconds
PIXELS_SIDE = 12  # side of the small frames beside the trials
FIRST_DAYS = ("20200626", "20200628")  # recordings of room_actions that train
STRENGTHS = (0.001, 0.01, 0.1)  # inverse regularisation of the logistic regression; the best of each set is shown

CARD = """\
# drawn: a small X-ViT, pretrained on drawn videos

{parameters:.2f} million parameters in half precision; clips of {num_frames} frames of {image_size} pixels. No
filmed video, no picture and no published weights went into it: `lit_video.datamodules.drawn_videos` draws the videos
(docs/drawn_videos.md of the repository).

- Command: `{command}`
- Commit: {commit}
- Videos: {clips:,}, each shown once; {hours:.1f} hours of one core ({device})
- Targets: the displacement of each patch until the next frame, and labels of what is drawn. Of new drawn
  videos it explains {flow:.0f} % of the displacement, and has right in %: {tasks}.

A start for training on videos of your own: `lit_video finetune VIDEOS --weights drawn`. It is the default where
VideoMAE cannot be downloaded. What it gains on real videos is in docs/drawn_videos.md.

Bad at: what needs knowledge of the world (objects, scenes, faces, text), fine detail (pictures of {image_size} pixels),
events longer than a clip, sound. Its own classes are those of drawn videos, so `predict` with it alone is of no use.
"""


class MaskedXViT(XViT):
    """X-ViT that fills in masked patches of a clip, the self-supervised target of SimMIM (arXiv:2111.09886).

    All frames hide the same places (tubes of VideoMAE, arXiv:2203.12602), as grey pixels; a linear layer on
    the patches' tokens gives their pixels, normalised in each patch.
    """

    masked = 0.6  #: share of the places

    def __init__(self, *args: Any, patch_size: int, **kwargs: Any) -> None:
        super().__init__(*args, patch_size=patch_size, **kwargs)
        self.patch_size = patch_size
        self.pixels = nn.Linear(self.network.embed.embed_dim, 3 * patch_size**2)

    def loss_of(self, clip: Tensor) -> Tensor:
        """Return the mean squared error of the masked patches of clips ``(b, 3, t, h, w)``."""
        side = self.patch_size
        target = rearrange(clip, "b c t (h p) (w q) -> b t (h w) (p q c)", p=side, q=side)
        target = (target - target.mean(-1, keepdim=True)) / (target.std(-1, keepdim=True) + 1e-3)
        places = target.shape[2]
        height = clip.shape[3] // side

        order = torch.rand(len(clip), places, device=clip.device).argsort(1)
        hidden = order < round(self.masked * places)
        shown = rearrange(~hidden, "b (h w) -> b 1 1 h w", h=height).float()
        seen = clip * shown.repeat_interleave(side, 3).repeat_interleave(side, 4)

        tokens, grid = self.network.forward_tokens(seen)
        tokens = rearrange(self.network.norm(tokens), "b (t n) d -> b t n d", t=grid.t)[:, :, -places:]
        error = (self.pixels(tokens) - target).square().mean(-1)
        return error.mean(1)[hidden].mean()

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        """Return the loss of a batch."""
        loss = self.loss_of(batch["clip"])
        self.log("train/loss", loss, batch_size=len(batch["clip"]))
        return loss

    def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Log the loss of drawn videos that are not trained on."""
        self.log("val/loss", self.loss_of(batch["clip"]), batch_size=len(batch["clip"]))


class FlowXViT(XViT):
    """X-ViT that tells where each patch moves until the next frame, besides the labels of the clip.

    A linear layer on the patches' tokens gives the mean displacement of their pixels.
    """

    unit = 0.05  # displacement of 1, in sides of the picture: about the deviation of drawn videos

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.displacement = nn.Linear(self.network.embed.embed_dim, 2)

    def outputs(self, batch: Any) -> dict[str, Tensor]:
        """Return the logits of a batch, the loss of its flow, and ``still``, that loss if nothing is said to move."""
        network = self.network
        tokens, grid = network.forward_tokens(batch["clip"])
        logits = network.aggregate(network.readout(tokens, grid, network.norm))

        flow = rearrange(batch["flow"], "b t c h w -> b t (h w) c")
        places = flow.shape[2]
        target = flow[..., :2] / self.unit
        known = flow[..., 2]
        patches = rearrange(network.norm(tokens), "b (t n) d -> b t n d", t=grid.t)[:, :, -places:]
        error = nn.functional.huber_loss(self.displacement(patches), target, reduction="none").sum(-1)
        still = nn.functional.huber_loss(torch.zeros_like(target), target, reduction="none").sum(-1)
        return {
            "logits": logits,
            "flow": (error * known).sum() / known.sum(),
            "still": (still * known).sum() / known.sum(),
        }

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        """Return the loss of a batch."""
        outputs = self.outputs(batch)
        labels = self.loss(outputs["logits"], batch["target"])
        loss = labels / self.chance + outputs["flow"]
        values = {"train/loss": loss, "train/labels": labels, "train/flow": outputs["flow"]}
        self.log_dict(values, batch_size=len(batch["clip"]))
        return loss

    @property
    def chance(self) -> float:
        """Cross entropy of guessing all tasks."""
        return sum(math.log(count) for count in by_task(self.num_classes).values())

    def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Log accuracies of each task, and the share of the displacement that is explained."""
        outputs = self.outputs(batch)
        size = len(batch["clip"])
        explained = 100 * (1 - outputs["flow"] / outputs["still"])
        self.log("val/flow", explained, batch_size=size)
        logits = per_task(outputs["logits"], self.num_classes)
        targets = per_task(batch["target"], self.num_classes)
        for task, scores, target in zip(by_task(self.num_classes), logits, targets, strict=True):
            right = (scores.argmax(1) == target).float()
            self.log(f"val/{task}", 100 * right.mean(), batch_size=size)


TARGETS: dict[str, type[XViT]] = {"labels": XViT, "pixels": MaskedXViT, "flow": FlowXViT}


@dataclass(frozen=True)
class Trial:
    """A trial: its target, arguments of DrawnVideos, XViT and Optimization, and the number of clips to train on."""

    name: str
    target: Literal["labels", "pixels", "flow"]
    clips: int
    data: Mapping[str, Any]
    model: Mapping[str, Any]
    optimization: Mapping[str, Any]

    @property
    def videos(self) -> DrawnVideos:
        """The drawn videos."""
        return DrawnVideos(**self.data)

    @property
    def steps(self) -> int:
        """Optimizer steps of the whole training."""
        return self.clips // self.videos.batch_size

    def network(self) -> XViT:
        """Build the network with random weights."""
        videos = self.videos
        size = ViTSize(**self.model["size"])
        others = {name: value for name, value in self.model.items() if name != "size"}
        optimization = Optimization(**self.optimization)
        return TARGETS[self.target](
            videos.num_classes, videos.num_frames, videos.image_size, size=size, optimization=optimization, **others
        )


def read_trial(path: Path, name: str) -> Trial:
    """Return a trial: the shared part of the plan with the trial's changes.

    Raises:
        UserError: the plan has no such trial.
    """
    plan = read_yaml(path)
    if name not in plan["trials"]:
        raise UserError(f"{path}: no trial {name!r}{did_you_mean(name, plan['trials'])}")
    changes = plan["trials"][name]
    base = plan["base"]
    parts = {part: base[part] | changes.get(part, {}) for part in ("data", "model", "optimization")}
    return Trial(name, changes.get("target", base["target"]), changes.get("clips", base["clips"]), **parts)


class Leg(Callback):
    """A stretch of training: saves a checkpoint now and then, and stops after some minutes."""

    def __init__(self, checkpoint: Path, minutes: float) -> None:
        self.checkpoint = checkpoint
        self.end = time.monotonic() + 60 * minutes
        self.saved = time.monotonic()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Save if due; stop if the minutes are over."""
        now = time.monotonic()
        over = now >= self.end
        if over or now - self.saved >= SAVE_EVERY or trainer.global_step == trainer.max_steps:
            self.saved = now
            self.save(trainer)
        if over:
            trainer.should_stop = True

    def save(self, trainer: Trainer) -> None:
        """Write the checkpoint whole or not at all."""
        part = self.checkpoint.with_suffix(".part")
        trainer.save_checkpoint(part)
        part.replace(self.checkpoint)


def train(trial: Trial, folder: Path, minutes: float) -> int:
    """Train a trial for one leg, from its last checkpoint if there is one; write what was trained, and how."""
    folder.mkdir(parents=True, exist_ok=True)
    seed_everything(0, verbose=False)
    model = trial.network()
    last = folder / LAST
    trainer = Trainer(
        accelerator="cpu",
        max_steps=trial.steps,
        callbacks=[ExactResumption(), Progress(trial.name), Leg(last, minutes)],
        logger=CSVLogger(folder, name="", version=""),
        gradient_clip_val=1.0,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
    )
    begun = time.process_time()
    trainer.fit(model, trial.videos, ckpt_path=last if last.exists() else None, weights_only=True)

    record = _record(folder)
    facts = provenance(recorded_command(sys.argv[1:], "python -m benchmarks.pretraining"), "cpu")
    facts |= {
        "trial": asdict(trial),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "step": trainer.global_step,
        "steps": trial.steps,
        "cpu_seconds": record.get("cpu_seconds", 0.0) + time.process_time() - begun,
        "metrics": {key: float(value) for key, value in trainer.callback_metrics.items() if key.startswith("val/")},
    }
    write_atomically(folder / RECORD, json.dumps(facts, indent=1) + "\n")
    return 0


def _record(folder: Path) -> dict[str, Any]:
    path = folder / RECORD
    content: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    return content


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
def features_of(model: XViT, clips: Tensor) -> NDArray[np.float32]:
    """Return the frozen features of clips, the inputs of the linear classifier: ``(videos, features)``."""
    model.eval()
    found = []
    for some in torch.split(clips, 32):
        pixels = (some.float() / 255 - 0.5) / 0.5
        found.append(model.forward_features(pixels.transpose(1, 2)).numpy())
    return np.concatenate(found)


def small_frames(clips: Tensor) -> NDArray[np.float32]:
    """Return the pixels of small frames, ``(videos, pixels)``."""
    small = F.resize(clips.flatten(0, 1), [PIXELS_SIDE, PIXELS_SIDE], antialias=True)
    return np.asarray(small.float().mean(1).reshape(len(clips), -1))


def transfer(names: list[str], folder: Path, videos: Path) -> int:
    """Print for each trial the share of real videos that its frozen features tell apart."""
    trials = [read_trial(PLAN, name) for name in names]
    shapes = {(trial.data["num_frames"], trial.data["image_size"]) for trial in trials}
    accuracies: dict[str, dict[str, float]] = {}
    for shape in sorted(shapes):
        for task in real_videos(videos, *shape):
            inputs = {f"pixels of small frames, {shape[0]}": small_frames(task.clips)}
            for trial in trials:
                if (trial.data["num_frames"], trial.data["image_size"]) != shape:
                    continue
                seed_everything(0, verbose=False)
                model = trial.network()
                inputs[f"random, {trial.model['size']}"] = features_of(model, task.clips)
                checkpoint = torch.load(folder / trial.name / LAST, weights_only=True)
                model.load_state_dict(checkpoint["state_dict"])
                name = f"{trial.name}, step {checkpoint['global_step']} of {trial.steps}"
                inputs[name] = features_of(model, task.clips)
            for name, features in inputs.items():
                best = max(accuracy(features, task, strength) for strength in STRENGTHS)
                accuracies.setdefault(name, {})[task.name] = best
                print(f"{task.name}: {name}: {best:.1f}", flush=True)
    tasks = sorted({task for found in accuracies.values() for task in found})
    body = []
    for name, found in accuracies.items():
        mean = np.mean([found.get(task, math.nan) for task in tasks])
        body.append([name, *(f"{found.get(task, math.nan):.1f}" for task in tasks), f"{mean:.1f}"])
    print(text_table("left-out training videos, % right", ["features", *tasks, "mean"], body))
    return 0


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

    record = _record(folder / trial.name)
    tasks = ", ".join(f"{task} {record['metrics'][f'val/{task}']:.0f}" for task in videos.num_classes)
    card = CARD.format(
        parameters=sum(value.numel() for value in weights.values()) / 1e6,
        command=record["command"],
        commit=record["commit"],
        clips=checkpoint["global_step"] * trial.data["batch_size"],
        hours=record["cpu_seconds"] / 3600,
        device=record["device"],
        tasks=tasks,
        flow=record["metrics"]["val/flow"],
        **shape,
    )

    output.mkdir(parents=True, exist_ok=True)
    write_atomically(output / "README.md", card)
    save_file(weights, output / "model.safetensors", metadata={"format": "pt"})
    write_atomically(output / EXPORTED, json.dumps(settings, indent=1) + "\n")
    print(f"{output}: {checkpoint['global_step']} of {trial.steps} steps")
    return 0


def main() -> int:
    """Train a trial, or compare trials."""
    made = parser("pretraining", __doc__)
    made.add_argument("action", choices=("train", "transfer", "release"))
    made.add_argument("names", nargs="+", metavar="NAME", help="trials of pretraining.yaml")
    made.add_argument("--folder", type=Path, required=True, help="folder of the trials' checkpoints")
    made.add_argument("--minutes", type=float, default=150.0, help="length of a leg")
    made.add_argument("--videos", type=Path, help="folder of utd_mhad, room_actions and avletters")
    given = made.parse_args()
    if given.action == "transfer":
        return transfer(given.names, given.folder, given.videos)
    if given.action == "release":
        if given.output is None:
            raise UserError("give the folder of the weights: -o DIR")
        return release(read_trial(PLAN, given.names[0]), given.folder, given.output)
    for name in given.names:
        train(read_trial(PLAN, name), given.folder / name, given.minutes)
    return 0


if __name__ == "__main__":
    ran(main)
