"""Test that a network started from an image ViT computes its features frame by frame, or refuses it."""

from functools import partial
from unittest import mock

import huggingface_hub
import pytest
import timm
import torch
from safetensors.torch import save_file
from timm.models.eva import Eva
from timm.models.vision_transformer import ResPostBlock, VisionTransformer

from lit_video.attention import Grid, MixingPlan
from lit_video.inference.rollout import patch_places
from lit_video.network.embedding import ClipSize
from lit_video.network.positions import Positions
from lit_video.network.timesformer import timesformer
from lit_video.network.vit import ViTSize
from lit_video.network.vivit import vivit
from lit_video.network.xvit import xvit
from lit_video.weights import image_vit as reading
from lit_video.weights.image_vit import load_image_vit, read_image_vit
from tests.network.conftest import cubic
from tests.weights.conftest import image_vit, randomised


def video_vit(
    embed_dim=32, depth=2, image_size=(32, 32), num_frames=1, num_heads=4, patch_size=8, size=None, **changes
):
    torch.manual_seed(1)
    options = dict(plan=MixingPlan(window=0)) | changes
    return xvit(
        ViTSize(embed_dim, depth, num_heads, **size or {}), 5, ClipSize(image_size, patch_size, num_frames), **options
    ).eval()


def features(weights, picture, network=None, **options):
    network = network or video_vit(**options).double()
    load_image_vit(network, weights)
    with torch.no_grad():
        return network.forward_features(picture[:, :, None])[:, 0]


def check_features(weights, model, side=32, **options):
    """Check that the weights give the features of timm's model, in float64."""
    picture = torch.randn(2, 3, side, side, dtype=torch.float64)
    with torch.no_grad():
        expected = model.double().forward_features(picture)[:, 0]
    actual = features({key: value.double() for key, value in weights.items()}, picture, **options)
    torch.testing.assert_close(actual, expected, atol=1e-11, rtol=1e-11)
    assert (expected[0] - expected[1]).abs().max() > 0.01


NAME, TINY = "vit_tiny_patch16_224.augreg_in21k_ft_in1k", dict(embed_dim=192, depth=12, num_heads=3, patch_size=16)


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


TIMM = dict(img_size=32, patch_size=8, embed_dim=32, depth=2, num_heads=4)
LAYER_NORM = partial(torch.nn.LayerNorm, eps=1e-5)
CLIP = dict(pre_norm=True, norm_layer=LAYER_NORM, act_layer=timm.layers.QuickGELU)
CLIP_SIZE = dict(eps=1e-5, norm_pre=True, gelu="quick")
EQUAL = {
    "augreg, dino, mae, deit": ({}, {}),
    "clip": (CLIP, CLIP_SIZE),
    "clip without quick": (dict(pre_norm=True, norm_layer=LAYER_NORM), dict(eps=1e-5, norm_pre=True)),
    "dinov2": (dict(init_values=1e-5), {}),
    "dinov2 reg": (dict(init_values=1e-5, reg_tokens=4, no_embed_class=True), dict(registers=4)),
    "registers with positions": (dict(reg_tokens=2), dict(registers=2)),
    "deit3": (dict(init_values=1e-6, no_embed_class=True), {}),
    "no qkv bias": (dict(qkv_bias=False), {}),
    "no bias of projections": (dict(proj_bias=False), {}),
    "tanh": (dict(act_layer=timm.layers.GELUTanh), dict(gelu="tanh")),
    "wide mlp": (dict(mlp_ratio=3.0, drop_path_rate=0.1, proj_drop_rate=0.1), dict(mlp_ratio=3.0)),
    "all at once": (CLIP | dict(init_values=1.0, reg_tokens=3, qkv_bias=False), CLIP_SIZE | dict(registers=3)),
}


@pytest.mark.parametrize("name", EQUAL)
def test_features_are_those_of_timm_s_own_model(name):
    options, size = EQUAL[name]
    model = randomised(VisionTransformer(**TIMM | options))
    network = video_vit(size=size).double()
    check_features(as_read(model, network), model, network=network)


