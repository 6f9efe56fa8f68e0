"""A network started from an image ViT must compute what the image ViT computes, frame by frame, or refuse it."""

from functools import partial

import huggingface_hub
import pytest
import timm
import torch
from safetensors.torch import save_file
from timm.models.vision_transformer import ResPostBlock, VisionTransformer

from lit_video.attention import MixingPlan
from lit_video.modules import TimeSformer
from lit_video.network.patches import ClipSize
from lit_video.network.positions import Positions
from lit_video.network.vit import ViTSize
from lit_video.network.xvit import xvit
from lit_video.weights.image_vit import load_image_vit, read_image_vit
from tests.network.conftest import cubic
from tests.weights.conftest import image_vit, randomised


def video_vit(width=32, depth=2, image_size=(32, 32), frames=1, heads=4, patch=8, **changes):
    torch.manual_seed(1)
    options = dict(plan=MixingPlan(window=0)) | changes
    return xvit(ViTSize(width, depth, heads), 5, ClipSize(image_size, patch, frames), **options).eval()


def features(weights, picture, **options):
    network = video_vit(**options).double()
    load_image_vit(network, weights)
    with torch.no_grad():
        return network.features(picture[:, :, None])[:, 0]


def check_features(weights, model, side=32, **options):
    """Features of the weights in a network are those of timm's model, in float64."""
    picture = torch.randn(2, 3, side, side, dtype=torch.float64)
    with torch.no_grad():
        expected = model.double().forward_features(picture)[:, 0]
    actual = features({key: value.double() for key, value in weights.items()}, picture, **options)
    torch.testing.assert_close(actual, expected, atol=1e-11, rtol=1e-11)
    assert (expected[0] - expected[1]).abs().max() > 0.01


NAME, TINY = "vit_tiny_patch16_224.augreg_in21k_ft_in1k", dict(width=192, depth=12, heads=3, patch=16)


def test_timm_builds_a_model_and_its_weights_come_from_its_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    network = video_vit(image_size=(224, 224), **TINY)
    with pytest.raises(ValueError, match=r"timm could not load its weights: .*cache"):
        read_image_vit(f"timm:{NAME}", network)
    snapshot = tmp_path / f"models--timm--{NAME}" / "snapshots" / "0123"
    snapshot.mkdir(parents=True)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("0123")
    model = randomised(timm.create_model(NAME))
    save_file(model.state_dict(), snapshot / "model.safetensors")
    weights = read_image_vit(f"timm:{NAME}", network).tensors
    check_features(weights, model, side=224, image_size=(224, 224), **TINY)


class Distilled(VisionTransformer):
    """Another architecture with the same parameters."""


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (VisionTransformer, dict(num_heads=2), "it has 2 heads, this network 4; set --model.size"),
        (VisionTransformer, dict(norm_layer=partial(torch.nn.LayerNorm, eps=1e-5)), "epsilon 1e-05, .* 1e-06"),
        (VisionTransformer, dict(act_layer=timm.layers.QuickGELU), "its activation is QuickGELU"),
        (VisionTransformer, dict(no_embed_class=True), "its class token has no position"),
        (VisionTransformer, dict(block_fn=ResPostBlock), "no plain ViT"),
        (Distilled, {}, "timm's Distilled of this name is no plain ViT"),
    ],
)
def test_a_model_of_timm_that_computes_something_else_is_refused(kind, options, message, monkeypatch):
    """None of this shows in names or shapes."""
    model = kind(**dict(img_size=32, patch_size=8, embed_dim=32, depth=2, num_heads=4) | options)
    monkeypatch.setattr(timm, "create_model", lambda name, pretrained: model)
    with pytest.raises(ValueError, match=message):
        read_image_vit(f"timm:{NAME}", video_vit())


def test_a_name_that_timm_does_not_know_is_refused():
    with pytest.raises(ValueError, match="has no model of this name"):
        read_image_vit("timm:vit_nothing", video_vit())


@pytest.mark.parametrize("more", ["decoder_blocks.0.norm1.bias", "mask_token", "fc_norm.weight", "pre_logits.fc.bias"])
def test_heads_and_mae_s_decoder_are_left_out(more):
    model = image_vit()
    check_features(model.state_dict() | {more: torch.ones(2)}, model)


@pytest.mark.parametrize(
    ("options", "change", "message"),
    [
        ({}, {"blocks.2.norm1.weight": torch.ones(32)}, r"no place for blocks\.2\."),
        ({}, {"blocks.0.ls1.gamma": torch.ones(32)}, r"no place for blocks\.0\.ls1\.gamma"),
        ({}, {"cls_token": None}, "lacks .*cls_token"),
        ({}, {"blocks.1.attn.qkv.bias": None}, r"lacks .*qkv\.bias"),
        ({}, {"patch_embed.proj.weight": torch.ones(32, 192)}, r"not of a linear stem"),
        (dict(patch=16), {}, r"embed\.patches\.proj\.weight is \(.*16\) here, \(.*8\) in the file"),
        (dict(depth=3), {}, r"lacks blocks\.2\."),
    ],
)
def test_weights_that_do_not_fit_are_refused_and_nothing_is_changed(options, change, message):
    network, weights = video_vit(**options), image_vit().state_dict() | change
    before = {name: value.clone() for name, value in network.state_dict().items()}
    with pytest.raises(ValueError, match=message):
        load_image_vit(network, {key: value for key, value in weights.items() if value is not None})
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_positions_of_an_image_that_is_not_square_fit_their_own_grid_only():
    weights = image_vit().state_dict()
    weights["pos_embed"] = torch.randn(1, 1 + 4 * 6, 32)
    network = video_vit(image_size=(32, 48))
    load_image_vit(network, weights)
    assert torch.equal(network.embed.pos_embed, weights["pos_embed"])
    with pytest.raises(ValueError, match="24 stored positions are neither"):
        load_image_vit(video_vit(), weights)


def resized_by_hand(table, source, target):
    rows, columns = (cubic(s, t) for s, t in zip(source, target, strict=True))
    cells = torch.einsum("y h, x w, h w d -> y x d", rows, columns, table[0, 1:].unflatten(0, source).double())
    return torch.cat((table[:, :1].double(), cells.flatten(0, 1)[None]), dim=1)


@pytest.mark.parametrize("image_size", [(48, 48), (48, 32), (16, 64)])
def test_another_image_size_resizes_the_positions(image_size):
    network, weights = video_vit(image_size=image_size).double(), image_vit().double().state_dict()
    load_image_vit(network, weights)
    expected = resized_by_hand(weights["pos_embed"], (4, 4), (image_size[0] // 8, image_size[1] // 8))
    torch.testing.assert_close(network.embed.pos_embed.detach(), expected, atol=1e-12, rtol=1e-12)


def test_a_network_without_positions_drops_them():
    network = video_vit(positions=Positions("none"))
    load_image_vit(network, image_vit().state_dict())
    assert network.embed.pos_embed is None


def test_what_was_taken_is_said_in_a_line():
    network = TimeSformer(5, frames=4, image_size=32, size=ViTSize(32, 2, 4), patch=8).network
    said = load_image_vit(network, image_vit().state_dict())
    assert said == "30 tensors of the image model taken; new: classifier, embed.temp_embed, time_fc"
