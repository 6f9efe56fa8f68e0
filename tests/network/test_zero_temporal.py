"""Test the start of ViViT's model 3 with all weights of its attention in time at zero, as the paper writes it."""

import pytest
import torch

from lit_video.modules import ViViT
from lit_video.network.vit import ViTSize
from lit_video.weights.image_vit import load_image_vit
from tests.weights.conftest import image_vit

TIME = ".time_attn."


def model(zero_temporal=True, order="space_time", image=True):
    torch.manual_seed(0)
    shape = dict(num_classes=3, num_frames=4, image_size=32, patch_size=8, size=ViTSize(32, 2, 4), tubelet_size=1)
    built = ViViT(**shape, variant=3, order=order, zero_temporal=zero_temporal).double()
    if image:
        load_image_vit(built.network, image_vit().double().state_dict())
    return built


def clips():
    generator = torch.Generator().manual_seed(1)
    return torch.randn(2, 3, 4, 32, 32, dtype=torch.float64, generator=generator)


@pytest.mark.parametrize("image", [True, False])
def test_all_weights_of_attention_in_time_start_at_zero(image):
    weights = {key: value for key, value in model(image=image).network.state_dict().items() if TIME in key}
    assert len(weights) == 2 * 6
    for key, value in weights.items():
        assert value.any() == ("norm.weight" in key), key


@pytest.mark.parametrize("order", ["space_time", "time_space"])
@pytest.mark.parametrize("zero_temporal", [True, False])
def test_training_starts_from_the_model_without_attention_in_time(zero_temporal, order):
    network = model(zero_temporal, order).network
    before = network(clips())
    for block in network.blocks:
        block.scheme.axes = ["space"]
    assert torch.equal(network(clips()), before)


def trained(zero_temporal, order):
    network = model(zero_temporal, order).network
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
    for _ in range(3):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(network(clips()), torch.tensor([0, 1])).backward()
        optimizer.step()
    return network


@pytest.mark.parametrize("order", ["space_time", "time_space"])
def test_no_gradient_reaches_the_matrices_from_zero(order):
    """Check the reason why the order of the steps matters little from this start: only a bias ever learns."""
    for key, value in trained(True, order).state_dict().items():
        if TIME in key and "norm" not in key:
            assert value.any() == key.endswith("proj.bias"), key
    learned = trained(False, order).state_dict()
    assert all(value.any() for key, value in learned.items() if key.endswith("time_attn.proj.weight"))


def test_after_training_from_zero_no_two_frames_interact():
    network = trained(True, "space_time").eval()
    with torch.no_grad():
        x = clips()[:1]
        first, last = x.clone(), x.clone()
        first[:, :, 0] += 1
        last[:, :, 3] += 1
        both = first + last - x
        interaction = network(both) - network(first) - network(last) + network(x)
    assert interaction.abs().max() < 1e-11