def as_read(model, network):
    """Return the tensors of a model as ``timm:NAME`` gives them."""
    model.pretrained_cfg = {"mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)}
    in_timm = mock.patch.multiple(timm, create_model=lambda name, **_: model, is_model_pretrained=lambda name: True)
    with in_timm, mock.patch.object(reading, "on_meta", lambda name: model):
        return read_image_vit(f"timm:{NAME}", network).tensors


@pytest.mark.parametrize("options", [dict(global_pool="map"), dict(global_pool="avg", fc_norm=False)])
def test_features_of_a_model_without_a_class_token_are_a_mean(options):
    """Test SigLIP's models and those that average after the norm."""
    model = randomised(VisionTransformer(**TIMM | options, class_token=False)).double()
    network = vivit(ViTSize(32, 2, 4, gelu="none"), 5, ClipSize((32, 32), 8, 1), pool="mean").double().eval()
    load_image_vit(network, as_read(model, network))
    picture = torch.randn(2, 3, 32, 32, dtype=torch.float64)
    with torch.no_grad():
        expected = model.forward_features(picture).mean(1)
        torch.testing.assert_close(network.forward_features(picture[:, :, None]), expected, atol=1e-10, rtol=1e-10)
    with pytest.raises(ValueError, match="pool is fc_norm"):
        load_image_vit(vivit(ViTSize(32, 2, 4), 5, ClipSize((32, 32), 8, 1), pool="fc_norm"), model.state_dict())
    with pytest.raises(ValueError, match="it has no class token"):
        load_image_vit(video_vit(), model.state_dict())


@pytest.mark.parametrize("attention", ["divided", "joint", "space"])
def test_register_tokens_pass_through_a_timesformer(attention):
    """Use one frame or equal ones, to which attention over time adds nothing at first."""
    model = randomised(VisionTransformer(**TIMM, reg_tokens=3)).double()
    network = (
        timesformer(ViTSize(32, 2, 4, registers=3), 5, ClipSize((32, 32), 8, 2), attention_type=attention)
        .double()
        .eval()
    )
    load_image_vit(network, model.state_dict())
    picture = torch.randn(2, 3, 32, 32, dtype=torch.float64)
    clip = picture[:, :, None].expand(-1, -1, 1 if attention == "joint" else 2, -1, -1)
    x, grid = network.embed(clip)
    places = patch_places(x.shape[1], grid, network.embed.prefix)[0].flatten()
    with torch.no_grad():
        patches = model.patch_embed(picture) + model.pos_embed[:, 4:]
        torch.testing.assert_close(x[:, places], patches, atol=1e-12, rtol=1e-12)
        expected = model.forward_features(picture)[:, 0]
        torch.testing.assert_close(network.forward_features(clip), expected, atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (
            VisionTransformer,
            dict(num_heads=2),
            r"num_heads 2 \(here 4\): set --model.size '{embed_dim: 32, .*, num_heads: 2}'",
        ),
        (VisionTransformer, dict(norm_layer=LAYER_NORM), r"eps 1e-05 \(here None\): set .*eps: 1e-05"),
        (VisionTransformer, dict(act_layer=timm.layers.QuickGELU), "set .*gelu: quick"),
        (VisionTransformer, dict(reg_tokens=4), "set .*registers: 4"),
        (VisionTransformer, dict(pre_norm=True), "set .*norm_pre: true"),
        (VisionTransformer, dict(patch_size=16), r"patch_size 16 \(here 8\): set .* --model.patch_size 16"),
        (VisionTransformer, dict(reg_tokens=4, class_token=False, global_pool="map"), "register tokens without"),
        (VisionTransformer, dict(global_pool="avg"), "its last norm is that of a mean"),
        (VisionTransformer, dict(block_fn=ResPostBlock), "its blocks.* is ResPostBlock"),
        (VisionTransformer, dict(qk_norm=True), "its blocks.*.attn.[qk]_norm is LayerNorm"),
        (VisionTransformer, dict(act_layer=torch.nn.ReLU), "its blocks.*.mlp.act is ReLU"),
        (Eva, dict(use_abs_pos_emb=False, use_rot_pos_emb=True), "timm's Eva of this name is no plain ViT"),
    ],
)
def test_a_model_of_timm_that_computes_something_else_is_refused(kind, options, message):
    """Refuse differences that names and shapes hardly show."""
    with pytest.raises(ValueError, match=message):
        as_read(kind(**TIMM | options), video_vit())


def test_a_name_that_timm_does_not_know_is_refused():
    with pytest.raises(ValueError, match="has no model of this name"):
        read_image_vit("timm:vit_nothing", video_vit())


@pytest.mark.parametrize("more", ["decoder_blocks.*.norm1.bias", "mask_token", "fc_norm.weight", "pre_logits.fc.bias"])
def test_heads_and_mae_s_decoder_are_left_out(more):
    model = image_vit()
    check_features(model.state_dict() | {more: torch.ones(2)}, model)


@pytest.mark.parametrize(
    ("options", "change", "message"),
    [
        ({}, {"blocks.2.norm1.weight": torch.ones(32)}, r"no place for blocks\.2\."),
        ({}, {"cls_token": None}, "it has no class token"),
        ({}, {"blocks.1.attn.qkv.bias": None}, r"lacks .*qkv\.bias"),
        ({}, {"patch_embed.proj.weight": torch.ones(32, 192)}, r"not of a linear stem"),
        (dict(patch_size=16), {}, r"embed\.patches\.proj\.weight is \(.*16\) here, \(.*8\) in the file"),
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


@pytest.mark.parametrize("image_size", [(48, 48), (48, 32), (16, 64)])
def test_another_image_size_resizes_the_positions(image_size):
    """Give the file's grid, which an equal number of patches alone does not show."""
    network, weights = video_vit(image_size=image_size).double(), image_vit().double().state_dict()
    load_image_vit(network, weights, grid=Grid(1, 4, 4))
    table, (rows, columns) = weights["pos_embed"], (cubic(4, side // 8) for side in image_size)
    cells = torch.einsum("y h, x w, h w d -> y x d", rows, columns, table[0, 1:].unflatten(0, (4, 4)))
    expected = torch.cat((table[:, :1], cells.flatten(0, 1)[None]), dim=1)
    torch.testing.assert_close(network.embed.pos_embed.detach(), expected, atol=1e-12, rtol=1e-12)


def test_a_network_without_positions_drops_them():
    network = video_vit(positions=Positions("none"))
    load_image_vit(network, image_vit().state_dict())
    assert network.embed.pos_embed is None
