"""Test that each family can have the other's order of norm and mean, and that nothing else changes."""

import pytest
import torch

from lit_video.modules import TimeSformer, XViT
from lit_video.network.vit import ViTSize
from lit_video.schemes.reach import reach

SMALL = dict(num_classes=3, num_frames=4, image_size=16, size=ViTSize(16, 2, 2), patch_size=8)
SPACE = SMALL | dict(positions="space-time", position_std=1.0, dropout=0.0)
CLIP = torch.randn(2, 3, 4, 16, 16)
AFTER, BEFORE = "lit_video.network.readouts.NormAfterMean", "lit_video.network.readouts.NormBeforeMean"


def equal_parts(first, second):
    """Give the second network the weights of the first."""
    second.network.load_state_dict(first.network.state_dict())
    return first.eval(), second.eval()


@torch.inference_mode()
@pytest.mark.parametrize("window", [0, 1])
def test_x_vit_with_the_norm_after_the_mean(window):
    options = SPACE | dict(window=window, ta_layers=0)
    before, after = equal_parts(XViT(**options), XViT(**options, readout=AFTER))
    x, grid = before.network.forward_tokens(CLIP)
    tokens = x.unflatten(1, (grid.t, -1))[:, :, 0]
    head = before.network.aggregate.head
    torch.testing.assert_close(before(CLIP), head(before.network.norm(tokens).mean(1)))
    torch.testing.assert_close(after(CLIP), head(before.network.norm(tokens.mean(1))))
    assert not torch.allclose(before(CLIP), after(CLIP), atol=1e-4)


@torch.inference_mode()
def test_attention_in_space_with_the_norm_before_the_mean():
    options = SPACE | dict(attention_type="space")
    after, before = equal_parts(TimeSformer(**options), TimeSformer(**options, readout=BEFORE))
    x, grid = after.network.forward_tokens(CLIP)
    tokens = x.unflatten(1, (grid.t, -1))[:, :, 0]
    torch.testing.assert_close(before(CLIP), after.network.aggregate.head(after.network.norm(tokens).mean(1)))


def test_where_the_norm_is_decides_whether_frames_of_the_controls_meet():
    rows = {
        "X-ViT": (XViT(**SPACE, window=0, ta_layers=0), 0),
        "X-ViT, norm after": (XViT(**SPACE, window=0, ta_layers=0, readout=AFTER), 3),
        "S": (TimeSformer(**SPACE, attention_type="space"), 3),
        "S, norm before": (TimeSformer(**SPACE, attention_type="space", readout=BEFORE), 0),
    }
    for name, (model, frames) in rows.items():
        assert reach(model.network, 4, 16).frames == frames, name


def test_a_readout_of_another_family_is_refused():
    with pytest.raises(ValueError, match=r"NormBeforeMean gives \(2, 16\).*expected \(2, 4, 16\)"):
        XViT(**SPACE, ta_layers=0, readout=BEFORE)
