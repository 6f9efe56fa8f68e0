"""Where the training of a user's videos starts: from scratch, from published weights, or from a run."""

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.inference.checkpoints import read_checkpoint
from lit_video.network.aggregation import Probe
from lit_video.network.stem import StemEmbedding
from lit_video.network.vit import vit_size
from lit_video.own_videos.schemes import SCHEME_ROWS, TableRows
from lit_video.runs.chosen_checkpoint import checkpoint_in_words
from lit_video.settings.effects import data_names, model_names, of_group, picked
from lit_video.utils.class_paths import class_path
from lit_video.weights.hub import DRAWN_WEIGHTS, NotFetched, fetch, find, find_start, published_name
from lit_video.weights.reading import CHECKPOINT_KEY

_logger = logging.getLogger(__name__)

# data settings that are taken from pretrained weights; others are chosen for the user's videos
CLIP_SETTINGS = data_names("clip", "pixels")
# model settings that are not taken from a checkpoint, but chosen anew or decided by the data set
LEFT_OUT = {*model_names("clip", "classes", "start", "training", "machine")} - {"dropout"}

SMALLEST_PUBLISHED = 192  # width of ViT-Ti


@dataclass(frozen=True)
class Start:
    """Start of a training."""

    weights: str  # empty for a training from scratch
    model: str  # name of the model's class
    settings: dict[str, Any]  # settings of the model that belong to the weights
    clips: dict[str, Any]  # settings of the data set that belong to the weights
    probe: Probe | None = None  # classifier of a frozen backbone; None to train all layers
    sides: tuple[int, ...] = ()  # sides in pixels that an image model allows
    is_named: bool = False  # whether the user named it, so that it is used even if it is slow

    @property
    def is_small(self) -> bool:
        """Whether the model is narrower than any published one, so that training all its layers is fast and safe."""
        return bool(self.weights) and vit_size(self.settings.get("size", "B")).embed_dim < SMALLEST_PUBLISHED

    @property
    def is_regression(self) -> bool:
        """Whether logistic regression fits the classifier of a frozen backbone, in a single step."""
        return self.probe == "waves"

    @property
    def label(self) -> str:
        """Name of its row in a table."""
        if self.is_regression:
            return f"{self.model}, frozen, with logistic regression"
        return f"{self.model}, frozen, with a probe" if self.probe else f"{self.model}, fine-tuned"

    @property
    def rows(self) -> TableRows:
        """Row of a table for a training from this start."""
        if self.is_regression:
            return {"answered": {"label": self.label}}
        if self.probe:
            return {"probed": {"label": self.label}}
        return {"finetuned": {"label": self.label}} if self.weights else {"xvit": SCHEME_ROWS["xvit"]}


SCRATCH = Start("", "XViT", {}, {})  # any scheme
SCRATCH_XVIT = Start("", "XViT", {"embedding": class_path(StemEmbedding)}, {})


def start_from(weights: str) -> Start:
    """Return the start from published weights by name, or from a run's checkpoint or folder."""
    path = find_start(weights)
    if isinstance(path, str):
        published = find(path).settings
        clips = picked(of_group(published, "data"), CLIP_SETTINGS)
        return Start(path, published["model"], of_group(published, "model"), clips)

    folder = Path(weights)
    if folder.is_dir():
        _logger.info(f"--weights {weights}: starts from {checkpoint_in_words(folder, path)}")

    try:
        checkpoint = read_checkpoint(path, "weights")
        own = checkpoint[CHECKPOINT_KEY]
    except (UserError, KeyError):
        image = f"for an image ViT give --model.image_weights {weights}, --model.size and --model.patch_size"
        raise UserError(f"--weights {weights}: not a run's checkpoint with settings; {image}") from None

    model = {}
    for key, value in checkpoint["hyper_parameters"].items():
        if not (key in LEFT_OUT or key.startswith("_") or value is None):
            model[key] = [*value] if isinstance(value, tuple) else value

    name = published_name(path) or str(path.resolve())
    return Start(name, own["model"].rpartition(".")[2], model, picked(own["data"], CLIP_SETTINGS))


def first_answer_start() -> Start:
    """Return the start of the first answer: the small model that comes along, frozen, with logistic regression."""
    return replace(start_from(DRAWN_WEIGHTS), probe="waves")


DEFAULT_WEIGHTS = "videomae-base-k400"  # weights to start from without a flag, if they can be had


def at_hand(name: str, otherwise: str) -> bool:
    """Return whether default weights are on this machine, after a download if needed; if not, say what is done then."""
    release = find(name)
    try:
        fetch(release)
    except NotFetched as error:
        why = f"{error.why}, so this pretrained model cannot be downloaded"
        how = f"run lit_video weights fetch {release.name} on a machine with a network"
        there = f"{how}, and copy the download to {release.place} on this machine"
        _logger.info(f"{why}. {otherwise}. To start from this model, {there}.")
        return False
    return True
