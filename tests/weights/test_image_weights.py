"""A network started from an image ViT must compute what the image ViT computes, frame by frame, or refuse it."""

from functools import partial

import huggingface_hub
import numpy as np
import pytest
import timm
import torch
from safetensors.torch import save_file
from timm.models.vision_transformer import ResPostBlock, VisionTransformer

from lit_video.attention import MixingPlan
from lit_video.errors import UserError
from lit_video.modules import TimeSformer, ViViT, XViT
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


def google(model):
    """The weights of timm's ViT as Google's ``.npz`` has them."""
    arrays = {}
    for key, value in model.state_dict().items():
        array = value.numpy()
        if ".attn.qkv." in key:
            for part, share in zip(("query", "key", "value"), np.split(array, 3), strict=True):
                arrays[key.replace(".attn.qkv.", f".{ATTENTION}.{part}.")] = share.T.reshape(*share.shape[1:], 4, 8)
        elif key == "patch_embed.proj.weight":
            arrays[key] = array.transpose(2, 3, 1, 0)
        elif array.ndim == 2:
            arrays[key] = array.T.reshape(4, 8, 32) if ".attn.proj." in key else array.T
        else:
            arrays[key] = array
    return {google_name(key): array for key, array in arrays.items()}


ATTENTION = "MultiHeadDotProductAttention_1"


def google_name(key):
    for ours, theirs in (
        ("blocks.", "Transformer.encoderblock_"),
        ("attn.proj.", f"{ATTENTION}.out."),
        ("mlp.fc1.", "MlpBlock_3.Dense_0."),
        ("mlp.fc2.", "MlpBlock_3.Dense_1."),
        ("norm1.weight", "LayerNorm_0.scale"),
        ("norm1.bias", "LayerNorm_0.bias"),
        ("norm2.weight", "LayerNorm_2.scale"),
        ("norm2.bias", "LayerNorm_2.bias"),
        ("norm.weight", "Transformer.encoder_norm.scale"),
        ("norm.bias", "Transformer.encoder_norm.bias"),
        ("patch_embed.proj.", "embedding."),
        ("cls_token", "cls"),
        ("pos_embed", "Transformer.posembed_input.pos_embedding"),
        ("weight", "kernel"),
    ):
        key = key.replace(ours, theirs)
    return key.replace(".", "/")


def test_google_s_arrays_are_read_by_timm(tmp_path):
    model, path = image_vit(), tmp_path / "augreg.npz"
    arrays = google(model)
    np.savez(path, **arrays)
    check_features(read_image_vit(str(path), video_vit()).tensors, model)
    np.savez(path, **{f"opt/target/{name}": array for name, array in arrays.items()})
    check_features(read_image_vit(str(path), video_vit()).tensors, model)
    cut = {name: array for name, array in arrays.items() if name != "Transformer/encoderblock_1/LayerNorm_0/scale"}
    for other, message in (
        (cut, "could not read it .*encoderblock_1/LayerNorm_0/scale"),
        (arrays | {"Transformer/encoderblock_0/Dense/kernel": np.ones((2, 2))}, "it holds more than a ViT"),
        (arrays | {"cls": np.array([object()])}, "cannot be read as weights: .*allow_pickle"),
    ):
        np.savez(path, **other)
        with pytest.raises((ValueError, UserError), match=message):
            read_image_vit(str(path), video_vit())
    with pytest.raises(ValueError, match="it has 4 heads, this network 2"):
        np.savez(path, **arrays)
        read_image_vit(str(path), video_vit(heads=2))


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
        ({}, {"norm.weight": None}, r"lacks .*norm\.weight"),
        ({}, {"blocks.1.attn.qkv.bias": None}, r"lacks .*qkv\.bias"),
        ({}, {"patch_embed.proj.weight": None}, r"lacks .*proj\.weight"),
        ({}, {"patch_embed.proj.weight": torch.ones(32, 192)}, r"expected .* a linear stem"),
        (dict(patch=16), {}, r"embed\.patches\.proj\.weight is \(.*16\) here, \(.*8\) in the file"),
        (dict(depth=3), {}, r"lacks blocks\.2\."),
        (dict(width=16), {}, r"is \(.*\) here, \(.*\) in the file"),
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


@pytest.mark.parametrize(
    ("family", "options", "expected"),
    [
        (XViT, dict(ta_layers=0), "30 tensors of the image model taken; new: classifier, positions in time"),
        (XViT, dict(image_size=16, positions="space"),
         "30 tensors of the image model taken, positions resized from 4 x 4 to 2 x 2; new: classifier"),
        (TimeSformer, {}, "30 tensors of the image model taken, attention over time copied from that over space; "
         "new: classifier, positions in time, time_fc"),
        (ViViT, dict(tubelet=2), "30 tensors of the image model taken, patches spread over 2 frames; new: classifier"),
    ],
)  # fmt: skip
def test_what_was_taken_is_said_in_a_line(family, options, expected):
    given = dict(num_classes=5, frames=4, image_size=32, size=ViTSize(32, 2, 4), patch=8) | options
    assert load_image_vit(family(**given).network, image_vit().state_dict()) == expected
