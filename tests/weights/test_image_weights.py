"""A network started from an image ViT must compute what the image ViT computes, frame by frame."""

import pytest
import torch

from lit_video.attention import MixingPlan
from lit_video.modules import TimeSformer, ViViT, XViT
from lit_video.network.patches import ClipSize
from lit_video.network.positions import Positions
from lit_video.network.vit import ViTSize
from lit_video.network.xvit import xvit
from lit_video.weights.image_vit import load_image_vit
from tests.network.conftest import cubic
from tests.weights.conftest import image_vit


def video_vit(width=32, depth=2, image_size=(32, 32), frames=1, **changes):
    torch.manual_seed(1)
    size = ViTSize(width, depth, 4)
    options = dict(plan=MixingPlan(window=0)) | changes
    return xvit(size, 5, ClipSize(image_size, 8, frames), **options).eval()


EXTRA = {key: torch.ones(32) for key in ("blocks.2.norm1.weight", "blocks.0.ls1.gamma", "blocks.0.attn.q_norm.weight")}


@pytest.mark.parametrize(
    ("options", "change", "message"),
    [
        *(({}, {key: value}, f"no place for {key}") for key, value in EXTRA.items()),
        ({}, {"cls_token": None}, "no parameter for .*cls_token"),
        ({}, {"norm.weight": None}, r"no parameter for .*norm\.weight"),
        ({}, {"blocks.1.attn.qkv.bias": None}, r"no parameter for .*qkv\.bias"),
        ({}, {"patch_embed.proj.weight": None}, r"no parameter for .*proj\.weight"),
        (dict(depth=3), {}, r"no parameter for blocks\.2\."),
        (dict(width=16), {}, r"is \(.*\) here, \(.*\) in the image weights"),
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
    with pytest.raises(ValueError, match="24 positions are neither"):
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
