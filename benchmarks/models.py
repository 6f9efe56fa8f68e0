"""Models to time: every scheme at one ViT size, and other packages' models. Nothing is downloaded."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from einops import rearrange
from torch import Tensor, nn

from benchmarks.harness import CLASSES
from lit_video.attention import MixingPlan
from lit_video.network.convnets import convnet
from lit_video.network.embedding import ClipSize
from lit_video.network.perceiver import perceiver
from lit_video.network.timesformer import timesformer
from lit_video.network.transformer import VideoTransformer
from lit_video.network.vit import ViTSize
from lit_video.network.vivit import vivit
from lit_video.network.xvit import xvit
from lit_video.weights.hugging_face import export_hf_timesformer, export_hf_vivit

EAGER = "eager attention, the only one that transformers has for it"


@dataclass(frozen=True)
class Model:
    """A model and its clips.

    Args:
        network: clips ``(b, 3, t, height, width)`` to logits.
        num_frames: frames of its clips.
        against: name of the model to compare its time with, or empty.
        note: a remark under the table.
    """

    network: nn.Module
    num_frames: int
    against: str = ""
    note: str = ""


Build = Callable[[], Model]


def schemes(size: ViTSize, frames: int, side: int) -> dict[str, Build]:
    """Return builders of our models by name; ViViT has tubelets of two frames, for as many tokens as the others."""
    patches = ClipSize((side, side), num_frames=frames)
    tubelets = replace(patches, num_frames=2 * frames, tubelet_size=2)

    def xv(against: str = "spatial-only", exact: bool = False, **plan: Any) -> Build:
        return lambda: Model(xvit(size, CLASSES, patches, plan=MixingPlan(**plan), exact=exact), frames, against)

    def ts(attention: str, against: str) -> Build:
        return lambda: Model(timesformer(size, CLASSES, patches, attention_type=attention), frames, against)

    def vv(variant: int, against: str) -> Build:
        return lambda: Model(vivit(size, CLASSES, tubelets, variant=variant), 2 * frames, against)

    return {
        "spatial-only": xv("", window=0),
        "X-ViT": xv(),
        "X-ViT full": xv(scope="full"),
        "X-ViT summary": xv(summary=True),
        "exact window": xv(exact=True),
        "S": ts("space", "HF S"),
        "ST": ts("joint", "HF ST"),
        "T+S": ts("divided", "HF T+S"),
        "L+G": ts("local_global", "T+S"),
        "T+W+H": ts("axial", "T+S"),
        "ViViT-1": vv(1, "HF ViViT-1"),
        **{f"ViViT-{variant}": vv(variant, "ViViT-1") for variant in (2, 3, 4)},
        "Perceiver": lambda: Model(perceiver(size, CLASSES, patches), frames, "ST"),
    }


class _Peer(nn.Module):
    """A model of transformers, from clips to logits; its own layout is ``(b, t, 3, height, width)``."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, clip: Tensor) -> Tensor:
        """Return the logits."""
        return self.model(rearrange(clip, "b c t h w -> b t c h w")).logits


def hugging_face(name: str, network: VideoTransformer, size: ViTSize, frames: int, side: int) -> Model:
    """Return a model of transformers with the weights of ours."""
    import transformers as hf

    shared: dict[str, Any] = {
        "image_size": side,
        "hidden_size": size.embed_dim,
        "num_hidden_layers": size.depth,
        "num_attention_heads": size.num_heads,
        "intermediate_size": round(size.embed_dim * size.mlp_ratio),
        "num_labels": CLASSES,
    }
    if name == "HF ViViT-1":
        shared |= {"num_frames": 2 * frames, "tubelet_size": [2, 16, 16], "attn_implementation": "sdpa"}
        model = hf.VivitForVideoClassification(hf.VivitConfig(**shared))
        model.load_state_dict(export_hf_vivit(network))
        return Model(_Peer(model), 2 * frames)
    attention = {"HF S": "space_only", "HF ST": "joint_space_time", "HF T+S": "divided_space_time"}[name]
    config = hf.TimesformerConfig(patch_size=16, num_frames=frames, attention_type=attention, **shared)
    model = hf.TimesformerForVideoClassification(config)
    model.load_state_dict(export_hf_timesformer(network))
    return Model(_Peer(model), frames, note=EAGER)


def _mvit_b(side: int) -> nn.Module:
    from pytorchvideo.models.hub import mvit_base_16x4

    return mvit_base_16x4(spatial_size=side, head_num_classes=CLASSES)


def _mvit_v2(side: int) -> nn.Module:
    from torchvision.models.video import mvit_v2_s

    if side != 224:
        raise ValueError("torchvision builds it for 224 pixels only")
    return mvit_v2_s(num_classes=CLASSES)


def _swin3d(side: int) -> nn.Module:
    from torchvision.models.video import swin3d_b

    return swin3d_b(num_classes=CLASSES)


# Published models of other families, in their own size, with the frames of their published evaluation.
PUBLISHED: dict[str, tuple[int, Callable[[int], nn.Module]]] = {
    "MViT-B 16x4": (16, _mvit_b),
    "SlowFast R50": (32, lambda side: convnet("slowfast", CLASSES)),
    "MViT-v2-S": (16, _mvit_v2),
    "Swin3D-B": (32, _swin3d),
}


def line_up(size: ViTSize, frames: int, side: int, names: list[str], compiled: bool) -> Iterator[tuple[str, Build]]:
    """Yield name and builder of each model; after one of ours, its peer in transformers and its compiled twin.

    Builders must be called in this order. ``names`` are of our models and of :data:`PUBLISHED`.
    """
    ours, made = schemes(size, frames, side), dict[str, Model]()

    def built(name: str) -> Model:
        made[name] = ours[name]()
        return made[name]

    def twin(name: str) -> Model:
        network = copy.deepcopy(made[name].network)
        network.compile(dynamic=False)
        return replace(made[name], network=network, against=name)

    for name in names:
        if name in PUBLISHED:
            length, build = PUBLISHED[name]
            yield name, lambda length=length, build=build: Model(build(side), length)
            continue
        yield name, partial(built, name)
        if name in made and made[name].against.startswith("HF"):
            peer, network = made[name].against, made[name].network
            yield peer, partial(hugging_face, peer, network, size, frames, side)
        if name in made and compiled:
            yield f"{name}, compiled", partial(twin, name)
