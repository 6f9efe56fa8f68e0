"""A timm image ViT as a video model: its logits for one frame, their mean over frames for several."""

import pytest
import timm
import torch
import torch.nn.functional as F
from einops import rearrange

from lit_video.weights import sources
from tests.float32 import assert_close_in_float32


def image_vit(img_size=32, dtype=torch.float32, **options):
    torch.manual_seed(0)
    model = timm.create_model("vit_tiny_patch16_224", img_size=img_size, num_classes=7, depth=2, **options)
    for name, parameter in model.named_parameters():
        # timm starts biases at zero and norms at one, which hides those that are not loaded
        torch.nn.init.normal_(parameter, mean=float("norm" in name and name.endswith("weight")), std=0.1)
    return model.eval().to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("frames", [1, 3])
@pytest.mark.parametrize("img_size", [32, (32, 48)], ids=str)
def test_logits_are_the_mean_of_the_frames_logits(img_size, frames, dtype):
    model = image_vit(img_size, dtype)
    network = sources.load("timm-vit", model.state_dict(), heads=3, image_size=img_size)
    height, width = model.patch_embed.img_size
    clip = torch.randn(2, 3, frames, height, width, dtype=dtype)
    with torch.no_grad():
        expected = model(rearrange(clip, "b c t h w -> (b t) c h w")).unflatten(0, (2, frames)).mean(1)
        if dtype == torch.float32:
            assert_close_in_float32(network(clip), expected, network)
        else:
            torch.testing.assert_close(network(clip), expected, atol=1e-12, rtol=1e-12)
    assert (expected[0] - expected[1]).abs().max() > 0.05


@pytest.mark.parametrize("image_size", [(48, 64), (16, 32)])
def test_another_image_size_gets_bicubic_positions(image_size):
    """Without antialiasing, as everywhere here: timm's own antialiases when it makes the grid smaller."""
    weights = image_vit(48, torch.float64).state_dict()
    network = sources.load("timm-vit", weights, heads=3, image_size=48)
    cells = rearrange(weights["pos_embed"][:, 1:], "1 (h w) d -> 1 d h w", h=3)
    cells = F.interpolate(cells, size=tuple(side // 16 for side in image_size), mode="bicubic")
    cells = rearrange(cells, "1 d h w -> 1 (h w) d")
    model = image_vit(image_size, torch.float64)
    model.load_state_dict(weights | {"pos_embed": torch.cat((weights["pos_embed"][:, :1], cells), dim=1)})
    clip = torch.randn(2, 3, 1, *image_size, dtype=torch.float64)
    with torch.no_grad():
        torch.testing.assert_close(network(clip), model(clip[:, :, 0]), atol=1e-12, rtol=1e-12)


def test_a_head_of_another_kind_is_refused():
    model = image_vit(class_token=False, global_pool="avg")
    with pytest.raises(ValueError, match=r"fc_norm\.weight"):
        sources.load("timm-vit", model.state_dict(), heads=3, image_size=32)
