"""Test the layers of networks of others: rates that fall from the classifier down, and what is never decayed."""

import re
from itertools import pairwise

import pytest
import timm
import torch
import torchvision
from torch import nn

from lit_video.errors import UserError
from lit_video.modules import VideoClassifier, XViT
from lit_video.modules.layer_order import layers_below
from lit_video.modules.optimization import Optimization, parameter_groups
from lit_video.network.vit import ViTSize

SMALL = dict(image_size=32, patch_size=16, num_frames=4, hidden_size=32, num_hidden_layers=2, num_attention_heads=2)
TIMM = dict(img_size=32, num_classes=4)


class Frames(nn.Module):
    """Image model over frames, with an adapter before it and a head after it."""

    def __init__(self, net):
        super().__init__()
        self.adapter = nn.Conv2d(5, 3, 1)
        self.net = net
        self.mix = nn.Linear(4, 4)


class TwoStreams(nn.Module):
    """Two image models whose logits are added."""

    def __init__(self):
        super().__init__()
        self.rgb = timm.create_model("vit_tiny_patch16_224", depth=2, **TIMM)
        self.flow = timm.create_model("vit_tiny_patch16_224", depth=3, **TIMM)


class HeadFirst(nn.Module):
    """Network whose classifier is defined before its blocks, which hold experts side by side."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 4)
        self.class_token = nn.Parameter(torch.zeros(1, 1, 8))
        self.names = nn.Embedding(3, 8)
        self.embed = nn.Conv3d(3, 8, 2)
        self.blocks = nn.ModuleList(self.block() for _ in range(3))
        self.norm = nn.LayerNorm(8)

    @staticmethod
    def block():
        expert = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 8))
        mixture = nn.ModuleDict({"experts": nn.ModuleList([expert, expert]), "gate": nn.Linear(8, 2)})
        return nn.ModuleDict({"attn": nn.MultiheadAttention(8, 2), "mlp": mixture})


class Chunks(nn.Module):
    """Network with blocks in chunks, as DINOv2 has them, and its own list."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv3d(3, 8, 2)
        block = nn.TransformerEncoderLayer
        self.chunks = nn.ModuleList(nn.ModuleList(block(8, 2, 16) for _ in range(2)) for _ in range(2))
        self.fc = nn.Linear(8, 4)

    def no_weight_decay(self):
        return {"stem.weight"}


def plain():
    stages = [nn.Sequential(nn.Conv3d(3 if i == 0 else 4, 4, 1), nn.BatchNorm3d(4), nn.ReLU()) for i in range(3)]
    return nn.Sequential(*stages, nn.Flatten(), nn.Linear(4, 4))


def resnet(name):
    stages = [f"layer{stage}.{block}" for stage in range(1, 5) for block in range(2)]
    return lambda: getattr(torchvision.models.video, name)(num_classes=4), ["stem", *stages, "fc"]


def swin3d():
    kind = torchvision.models.video.swin_transformer.SwinTransformer3d
    return kind([2, 4, 4], 16, [1, 1, 2, 1], [1, 1, 2, 2], [2, 4, 4], num_classes=4)


def mvit():
    from torchvision.models.video.mvit import MSBlockConfig, MViT

    block = MSBlockConfig(1, 16, 16, [3, 3, 3], [3, 3, 3], [1, 1, 1], [1, 1, 1])
    flags = dict(residual_pool=False, residual_with_cls_embed=False, rel_pos_embed=True, proj_after_attn=True)
    return MViT((32, 32), 4, [block] * 3, num_classes=4, **flags)


def swin():
    small = dict(window_size=4, embed_dim=16, depths=(1, 1, 2, 1), num_heads=(1, 1, 2, 2))
    return Frames(timm.create_model("swin_tiny_patch4_window7_224", **small, **TIMM))


def pytorchvideo_mvit():
    from pytorchvideo.models.vision_transformers import create_multiscale_vision_transformers

    return create_multiscale_vision_transformers(
        spatial_size=32, temporal_size=4, depth=2, head_num_classes=4, patch_embed_dim=16, num_heads=1
    )


