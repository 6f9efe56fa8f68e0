"""How far a scheme reaches in time, against what its definition says."""

import pytest
import torch

from lit_video.inference.receptive_field import Reach, reach
from lit_video.modules import ConvNet, Perceiver, TimeSformer, ViViT, XViT
from lit_video.network.vit import ViTSize
from lit_video.utils.clip_shape import uniform_frames

SMALL = dict(num_classes=3, image_size=16, size=ViTSize(16, 2, 2), patch=8)


def of(family, frames=8, **options):
    return reach(family(frames=frames, **SMALL | options).network, frames, 16)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (dict(window=0), Reach(0, False)),
        (dict(window=0, positions="space-time"), Reach(0, True)),  # each frame counts by itself, but knows its place
        (dict(window=1), Reach(4, True)),  # two layers, each a frame to either side
        (dict(window=1, layers=[1]), Reach(2, True)),
        (dict(window=2), Reach(7, True)),
        (dict(window=1, size=ViTSize(16, 1, 2)), Reach(2, True)),
        (dict(window=2, boundary=True, size=ViTSize(16, 1, 2)), Reach(4, True)),
        (dict(window=1, exact=True), Reach(4, False, near=True)),  # attends to sets of frames, which know no direction
        (dict(window=1, causal=True), Reach(2, True)),  # a token sees two frames back, and none ahead
        (dict(window=2, causal=True), Reach(4, True)),
        (dict(window=2, causal=True, boundary=True, size=ViTSize(16, 1, 2)), Reach(2, True)),
        (dict(window=1, causal=True, exact=True), Reach(2, True)),  # a frame that sees another came later
        (dict(window=1, causal=True, ta_layers=1), Reach(7, True)),
        (dict(window=0, ta_layers=1), Reach(7, False)),
        (dict(window=0, summary=True), Reach(7, False)),
        (dict(window=1, ta_layers=1), Reach(7, True)),
    ],
)
def test_xvit_reaches_as_far_as_its_windows_add_up(options, expected):
    assert of(XViT, **dict(positions="space", ta_layers=0) | options) == expected


def test_a_longer_clip_shows_the_windows_whole_reach():
    assert of(XViT, frames=12, positions="space", ta_layers=0, window=2) == Reach(8, True)


@pytest.mark.parametrize("scheme", ["joint", "divided", "local_global", "sliding_global", "axial"])
def test_timesformer_compares_all_frames_and_knows_order_by_positions(scheme):
    assert of(TimeSformer, attention=scheme) == Reach(7, True)
    assert of(TimeSformer, attention=scheme, positions="space") == Reach(7, False)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (dict(variant=1), Reach(7, True)),
        (dict(variant=2, temporal_depth=1), Reach(7, True)),
        (dict(variant=3), Reach(7, True)),
        (dict(variant=4), Reach(7, True)),
        (dict(variant=2, temporal="mean"), Reach(1, True)),  # the frames of a tubelet
    ],
)
def test_vivit_compares_all_frames_but_for_the_mean_of_tubelets(options, expected):
    assert of(ViViT, tubelet=2, **options) == expected


@pytest.mark.parametrize("frames", [8, 16])
def test_of_uniformly_sampled_frames_the_first_and_the_last_are_compared(frames):
    sampled = uniform_frames(frames, 4)
    assert sampled[0] > 0  # the clip's first frame is not among them
    found = of(ViViT, frames=frames, tubelet=1, sampled_frames=4, variant=1)
    assert found == Reach(sampled[-1] - sampled[0], True)


def test_others_compare_all_frames():
    assert of(Perceiver, latents=4) == Reach(7, True)
    assert reach(ConvNet(3, frames=8, image_size=32, architecture="i3d", width=8).network, 8, 32).frames >= 4


def test_the_network_and_its_random_numbers_are_left_as_they_were():
    network = XViT(frames=4, **SMALL).network
    before = {name: value.clone() for name, value in network.state_dict().items()}
    state = torch.get_rng_state()
    reach(network, 4, 16)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("apart", [1, 2, 3])
def test_a_windows_ends_bring_frames_together_that_are_an_even_number_apart(apart):
    """What experiments/ablation_tw.yaml says of its row: the scores of two frames an odd number apart add up."""
    network = XViT(frames=8, window=2, boundary=True, ta_layers=0, **SMALL).network.double().eval()
    torch.manual_seed(0)
    clip, change = torch.randn(2, 1, 3, 8, 16, 16, dtype=torch.float64)
    with torch.no_grad():
        for parameter in network.parameters():
            torch.nn.init.normal_(parameter, std=0.3)

        def effect(*frames):
            changed = clip.clone()
            changed[:, :, list(frames)] += change[:, :, list(frames)]
            return network(changed) - network(clip)

        together = effect(2, 2 + apart) - effect(2) - effect(2 + apart)
    assert bool(together.abs().max() > 1e-9) == (apart % 2 == 0)


def test_reach_is_that_of_a_square():
    small = dict(num_classes=3, frames=4, size=ViTSize(16, 2, 2), patch=8, ta_layers=0, window=1)
    wide, square = (XViT(image_size=size, **small).network for size in ((8, 16), 8))
    assert reach(wide, 4, (8, 16)) == reach(square, 4, 8)
