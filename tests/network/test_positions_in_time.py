"""Test ViViT's first positions in time: equal at all times as released, or spread."""

import pytest
import torch

from lit_video.modules import ViViT
from lit_video.network.vit import ViTSize
from lit_video.weights.image_vit import load_image_vit
from tests.weights.conftest import image_vit

SHAPE = dict(num_classes=3, num_frames=4, image_size=32, patch_size=8, size=ViTSize(32, 2, 4), tubelet_size=1)


def over_time(variant, std):
    """Return ViViT's positions after a start from an image model: (time, place, channel)."""
    torch.manual_seed(0)
    model = ViViT(**SHAPE, variant=variant, position_std=std)
    load_image_vit(model.network, image_vit().state_dict())
    if variant == 2:
        return model.network.aggregate.pos_embed[0, 1:, None]
    embed = model.network.embed
    return embed.pos_embed[0, embed.slots :].unflatten(0, (4, -1))


@pytest.mark.parametrize("variant", [1, 3, 4])
def test_an_image_model_gives_all_times_the_same_positions_and_a_spread_tells_them_apart(variant):
    same, spread = over_time(variant, None), over_time(variant, 2.0)
    assert (same == same[:1]).all()

    times = spread - same
    torch.testing.assert_close(times, times[:, :1].expand_as(times))  # one position in time for all places
    assert times[:, 0].std().item() == pytest.approx(2.0, rel=0.25)


def test_the_encoder_over_time_starts_with_the_spread():
    assert over_time(2, None).std().item() == pytest.approx(0.02, rel=0.25)
    assert over_time(2, 2.0).std().item() == pytest.approx(2.0, rel=0.25)


def test_fixed_positions_have_no_spread():
    with pytest.raises(ValueError, match=r"position_std is 1, but the positions of pool fc_norm are fixed"):
        ViViT(**SHAPE, pool="fc_norm", position_std=1.0)
