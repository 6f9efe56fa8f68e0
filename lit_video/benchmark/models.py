"""The models that are timed: every scheme at one ViT size, and transformers' models with the same weights."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from einops import rearrange
from torch import Tensor, nn

from lit_video.attention import MixingPlan
from lit_video.errors import UserError
from lit_video.network.patches import ClipSize
from lit_video.network.perceiver import perceiver
from lit_video.network.pretrained.hugging_face import export_hf_timesformer, export_hf_vivit
from lit_video.network.timesformer import timesformer
from lit_video.network.transformer import VideoTransformer
from lit_video.network.vit import ViTSize
from lit_video.network.vivit import vivit
from lit_video.network.xvit import xvit

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
    """

    name: str
    network: nn.Module
    frames: int
    against: str = ""


class _Peer(nn.Module):
    """transformers' model as clips to logits; its own layout is ``(b, t, 3, height, width)``."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, clip: Tensor) -> Tensor:
        """Logits."""
        return self.model(rearrange(clip, "b c t h w -> b t c h w")).logits


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


def peers(size: ViTSize, clip: Clip) -> dict[str, Callable[[VideoTransformer], BenchmarkModel]]:
    """Builders of transformers' models from ours, weights copied; empty where transformers is not installed."""
    try:
        import transformers as hf
    except ImportError:
        return {}
    shared: dict[str, Any] = {
        "image_size": clip.image_size,
        "hidden_size": size.width,
        "num_hidden_layers": size.depth,
        "num_attention_heads": size.heads,
        "intermediate_size": round(size.width * size.mlp_ratio),
        "num_labels": CLASSES,
    }

    def hf_timesformer(name: str, attention: str) -> Callable[[VideoTransformer], BenchmarkModel]:
        def make(network: VideoTransformer) -> BenchmarkModel:
            config = hf.TimesformerConfig(patch_size=16, num_frames=clip.frames, attention_type=attention, **shared)
            model = hf.TimesformerForVideoClassification(config)
            model.load_state_dict(export_hf_timesformer(network))
            return BenchmarkModel(name, _Peer(model), clip.frames)

        return make

    def hf_vivit(network: VideoTransformer) -> BenchmarkModel:
        config = hf.VivitConfig(num_frames=2 * clip.frames, tubelet_size=[2, 16, 16], **shared)
        model = hf.VivitForVideoClassification(config)
        model.load_state_dict(export_hf_vivit(network))
        return BenchmarkModel("HF ViViT-1", _Peer(model), 2 * clip.frames)

    return {
        "HF S": hf_timesformer("HF S", "space_only"),
        "HF ST": hf_timesformer("HF ST", "joint_space_time"),
        "HF T+S": hf_timesformer("HF T+S", "divided_space_time"),
        "HF ViViT-1": hf_vivit,
    }


def build(size: ViTSize, clip: Clip, names: list[str] | None) -> list[BenchmarkModel]:
    """The models of these names, or all that this size and clip allow; a peer comes with the model compared with it.

    Raises:
        UserError: a name is unknown, or a model that was named cannot be built.
    """
    ours, theirs = schemes(size, clip), peers(size, clip)
    unknown = [name for name in names or [] if name not in ours]
    if unknown:
        raise UserError(f"--models: no model {unknown[0]!r}; models: {', '.join(ours)}")
    models: list[BenchmarkModel] = []
    for name in names or ours:
        try:
            model = ours[name]()
        except ValueError as error:
            if names:
                raise UserError(f"--models: {name}: {error}") from error
            print(f"{name}: left out: {error}", file=sys.stderr)
            continue
        models.append(model)
        if model.against in theirs and isinstance(model.network, VideoTransformer):
            models.append(theirs[model.against](model.network))
    return models


def largest_difference(model: BenchmarkModel, peer: BenchmarkModel, clip: Tensor) -> float | None:
    """Largest difference of the logits of a clip; ``None`` where a peer gives another number of rows (HF's S)."""
    with torch.no_grad():
        a, b = model.network.eval()(clip), peer.network.eval()(clip)
    return (a - b).abs().max().item() if a.shape == b.shape else None
