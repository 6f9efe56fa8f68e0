"""The models that are timed: every scheme at one ViT size."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from torch import nn

from lit_video.attention import MixingPlan
from lit_video.network.patches import ClipSize
from lit_video.network.perceiver import perceiver
from lit_video.network.timesformer import timesformer
from lit_video.network.transformer import VideoTransformer
from lit_video.network.vit import ViTSize
from lit_video.network.vivit import vivit
from lit_video.network.xvit import xvit
from lit_video.training.compilation import Compile

CLASSES = 400


@dataclass(frozen=True)
class Clip:
    """Input of a benchmark: frames and side in pixels. Tubelets of two frames read twice as many frames."""

    frames: int = 8
    image_size: int = 224


@dataclass(frozen=True)
class BenchmarkModel:
    """A model and the clips that it takes.

    Args:
        name: in the report.
        network: clips ``(b, 3, t, height, width)`` to logits.
        frames: frames of its clips.
        against: name of the model that its time is compared with; empty for none.
        note: what is to be known about it.
        compile: how it is compiled.
    """

    name: str
    network: nn.Module
    frames: int
    against: str = ""
    note: str = ""
    compile: Compile = "off"


@dataclass(frozen=True)
class LeftOut:
    """A model that is not measured, and why."""

    name: str
    reason: str


def schemes(size: ViTSize, clip: Clip) -> dict[str, Callable[[], BenchmarkModel]]:
    """Builders of our models, by name; ViViT's take tubelets of two frames, so that all have the same tokens."""
    t = clip.frames
    patches = ClipSize((clip.image_size, clip.image_size), frames=t)
    tubelets = replace(patches, frames=2 * t, tubelet=2)

    def add(name: str, network: Callable[[], VideoTransformer], against: str, frames: int = t) -> None:
        builders[name] = lambda: BenchmarkModel(name, network(), frames, against)

    def ts(attention: str) -> Callable[[], VideoTransformer]:
        return lambda: timesformer(size, CLASSES, patches, attention)

    def vv(variant: int) -> Callable[[], VideoTransformer]:
        return lambda: vivit(size, CLASSES, tubelets, variant)

    def xv(plan: MixingPlan, exact: bool = False) -> Callable[[], VideoTransformer]:
        return lambda: xvit(size, CLASSES, patches, plan, exact=exact)

    builders: dict[str, Callable[[], BenchmarkModel]] = {}
    add("spatial-only", xv(MixingPlan(window=0)), "")
    add("X-ViT", xv(MixingPlan()), "spatial-only")
    add("X-ViT full", xv(MixingPlan(scope="full")), "spatial-only")
    add("X-ViT summary", xv(MixingPlan(summary=True)), "spatial-only")
    add("exact window", xv(MixingPlan(), exact=True), "spatial-only")
    add("S", ts("space"), "HF S")
    add("ST", ts("joint"), "HF ST")
    add("T+S", ts("divided"), "HF T+S")
    add("L+G", ts("local_global"), "T+S")
    add("T+W+H", ts("axial"), "T+S")
    for variant, against in ((1, "HF ViViT-1"), (2, "ViViT-1"), (3, "ViViT-1"), (4, "ViViT-1")):
        add(f"ViViT-{variant}", vv(variant), against, 2 * t)
    add("Perceiver", lambda: perceiver(size, CLASSES, patches), "ST")
    return builders
