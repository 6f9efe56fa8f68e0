"""Test initialisation, stochastic depth and start from an image model against each family's released code."""

import pytest
import torch
from timm.layers.activations import QuickGELU
from torch import nn

from lit_video.attention import Grid, Joint, ZeroLinear
from lit_video.modules import ViViT
from lit_video.network.block import FLAX_STYLE, MLP, TIMM_STYLE
from lit_video.network.embedding import ClipSize
from lit_video.network.perceiver import perceiver
from lit_video.network.timesformer import timesformer
from lit_video.network.vit import ViTSize, encoder
from lit_video.network.vivit import vivit
from lit_video.network.xvit import xvit
from lit_video.weights.image_vit import load_image_vit
from tests.weights.conftest import image_vit

CLIP = ClipSize((16, 16), 8, 4, tubelet_size=1)
WIDTH = 384


def linear_layers(network, part):
    """Yield name and layer of each linear layer of a part of a network; layers that start at zero are left out."""
    for name, module in network.get_submodule(part).named_modules():
        if isinstance(module, nn.Linear) and not isinstance(module, ZeroLinear):
            yield name, module


@pytest.mark.parametrize("width", [192, 384, 768])
@pytest.mark.parametrize("family", [xvit, timesformer])
def test_layers_start_with_the_deviation_of_x_vit_s_and_timesformer_s_release(family, width):
    """Expect 0.02 at width 768, that of all released models, and the same sum over inputs at other widths."""
    torch.manual_seed(0)
    network = family(ViTSize(width, 1, 4), 5, CLIP)
    found = dict(linear_layers(network, "blocks"))
    assert {name.rpartition(".")[2] for name in found} == {"qkv", "proj", "fc1", "fc2"}
    for name, layer in found.items():
        assert layer.weight.std().item() == pytest.approx(0.02 * (768 / width) ** 0.5, rel=0.02), name
        assert layer.bias.count_nonzero() == 0, name


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (dict(variant=1), "blocks"),
        (dict(variant=2), "blocks"),
        (dict(variant=2), "aggregate.layers"),
        (dict(variant=3), "blocks"),
        (dict(variant=4), "blocks"),
    ],
)
def test_layers_start_with_the_deviation_of_flax_in_vivit(options, part):
    """Expect Xavier's deviation, (2 / (inputs + outputs))^0.5, of d x d for query, key and value each."""
    torch.manual_seed(0)
    network = vivit(ViTSize(WIDTH, 1, 4), 5, CLIP, temporal_depth=1, **options)
    check_xavier(network, part)


def test_a_perceiver_draws_query_key_and_value_each_by_itself():
    torch.manual_seed(0)
    check_xavier(perceiver(ViTSize(WIDTH, 1, 4), 5, CLIP), "blocks")


def check_xavier(network, part):
    square = (1 / WIDTH) ** 0.5
    wide = (2 / (5 * WIDTH)) ** 0.5
    expected = {"qkv": square, "q": square, "kv": square, "proj": square, "fc1": wide, "fc2": wide}
    names = set()
    for name, layer in linear_layers(network, part):
        kind = name.rpartition(".")[2]
        names.add(kind)
        assert layer.weight.std().item() == pytest.approx(expected[kind], rel=0.02), name
        assert layer.bias.count_nonzero() == 0, name
    assert {"qkv", "proj", "fc1", "fc2"} <= names


@pytest.mark.parametrize(("style", "factor"), [(FLAX_STYLE, 1.0), (TIMM_STYLE, 2.0)])
def test_a_kept_branch_is_divided_by_its_probability_in_timm_s_style_only(style, factor):
    torch.manual_seed(0)
    _, block = encoder(ViTSize(16, 2, 2), lambda i: Joint(16, 2), drop_path_rate=0.5, style=style)
    nn.init.zeros_(block.mlp.fc2.weight)  # leaves the scheme's branch alone
    x = torch.randn(64, 3, 16)
    with torch.no_grad():
        branch = block.eval()(x, Grid(3, 1, 1)) - x
        trained = block.train()(x, Grid(3, 1, 1)) - x
    kept = trained.flatten(1).abs().amax(1) > 0
    assert 10 < kept.sum() < 54
    torch.testing.assert_close(trained[kept], factor * branch[kept], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("temporal", ["encoder", "mean"])
def test_model_2_of_the_release_starts_its_class_token_at_zero_with_the_image_model_s_position(temporal):
    options = dict(num_classes=5, num_frames=4, image_size=32, size=ViTSize(32, 2, 4), patch_size=8, variant=2)
    network = ViViT(**options, temporal=temporal, class_token="zero").network
    image = image_vit().state_dict()
    said = load_image_vit(network, image)
    assert network.embed.cls_token.count_nonzero() == 0
    assert torch.equal(network.embed.pos_embed, image["pos_embed"])
    assert "embed.cls_token" in said


@pytest.mark.parametrize(("variant", "given"), [(1, None), (1, "zero"), (2, None)])
def test_other_models_take_the_class_token_of_the_image_model(variant, given):
    options = dict(num_classes=5, num_frames=4, image_size=32, size=ViTSize(32, 2, 4), patch_size=8, variant=variant)
    network = ViViT(**options, class_token=given).network
    assert network.embed.cls_token.count_nonzero() == 0
    image = image_vit().state_dict()
    load_image_vit(network, image)
    assert torch.equal(network.embed.cls_token, image["cls_token"])


def test_model_3_starts_its_norm_in_time_anew_and_its_projection_at_zero():
    network = vivit(ViTSize(32, 2, 4), 5, ClipSize((32, 32), 8, 2, tubelet_size=1), variant=3)
    image = image_vit().state_dict()
    load_image_vit(network, image)
    for i, block in enumerate(network.blocks):
        space, time = block.scheme.attn, block.scheme.time_attn
        assert torch.equal(space.norm.weight, image[f"blocks.{i}.norm1.weight"])
        assert torch.equal(time.norm.weight, torch.ones(32))
        assert time.norm.bias.count_nonzero() == 0
        assert torch.equal(time.qkv.weight, image[f"blocks.{i}.attn.qkv.weight"])
        assert time.proj.weight.count_nonzero() == 0


def test_timesformer_takes_its_norm_in_time_from_the_image_model():
    network = timesformer(ViTSize(32, 2, 4), 5, ClipSize((32, 32), 8, 2, tubelet_size=1))
    image = image_vit().state_dict()
    load_image_vit(network, image)
    assert torch.equal(network.blocks[0].scheme.time_attn.norm.weight, image["blocks.0.norm1.weight"])


@pytest.mark.parametrize("family", [xvit, timesformer, vivit, perceiver])
def test_gelu_and_epsilon_of_a_size_are_those_of_every_layer(family):
    """Leave out X-ViT's layers over frame tokens, which have an epsilon of their own in the release."""
    settings = {"variant": 2} if family is vivit else {}
    size = ViTSize(16, 2, 2, eps=1e-3, gelu="quick")
    network = family(size, 5, CLIP, **settings)
    parts = [network.embed, network.blocks, network.norm]
    if family is not xvit:
        parts.append(network.aggregate)

    layers = [module for part in parts for module in part.modules()]
    assert {module.eps for module in layers if isinstance(module, nn.LayerNorm)} == {1e-3}
    assert {type(module.act) for module in layers if isinstance(module, MLP)} == {QuickGELU}
