"""Networks on clips that are no squares: every family, its costs, its positions and what starts from squares."""

import pytest
import torch
from timm.models import VisionTransformer

from lit_video.inference.reach import reach
from lit_video.modules import ConvNet, Perceiver, TimeSformer, ViViT, XViT
from lit_video.network.cost import count
from lit_video.network.positions import resize_space
from lit_video.network.vit import ViTSize
from lit_video.weights.hugging_face import export_hf_timesformer
from lit_video.weights.image_vit import load_image_vit
from lit_video.weights.loading import load_pretrained
from lit_video.weights.sources import load

SIZE = ViTSize(width=16, depth=2, heads=2)
SMALL = dict(num_classes=3, frames=4, size=SIZE, patch=8)
ATTENTIONS = ("space", "joint", "divided", "axial", "local_global")
MODELS = {
    "xvit": (XViT, dict(summary=True, summary_tokens=4, ta_layers=1)),
    "xvit exact": (XViT, dict(exact=True)),
    **{f"timesformer {a}": (TimeSformer, dict(attention=a)) for a in ATTENTIONS},
    **{f"vivit {variant}": (ViViT, dict(variant=variant)) for variant in (1, 2, 3, 4)},
    "perceiver": (Perceiver, {}),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_family_takes_clips_of_any_shape_and_tells_rows_from_columns(name):
    kind, more = MODELS[name]
    model = kind(image_size=(16, 32), **SMALL, **more).eval()
    clip = torch.randn(2, 3, 4, 16, 32)
    assert model(clip).shape == (2, 3)
    square = kind(image_size=16, **SMALL, **more)
    assert count(model.network, 4, (16, 32))[1] > count(square.network, 4, 16)[1]


@pytest.mark.parametrize("architecture", ["slow", "x3d"])
def test_convnets_too(architecture):
    model = ConvNet(3, frames=8, image_size=(32, 48), architecture=architecture, width=8).eval()
    assert model(torch.randn(1, 3, 8, 32, 48)).shape == (1, 3)


def test_weights_of_squares_start_clips_of_another_shape():
    square = TimeSformer(image_size=16, **SMALL).network
    wide = TimeSformer(image_size=(16, 24), **SMALL).network
    torch.nn.init.normal_(square.embed.pos_embed)
    load_pretrained(wide, export_hf_timesformer(square))
    cls, cells = square.embed.pos_embed[:, :1], square.embed.pos_embed[:, 1:]
    rule = load("hf-timesformer", export_hf_timesformer(square), heads=2, image_size=16).embed.resizing.space
    expected = torch.cat((cls, resize_space(cells, (2, 2), (2, 3), rule)), dim=1)
    assert wide.embed.pos_embed.shape == (1, 7, 16)
    assert torch.equal(wide.embed.pos_embed, expected)


def test_weights_of_squares_start_clips_of_as_many_patches_in_another_shape():
    """The number of positions, and so every shape, is the same; their order is not."""
    square = TimeSformer(image_size=32, **SMALL).network
    wide = TimeSformer(image_size=(16, 64), **SMALL).network
    torch.nn.init.normal_(square.embed.pos_embed)
    weights = export_hf_timesformer(square)
    load_pretrained(wide, weights)
    rule = load("hf-timesformer", weights, heads=2, image_size=32).embed.resizing.space
    cells = resize_space(square.embed.pos_embed[:, 1:], (4, 4), (2, 8), rule)
    assert torch.equal(wide.embed.pos_embed[:, 1:], cells)


def test_an_image_model_starts_clips_of_another_shape():
    image = VisionTransformer(img_size=16, patch_size=8, embed_dim=16, depth=2, num_heads=2, num_classes=5)
    wide = XViT(image_size=(16, 24), **SMALL).network
    assert "positions resized from 2 x 2 to 2 x 3" in load_image_vit(wide, image.state_dict())


def test_reach_is_that_of_a_square():
    wide, square = (XViT(image_size=size, ta_layers=0, window=1, **SMALL).network for size in ((8, 16), 8))
    assert reach(wide, 4, (8, 16)) == reach(square, 4, 8)