# network, and prefixes of its layers from the embedding on; the last are those of the full rate
NETWORKS = {
    "r3d": resnet("r3d_18"),
    "r2plus1d": resnet("r2plus1d_18"),
    "swin3d": (
        swin3d,
        [
            "patch_embed",
            "features.0.0",
            "features.1",
            "features.2.0",
            "features.3",
            "features.4.0",
            "features.4.1",
            "features.5",
            "features.6.0",
            "norm|head",
        ],
    ),
    "mvit": (mvit, ["conv_proj|pos_encoding", "blocks.0", "blocks.1", "blocks.2", "norm|head"]),
    "pytorchvideo mvit": (
        pytorchvideo_mvit,
        ["patch_embed|cls_positional_encoding", "blocks.0", "blocks.1", "norm_embed|head"],
    ),
    "timm vit": (
        lambda: Frames(timm.create_model("vit_tiny_patch16_224", depth=2, **TIMM)),
        [
            "net.cls_token|net.pos_embed|net.patch_embed",
            "net.blocks.0",
            "net.blocks.1|net.norm",
            "net.head|adapter|mix",
        ],
    ),
    "timm swin": (
        swin,
        [
            "net.patch_embed",
            "net.layers.0",
            "net.layers.1",
            "net.layers.2.downsample|net.layers.2.blocks.0",
            "net.layers.2.blocks.1",
            "net.layers.3|net.norm",
            "net.head|adapter|mix",
        ],
    ),
    "two streams": (
        TwoStreams,
        [
            "flow.patch_embed|flow.cls_token|flow.pos_embed",
            "flow.blocks.0|rgb.patch_embed|rgb.cls_token|rgb.pos_embed",
            "flow.blocks.1|rgb.blocks.0",
            "flow.blocks.2|flow.norm|rgb.blocks.1|rgb.norm",
            "flow.head|rgb.head",
        ],
    ),
    "head first": (
        HeadFirst,
        ["class_token|names|embed", "blocks.0", "blocks.1", "blocks.2", "norm|head"],
    ),
    "chunks": (Chunks, ["stem", "chunks.0.0", "chunks.0.1", "chunks.1.0", "chunks.1.1", "fc"]),
    "plain": (plain, ["0", "1", "2", "4"]),
    "wrapped": (
        lambda: Frames(XViT(4, 4, 16, size=ViTSize(16, 2, 2), patch_size=8).network),
        ["net.embed", "net.blocks.0", "net.blocks.1", "net.norm|net.aggregate|adapter|mix"],
    ),
}


def rates_of(network, expected, **settings):
    """Return the sets of rates of the layers, after every parameter was found in one of them."""
    wanted = Optimization("adamw", lr=1.0, layer_decay=0.5, weight_decay=0.1, **settings)
    model = VideoClassifier(network, num_classes=4, optimization=wanted)
    names = {id(parameter): name.removeprefix("network.") for name, parameter in model.named_parameters()}
    rate = {}
    for group in parameter_groups(model.optimization, model):
        rate |= {names[id(parameter)]: group["lr"] for parameter in group["params"]}

    rates = []
    for prefixes in expected:
        prefix = tuple(f"{one}." for one in prefixes.split("|"))
        rates.append({rate.pop(name) for name in list(rate) if f"{name}.".startswith(prefix)})
    assert not rate, "every parameter is in a layer"
    return rates


@pytest.mark.parametrize("name", NETWORKS)
def test_each_layer_has_half_the_rate_of_the_next(name):
    make, expected = NETWORKS[name]
    rates = rates_of(make(), expected)
    assert all(len(of_layer) == 1 for of_layer in rates)
    assert rates[-1] == {1.0}
    assert all(min(lower) * 2 == min(higher) for lower, higher in pairwise(rates))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["VideoMAE", "Timesformer", "Vivit", "VJEPA2"])
def test_each_layer_of_a_model_of_transformers_has_half_the_rate_of_the_next(family):
    import transformers

    config = getattr(transformers, f"{family}Config")
    small = SMALL | dict(intermediate_size=64, num_labels=4)
    if family == "VJEPA2":
        small = dict(crop_size=32, frames_per_clip=4, hidden_size=32, num_hidden_layers=2, num_attention_heads=2)
        small |= dict(num_pooler_layers=1, num_labels=4)
    network = getattr(transformers, f"{family}ForVideoClassification")(config(**small))
    below = layers_below(VideoClassifier(network, num_classes=4))
    layers = {}
    for layer in range(2):
        of_layer = [below[name] for name in below if re.search(rf"(vivit|encoder)\.layers?\.{layer}\.", name)]
        layers[layer] = set(of_layer)
    assert all(len(numbers) == 1 for numbers in layers.values())
    assert min(layers[0]) == min(layers[1]) + 1
    assert max(below.values()) == min(layers[0]) + 1, "the embedding"
    assert not [name for name in below if "classifier" in name]


@pytest.mark.parametrize("network", [nn.Sequential(nn.Conv3d(3, 4, 1), nn.Flatten(), nn.Linear(4, 4)), nn.Linear(3, 4)])
def test_a_decay_that_finds_no_layers_is_refused(network):
    wanted = Optimization("adamw", layer_decay=0.5)
    model = VideoClassifier(network, num_classes=4, optimization=wanted)
    with pytest.raises(UserError, match=r"layer_decay: (Sequential|Linear) has no layers that are known; leave it out"):
        parameter_groups(wanted, model)
    assert parameter_groups(Optimization("adamw"), model)


@pytest.mark.parametrize(
    ("make", "exempt"),
    [
        (swin, {"relative_position_bias_table"}),
        (swin3d, {"relative_position_bias_table"}),
        (mvit, {"rel_pos_h", "rel_pos_w", "rel_pos_t"}),
        (HeadFirst, {"class_token", "names.weight"}),
        (Chunks, {"stem.weight"}),
        (NETWORKS["timm vit"][0], {"cls_token", "pos_embed"}),
    ],
)
def test_tokens_positions_and_a_networks_own_list_are_not_decayed(make, exempt):
    model = VideoClassifier(make(), num_classes=4)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    groups = parameter_groups(Optimization("adamw", weight_decay=0.1), model)
    listed = [(names[id(one)], one, group["weight_decay"]) for group in groups for one in group["params"]]
    kept = {name for name, parameter, decay in listed if parameter.ndim > 1 and not decay}
    assert kept and {name for name in kept if not name.endswith(tuple(exempt))} == set()
    assert all(any(name.endswith(one) for name in kept) for one in exempt)
