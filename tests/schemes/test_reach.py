"""Test how far schemes reach in time, against their definitions."""

from typing import NamedTuple

import pytest
import torch

from lit_video.modules import ConvNet, Perceiver, TimeSformer, ViViT, XViT
from lit_video.network.timesformer import SCHEMES
from lit_video.network.vit import ViTSize
from lit_video.schemes.reach import reach

COMPARING = sorted(SCHEMES.keys() - {"space"})
SMALL = dict(num_classes=3, image_size=16, size=ViTSize(16, 2, 2), patch_size=8)


class Saw(NamedTuple):
    """Measures of a network: how far frames interact, and whether order or nearness shows."""

    frames: int
    order: bool
    near: bool = False


def pairs_of(family, num_frames=8, **options):
    return reach(family(num_frames=num_frames, **SMALL | options).network, num_frames, 16)


def of(family, num_frames=8, **options):
    found = pairs_of(family, num_frames, **options)
    return Saw(found.frames, found.order, found.near)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (dict(window=0), Saw(0, False)),
        (dict(window=0, positions="space-time"), Saw(0, True)),  # frames are not compared, but have positions in time
        (dict(window=1), Saw(4, True)),  # two layers, each a frame to either side
        (dict(window=1, layers=[1]), Saw(2, True)),
        (dict(window=2, num_frames=12), Saw(8, True)),  # the windows' whole reach
        (dict(window=2, boundary=True, size=ViTSize(16, 1, 2)), Saw(4, True)),
        (dict(window=1, exact=True), Saw(4, False, near=True)),  # attends to sets of frames, without direction
        (dict(window=1, causal=True), Saw(2, True)),  # a token sees two frames back, and none ahead
        (dict(window=2, causal=True, boundary=True, size=ViTSize(16, 1, 2)), Saw(2, True)),
        (dict(window=1, causal=True, exact=True), Saw(2, True)),  # a frame that sees another came later
        (dict(window=0, ta_layers=1), Saw(7, False)),
        (dict(window=0, summary=True), Saw(7, False)),
        (dict(window=1, ta_layers=1), Saw(7, True)),
    ],
)
def test_xvit_reaches_as_far_as_its_windows_add_up(options, expected):
    assert of(XViT, **dict(positions="space", ta_layers=0) | options) == expected


@pytest.mark.parametrize(
    ("family", "options", "expected"),
    [
        *((TimeSformer, dict(attention_type=name), Saw(7, True)) for name in COMPARING),
        *((TimeSformer, dict(attention_type=name, positions="space"), Saw(7, False)) for name in COMPARING),
        # the controls, whose frames meet in one norm after their mean, or in a tubelet; X-ViT's is above
        (TimeSformer, dict(attention_type="space", positions="space-time"), Saw(7, True)),
        (ViViT, dict(variant=2, tubelet_size=2, pool="mean", temporal_depth=0), Saw(1, True)),
        *((ViViT, dict(variant=variant, tubelet_size=2), Saw(7, True)) for variant in (1, 2, 3, 4)),
        (ViViT, dict(variant=2, temporal="mean", tubelet_size=2), Saw(1, True)),  # the frames of a tubelet
        (ViViT, dict(sampled_frames=4, tubelet_size=1), Saw(6 - 2, True)),  # only frames 2, 3, 5 and 6 are used
    ],
)
def test_timesformer_and_vivit_reach_all_frames_that_they_see(family, options, expected):
    assert of(family, **options) == expected


def test_boundary_frames_of_a_window_of_two_compare_even_distances_alone():
    """Let depth 4 add steps of two frames up to the whole clip; ends of a clip repeat their frame in no window."""
    found = pairs_of(XViT, window=2, boundary=True, size=ViTSize(16, 4, 2), ta_layers=0, positions="space-time")
    assert {later - earlier for earlier, later in found.pairs} == {0, 2, 4, 6}
    whole = pairs_of(XViT, window=2, size=ViTSize(16, 4, 2), ta_layers=0, positions="space-time")
    assert {later - earlier for earlier, later in whole.pairs} == {*range(8)}


def test_others_compare_all_frames():
    assert of(Perceiver, num_latents=4) == Saw(7, True)
    assert reach(ConvNet(3, num_frames=8, image_size=32, architecture="i3d", width=8).network, 8, 32).frames >= 4


def test_the_network_and_its_random_numbers_are_left_as_they_were():
    network = XViT(num_frames=4, **SMALL).network
    before = {name: value.clone() for name, value in network.state_dict().items()}
    state = torch.get_rng_state()
    reach(network, 4, 16)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)


def test_reach_is_that_of_a_square():
    small = dict(num_classes=3, num_frames=4, size=ViTSize(16, 2, 2), patch_size=8, ta_layers=0, window=1)
    wide, square = (XViT(image_size=size, **small).network for size in ((8, 16), 8))
    assert reach(wide, 4, (8, 16)) == reach(square, 4, 8)
