"""Trials of pretraining, as ``trials.yaml`` has them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benchmarks.pretraining.drawn_videos import DrawnVideos
from benchmarks.pretraining.targets import TARGETS
from lit_video.errors import UserError
from lit_video.modules import XViT
from lit_video.modules.optimization import Optimization
from lit_video.network.vit import ViTSize
from lit_video.utils.text import did_you_mean
from lit_video.utils.yaml_files import read_yaml

PLAN = Path(__file__).with_suffix(".yaml")


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
